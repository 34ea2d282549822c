"""A table into Kafka and out of it again: worker, REST, Spark and a broker between."""

import json
import time
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

import ottla
from support.postgres import Postgres

WITHIN_S = 300.0


def put(connect: ottla.Connect, name: str, config: dict[str, str]) -> None:
    request = Request(
        f"{connect.url}/connectors/{name}/config",
        data=json.dumps(config).encode(),
        headers={"Content-Type": "application/json"},
        method="PUT",
    )
    try:
        urlopen(request, timeout=60).close()
    except HTTPError as error:
        raise AssertionError(error.read().decode()) from None


def states(connect: ottla.Connect, name: str) -> Any:
    with urlopen(f"{connect.url}/connectors/{name}/status", timeout=60) as answer:
        return json.load(answer)


def copied(postgres: Postgres) -> list[tuple[Any, ...]]:
    found = postgres.rows("SELECT to_regclass('copy_orders')")[0][0]
    return postgres.rows("SELECT id, item, at FROM copy_orders ORDER BY id") if found else []


def until_copied(connect: ottla.Connect, postgres: Postgres) -> None:
    wanted = postgres.rows("SELECT id, item, at FROM orders ORDER BY id")
    deadline = time.monotonic() + WITHIN_S
    while len(copied(postgres)) < len(wanted):
        if time.monotonic() > deadline:
            told = [states(connect, name) for name in ("out", "in")]
            raise AssertionError(f"{len(copied(postgres))} of {len(wanted)} rows; {told}")
        time.sleep(0.5)
    assert copied(postgres) == wanted


def connectors(connect: ottla.Connect, postgres: Postgres) -> None:
    access = {
        "connection.url": postgres.jdbc_url,
        "connection.user": postgres.user,
        "connection.password": postgres.password,
    }
    source = access | {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
        "mode": "timestamp+incrementing",
        "timestamp.column.name": "at",
        "incrementing.column.name": "id",
        "table.whitelist": "orders",
        "topic.prefix": "shop-",
        "poll.interval.ms": "200",
    }
    sink = access | {
        "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
        "topics": "shop-orders",
        "table.name.format": "copy_orders",
        "auto.create": "true",
    }
    put(connect, "out", source)
    put(connect, "in", sink)


TABLE = (
    "CREATE TABLE orders (id bigserial PRIMARY KEY, item text,"
    " at timestamp(3) NOT NULL DEFAULT clock_timestamp())"
)


@pytest.mark.java
@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_table_is_copied_exactly_once_while_the_worker_is_killed(postgres: Postgres) -> None:
    """The copy has no key: a row that came twice would be there twice."""
    fill = "INSERT INTO orders (item) SELECT 'item ' || n FROM generate_series(1, 2000) n"
    postgres.run(TABLE, fill)
    with ottla.Connect(start_within_s=180) as connect:
        connectors(connect, postgres)
        until_copied(connect, postgres)
        for _ in range(2):
            postgres.run(fill)
            connect.kill()
            postgres.run(fill)
            connect.start()
            until_copied(connect, postgres)
        assert postgres.rows("SELECT count(*), count(DISTINCT id) FROM copy_orders") == [
            (10_000, 10_000)
        ]
