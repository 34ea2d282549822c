"""Rows whose transaction commits after a later one was read: everybody's bug, but not ours."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from support.jdbc import Reading
from support.postgres import Postgres

Read = Callable[..., Reading]

TABLE = (
    "CREATE TABLE orders (id bigserial PRIMARY KEY, item text,"
    " at timestamptz NOT NULL DEFAULT now())"
)
MODES = {
    "incrementing": {"mode": "incrementing"},
    "timestamp": {"mode": "timestamp", "timestamp.column.name": "at"},
    "both": {
        "mode": "timestamp+incrementing",
        "timestamp.column.name": "at",
        "incrementing.column.name": "id",
    },
}
QUERIES = {
    f"{name} of a query": config
    | {"query": "SELECT id, item, at FROM orders", "incrementing.column.name": "id"}
    for name, config in MODES.items()
}
EVERY = MODES | QUERIES


@contextmanager
def transaction(postgres: Postgres) -> Iterator[Any]:
    connection = postgres.connect()
    try:
        with connection.cursor() as cursor:
            yield cursor
        connection.commit()
    finally:
        connection.close()


@pytest.mark.parametrize("mode", EVERY)
def test_a_row_that_is_committed_late_is_waited_for(
    postgres: Postgres, read: Read, mode: str
) -> None:
    postgres.run(TABLE)
    orders = read(postgres, **EVERY[mode])
    with transaction(postgres) as late:
        late.execute("INSERT INTO orders (item) VALUES ('late')")
        postgres.run("INSERT INTO orders (item) VALUES ('early')")
        for _ in range(3):
            assert orders.poll() == []
    orders.until(2)
    assert sorted(orders.values("item")) == ["early", "late"]


@pytest.mark.parametrize("mode", EVERY)
def test_without_waiting_it_is_lost(postgres: Postgres, read: Read, mode: str) -> None:
    postgres.run(TABLE)
    off = {"ottla.wait.for.open.transactions": "false"}
    orders = read(postgres, **EVERY[mode] | off)
    with transaction(postgres) as late:
        late.execute("INSERT INTO orders (item) VALUES ('late')")
        postgres.run("INSERT INTO orders (item) VALUES ('early')")
        orders.until(1)
    for _ in range(3):
        orders.poll()
    assert orders.values("item") == ["early"]


def test_a_number_taken_before_anything_is_written_is_waited_for(
    postgres: Postgres, read: Read
) -> None:
    postgres.run(TABLE)
    orders = read(postgres, mode="incrementing")
    with transaction(postgres) as late:
        late.execute("SELECT nextval('orders_id_seq')")
        number = late.fetchone()[0]
        postgres.run("INSERT INTO orders (item) VALUES ('early')")
        assert orders.poll() == []
        late.execute("INSERT INTO orders (id, item) VALUES (%s, 'late')", (number,))
    orders.until(2)
    assert orders.values("item") == ["late", "early"]


@pytest.mark.parametrize("mode", ["timestamp", "both"])
def test_a_transaction_that_began_early_and_writes_late_is_waited_for(
    postgres: Postgres, read: Read, mode: str
) -> None:
    postgres.run(TABLE)
    orders = read(postgres, **MODES[mode])
    with transaction(postgres) as late:
        late.execute("SELECT 1")
        postgres.run("INSERT INTO orders (item) VALUES ('early')")
        assert orders.poll() == []
        late.execute("INSERT INTO orders (item) VALUES ('late')")
    orders.until(2)
    assert orders.values("item") == ["late", "early"]


@pytest.mark.parametrize("mode", EVERY)
def test_a_prepared_transaction_is_waited_for(postgres: Postgres, read: Read, mode: str) -> None:
    postgres.run(TABLE)
    connection = postgres.connect()
    connection.tpc_begin(connection.xid(1, postgres.name, "late"))
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO orders (item) VALUES ('late')")
    connection.tpc_prepare()
    postgres.run("INSERT INTO orders (item) VALUES ('early')")
    orders = read(postgres, **EVERY[mode])
    for _ in range(3):
        assert orders.poll() == []
    connection.tpc_commit()
    connection.close()
    orders.until(2)


def test_who_only_reads_or_writes_elsewhere_later_holds_nothing_up(
    postgres: Postgres, read: Read
) -> None:
    postgres.run(TABLE, "INSERT INTO orders (item) VALUES ('early')")
    with transaction(postgres) as reader:
        reader.execute("SELECT count(*) FROM orders")
        orders = read(postgres, mode="incrementing")
        orders.until(1)


def test_a_row_of_a_partition_is_waited_for(postgres: Postgres, read: Read) -> None:
    postgres.run(
        "CREATE TABLE orders (id bigserial, item text) PARTITION BY RANGE (id)",
        "CREATE TABLE orders_1 PARTITION OF orders FOR VALUES FROM (1) TO (1000)",
    )
    orders = read(postgres, mode="incrementing", table_whitelist="orders")
    with transaction(postgres) as late:
        late.execute("INSERT INTO orders_1 (item) VALUES ('late')")
        postgres.run("INSERT INTO orders (item) VALUES ('early')")
        assert orders.poll() == []
    orders.until(2)


@pytest.mark.parametrize("mode", EVERY)
def test_no_row_of_many_writers_is_missed(postgres: Postgres, read: Read, mode: str) -> None:
    """Each writer holds its transactions open for as long as it likes, and gives some up."""
    postgres.run(TABLE)
    orders = read(postgres, **EVERY[mode])
    dice = random.Random(mode)
    pauses = [[dice.random() * 0.02 for _ in range(40)] for _ in range(6)]
    written: set[str] = set()

    def write(number: int) -> None:
        connection = postgres.connect()
        for at, pause in enumerate(pauses[number]):
            with connection.cursor() as cursor:
                cursor.execute("INSERT INTO orders (item) VALUES (%s)", (f"{number}-{at}",))
            stop.wait(pause)
            if at % 7 == 3:
                connection.rollback()
            else:
                connection.commit()
                written.add(f"{number}-{at}")
        connection.close()

    stop = threading.Event()
    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for one in threads:
        one.start()
    while any(one.is_alive() for one in threads):
        orders.poll(0.01)
    for one in threads:
        one.join()
    orders.until(len(written))
    orders.poll()
    assert sorted(orders.values("item")) == sorted(written)
