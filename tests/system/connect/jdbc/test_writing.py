"""Sinks on servers: the same rows whatever is killed, and who was taken over writes nothing."""

import random
import threading
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from ottla.connect.connector import ConnectError, RetriableError, TopicPartition
from ottla.connect.data import (
    DATE_SCHEMA,
    TIME_SCHEMA,
    TIMESTAMP_SCHEMA,
    Record,
    Schema,
    Struct,
    Type,
    decimal_schema,
    optional,
)
from support.jdbc import (
    CONFIG,
    INT64,
    OPTIONAL_STRING,
    Reading,
    Writing,
    record,
    schema_of,
)
from support.mariadb import MariaDb
from support.postgres import Postgres, running_postgres

Database = Postgres | MariaDb
ORDER = schema_of("order", id=INT64, item=OPTIONAL_STRING, amount=INT64)
KEY = schema_of("key", id=INT64)
UPSERT = {
    "insert.mode": "upsert",
    "pk.mode": "record_key",
    "delete.enabled": "true",
    "auto.create": "true",
    "auto.evolve": "true",
}


@pytest.fixture(params=["postgres", "mariadb"])
def database(request: pytest.FixtureRequest) -> Database:
    made: Database = request.getfixturevalue(request.param)
    return made


def access(database: Database) -> dict[str, str]:
    return {
        "connection.url": database.jdbc_url,
        "connection.user": database.user,
        "connection.password": database.password,
    }


def order(number: int, amount: int) -> Record:
    key = Struct(KEY, {"id": number})
    return record(ORDER, key, KEY, id=number, item=f"it's \\{amount}%", amount=amount)


def gone(number: int) -> Record:
    return record(ORDER, Struct(KEY, {"id": number}), KEY)


def changes(seed: int, count: int) -> tuple[list[Record], dict[int, int]]:
    dice, model = random.Random(seed), dict[int, int]()
    given = []
    for amount in range(count):
        number = dice.randrange(count // 5)
        if dice.random() < 0.2:
            model.pop(number, None)
            given.append(gone(number))
        else:
            model[number] = amount
            given.append(order(number, amount))
    return given, model


def test_changes_end_as_in_a_dictionary(database: Database) -> None:
    given, model = changes(7, 5000)
    orders = Writing(access(database) | UPSERT | {"batch.size": "700"})
    for at in range(0, len(given), 1500):
        orders.put(*given[at : at + 1500])
    rows = database.rows("SELECT id, amount FROM orders")
    assert dict(rows) == model
    assert orders.position() == 5000


def test_columns_end_as_their_rows_would(postgres: Postgres) -> None:
    orders = Writing(access(postgres) | UPSERT | {"batch.size": "700"})
    dice, model = random.Random(11), dict[int, int]()
    for first in range(0, 6000, 2000):
        given = []
        for amount in range(first, first + 2000):
            number = dice.randrange(1500)
            model[number] = amount
            given.append(order(number, amount))
        assert orders.put_as_read(*given) == 0
    assert dict(postgres.rows("SELECT id, amount FROM orders")) == model
    items = dict(postgres.rows("SELECT id, item FROM orders"))
    assert items == {number: f"it's \\{amount}%" for number, amount in model.items()}
    assert orders.position() == 6000


def test_columns_of_every_type_are_the_rows_of_their_values(postgres: Postgres) -> None:
    kinds = {"int8": Type.INT8, "int32": Type.INT32, "float": Type.FLOAT32, "bytes": Type.BYTES}
    kinds |= {"double": Type.FLOAT64, "bool": Type.BOOLEAN, "text": Type.STRING}
    schema = schema_of(
        "all",
        id=INT64,
        **{f"a_{name}": Schema(type=kind, optional=True) for name, kind in kinds.items()},
        a_price=optional(decimal_schema(2)),
        a_day=optional(DATE_SCHEMA),
        a_time=optional(TIME_SCHEMA),
        a_moment=optional(TIMESTAMP_SCHEMA),
        a_wall=Schema(type=Type.INT64, optional=True, name="io.debezium.time.MicroTimestamp"),
        a_zoned=Schema(type=Type.STRING, optional=True, name="io.debezium.time.ZonedTimestamp"),
        a_document=Schema(type=Type.STRING, optional=True, name="io.debezium.data.Json"),
    )
    moment = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
    full: dict[str, Any] = {
        "a_int8": -128,
        "a_int32": 7,
        "a_float": 0.10000000149011612,
        "a_double": -0.0,
        "a_bool": True,
        "a_text": 'NULL, "quoted", {} \\ é\n',
        "a_bytes": b"\x00\xff\\",
        "a_price": Decimal("-12.50"),
        "a_day": moment.date(),
        "a_time": moment.time(),
        "a_moment": moment,
        "a_wall": 1_700_000_000_123_456,
        "a_zoned": "2026-01-02T03:04:05+01:00",
        "a_document": '{"a": ["b", null]}',
    }
    given = [
        record(schema, Struct(KEY, {"id": at}), KEY, id=at, **values)
        for at, values in enumerate([full, {}, {"a_text": "NULL"}, {"a_text": ""}, full])
    ]
    by_rows = Writing(access(postgres) | UPSERT | {"table.name.format": "by_rows"})
    by_rows.put(*given)
    keys = {"name": "columns", "table.name.format": "by_columns"}
    by_columns = Writing(access(postgres) | UPSERT | keys)
    assert by_columns.put_as_read(*given) == 0
    rows = postgres.rows("SELECT * FROM by_columns ORDER BY id")
    assert rows == postgres.rows("SELECT * FROM by_rows ORDER BY id")
    assert len(rows) == len(given)


def test_columns_go_where_rules_and_rights_send_rows(postgres: Postgres) -> None:
    """What COPY would pass over."""
    columns = "id bigint GENERATED ALWAYS AS IDENTITY, item text, amount bigint"
    postgres.run(f"CREATE TABLE counted ({columns})")
    insert = {"insert.mode": "insert", "pk.mode": "none", "delete.enabled": "false"}
    counted = Writing(access(postgres) | UPSERT | insert | {"table.name.format": "counted"})
    with pytest.raises(ConnectError, match="cannot insert a non-DEFAULT value"):
        counted.put_as_read(order(1, 10))
    postgres.run(
        "CREATE TABLE front (id bigint, item text, amount bigint)",
        "CREATE TABLE behind (LIKE front)",
        "CREATE RULE away AS ON INSERT TO front"
        " DO INSTEAD INSERT INTO behind VALUES (NEW.id, NEW.item, NEW.amount)",
    )
    ruled = {"name": "ruled", "table.name.format": "front"}
    front = Writing(access(postgres) | UPSERT | insert | ruled)
    assert front.put_as_read(order(1, 10)) == 0
    assert postgres.rows("SELECT id, amount FROM behind") == [(1, 10)]
    assert postgres.rows("SELECT id FROM front") == []


def test_columns_are_refused_where_the_table_knows_no_key(postgres: Postgres) -> None:
    """Else COPY would take a row twice that an upsert takes once."""
    postgres.run("CREATE TABLE keyless (id bigint, item text, amount bigint)")
    keyless = Writing(access(postgres) | UPSERT | {"table.name.format": "keyless"})
    for _ in range(2):
        with pytest.raises(ConnectError, match="no unique or exclusion constraint"):
            keyless.put_as_read(*(order(at, 1) for at in range(25)))
    assert postgres.rows("SELECT id FROM keyless") == []


def test_columns_that_are_new_and_then_are_not_end_as_rows_would(postgres: Postgres) -> None:
    orders = Writing(access(postgres) | UPSERT | {"batch.size": "10"})
    assert orders.put_as_read(*(order(at, 1) for at in range(25))) == 0
    assert orders.put_as_read(*(order(at, 2) for at in range(20, 45))) == 0
    assert orders.put_as_read(*(order(at, 3) for at in range(40, 50))) == 0
    amounts = dict(postgres.rows("SELECT id, amount FROM orders"))
    assert amounts == {at: 1 if at < 20 else 2 if at < 40 else 3 for at in range(50)}


def test_a_column_with_a_row_that_is_refused_is_looked_at_row_by_row(postgres: Postgres) -> None:
    orders = Writing(access(postgres) | UPSERT | {"insert.mode": "insert"})
    orders.tolerant = True
    assert orders.put_as_read(order(1, 10), order(1, 11), order(2, 20)) == 3
    assert sorted(postgres.rows("SELECT id, amount FROM orders")) == [(1, 10), (2, 20)]
    assert [offset for offset, _ in orders.dead] == [1]
    assert orders.position() == 3


def test_columns_that_were_written_already_are_left_out(postgres: Postgres) -> None:
    plain = {"insert.mode": "insert", "pk.mode": "none", "delete.enabled": "false"}
    orders = Writing(access(postgres) | UPSERT | plain)
    orders.put_as_read(order(1, 10), order(2, 20))
    orders.offset = 1  # as who did not hear of it gives them again
    assert orders.put_as_read(order(2, 20), order(3, 30)) == 0
    assert sorted(postgres.rows("SELECT id FROM orders")) == [(1,), (2,), (3,)]
    orders.offset = 0
    assert orders.put_as_read(order(1, 10)) == 0
    assert len(postgres.rows("SELECT id FROM orders")) == 3
    assert orders.position() == 3


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ({"pk.mode": "kafka", "pk.fields": "t,p,o"}, "SELECT t, p, o FROM orders ORDER BY o"),
        ({"pk.mode": "record_value", "pk.fields": "id"}, "SELECT id FROM orders ORDER BY id"),
    ],
)
def test_columns_have_the_keys_that_are_wanted(
    postgres: Postgres, keys: dict[str, str], key: str
) -> None:
    orders = Writing(access(postgres) | UPSERT | {"delete.enabled": "false"} | keys)
    assert orders.put_as_read(order(0, 10), order(1, 20)) == 0
    found = [row[-1] for row in postgres.rows(key)]
    assert found == [0, 1]


def test_columns_update_only_rows_that_are_there(postgres: Postgres) -> None:
    Writing(access(postgres) | UPSERT).put(order(1, 10))
    update = Writing(access(postgres) | UPSERT | {"name": "other", "insert.mode": "update"})
    assert update.put_as_read(order(1, 11), order(3, 30), order(1, 12)) == 0
    assert postgres.rows("SELECT id, amount FROM orders") == [(1, 12)]


def test_who_was_taken_over_writes_no_columns(postgres: Postgres) -> None:
    first = Writing(access(postgres) | UPSERT)
    first.put(order(1, 10))
    second = Writing(access(postgres) | UPSERT)
    with pytest.raises(ConnectError, match="was taken over"):
        first.put_as_read(order(2, 20))
    assert second.put_as_read(order(3, 30)) == 0
    assert sorted(postgres.rows("SELECT id FROM orders")) == [(1,), (3,)]


def test_deletes_among_the_rows_are_looked_at_row_by_row(database: Database) -> None:
    orders = Writing(access(database) | UPSERT)
    assert orders.put_as_read(order(1, 10), order(2, 20), gone(1)) == 3
    assert database.rows("SELECT id FROM orders") == [(2,)]


def test_updates_meet_only_rows_that_are_there(database: Database) -> None:
    orders = Writing(access(database) | UPSERT)
    orders.put(order(1, 10), order(2, 20))
    update = Writing(access(database) | UPSERT | {"insert.mode": "update"})
    update.put(order(1, 11), order(3, 30), order(1, 12), gone(2))
    assert database.rows("SELECT id, amount FROM orders") == [(1, 12)]


def test_inserts_and_deletes_keep_their_order(database: Database) -> None:
    orders = Writing(access(database) | UPSERT | {"insert.mode": "insert"})
    orders.put(order(1, 10), gone(1), order(1, 11), order(2, 20), gone(2), gone(3))
    assert database.rows("SELECT id, amount FROM orders") == [(1, 11)]


def test_a_row_that_is_refused_leaves_its_neighbours_alone(database: Database) -> None:
    orders = Writing(access(database) | UPSERT | {"insert.mode": "insert"})
    orders.tolerant = True
    orders.put(order(1, 10), order(1, 11), order(2, 20))
    assert sorted(database.rows("SELECT id, amount FROM orders")) == [(1, 10), (2, 20)]
    assert [offset for offset, _ in orders.dead] == [1]
    assert "uplicate" in orders.dead[0][1]


def test_a_table_is_made_and_widened_by_several_at_once(database: Database) -> None:
    first = Writing(access(database) | UPSERT)
    wider = schema_of("order", id=INT64, note=OPTIONAL_STRING)
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            given = [order(number, number) for _ in range(3)]
            given += [record(wider, Struct(KEY, {"id": -number}), KEY, id=-number, note="x")] * 3
            numbered = [
                replace(one, topic="orders", partition=number, offset=at)
                for at, one in enumerate(given)
            ]
            task = first.connector.task()
            task.put(TopicPartition("orders", number), iter(numbered), first._report)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(1, 5)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    # A widened table does not take nulls of `amount`: what it says of that is no failure of these.
    assert [str(one) for one in failures if "amount" not in str(one)] == []


def test_two_that_deliver_the_same_write_it_once(database: Database) -> None:
    config = access(database) | {"auto.create": "true"}
    orders = Writing(config)
    orders.put(order(0, 0))
    given = orders.numbered(*(order(number, number) for number in range(1, 200)))
    failures: list[BaseException] = []

    def deliver() -> None:
        try:
            orders.deliver(given)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=deliver) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failures == []
    assert database.rows("SELECT count(*), count(DISTINCT id) FROM orders") == [(200, 200)]


def test_who_was_taken_over_writes_nothing(database: Database) -> None:
    old = Writing(access(database) | UPSERT)
    old.put(order(1, 10))
    late = old.numbered(order(1, 11))
    new = Writing(access(database) | UPSERT)
    with pytest.raises(ConnectError, match="was taken over by run 2"):
        old.deliver(late)
    new.put(order(1, 12))
    assert database.rows("SELECT id, amount FROM orders") == [(1, 12)]


def test_a_server_that_is_killed_again_and_again_holds_every_row_once() -> None:
    """Inserts without a key: what is written twice is there twice."""
    with running_postgres() as server:
        database = server.database()
        config = access(database) | {
            "auto.create": "true",
            "max.retries": "100",
            "retry.backoff.ms": "20",
            "batch.size": "50",
        }
        orders = Writing(config)
        failures: list[BaseException] = []

        def write() -> None:
            try:
                for at in range(0, 20_000, 500):
                    orders.put(*(order(number, at) for number in range(at, at + 500)))
            except BaseException as error:
                failures.append(error)

        writer = threading.Thread(target=write)
        writer.start()
        while writer.is_alive():  # a server ends with the thread that started it: here, not there
            writer.join(0.4)
            server.kill()
            server.start()
        assert failures == []
        counted = database.rows("SELECT count(*), count(DISTINCT id) FROM orders")
        assert counted == [(20_000, 20_000)]
        assert orders.position() == 20_000


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_a_wrong_password_is_told_of_and_not_shown(database: Database, kind: str) -> None:
    config = access(database) | {"connection.password": "guessed wrong", "mode": "bulk"}
    with pytest.raises(ConnectError, match="refuses the connection") as refused:
        Writing(config) if kind == "sink" else Reading(config)
    assert not isinstance(refused.value, RetriableError)
    assert "guessed wrong" not in repr(refused.value)


def test_credentials_that_expire_are_told_of(postgres: Postgres) -> None:
    user = f"clerk_{postgres.name}"
    postgres.run(
        f"CREATE ROLE {user} LOGIN PASSWORD 'x'",
        "CREATE TABLE orders (id bigserial PRIMARY KEY)",
        f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {user}",
    )
    config = access(postgres) | {"connection.user": user, "connection.password": "x"}
    orders = Reading(config | {"mode": "incrementing"})
    postgres.run(
        f"ALTER ROLE {user} VALID UNTIL '2020-01-01'",
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{user}'",
    )
    with pytest.raises(RetriableError, match="does not"):
        orders.poll()
    with pytest.raises(ConnectError, match="refuses the connection") as refused:
        orders.poll()
    assert not isinstance(refused.value, RetriableError)
    orders.stop()


def test_who_may_not_read_a_table_is_told_so(postgres: Postgres) -> None:
    user = f"guest_{postgres.name}"
    postgres.run(
        f"CREATE ROLE {user} LOGIN PASSWORD 'x'", "CREATE TABLE orders (id bigserial PRIMARY KEY)"
    )
    config = CONFIG | access(postgres) | {"connection.user": user, "connection.password": "x"}
    orders = Reading(config | {"mode": "incrementing"})
    with pytest.raises(ConnectError, match="permission denied for table orders"):
        orders.poll()
    orders.stop()
