"""Reading tables of SQLite: modes, which tables, and what is refused."""

import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ottla.connect.connector import ConnectError, Place
from ottla.connect.connectors.jdbc import source
from ottla.connect.data import Type
from ottla.connect.definitions import InvalidConfig
from support.jdbc import CONFIG, Reading

Read = Callable[..., Reading]


class File:
    def __init__(self, path: Path) -> None:
        self.path = path

    def run(self, *statements: str) -> None:
        connection = sqlite3.connect(self.path)
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()


@pytest.fixture
def file(tmp_path: Path) -> File:
    return File(tmp_path / "shop.db")


@pytest.fixture
def read(file: File) -> Iterator[Read]:
    started: list[Reading] = []

    def begin(stored: Any = None, **config: str) -> Reading:
        keys = {name.replace("_", "."): value for name, value in config.items()}
        started.append(Reading({"connection.url": f"jdbc:sqlite:{file.path}"} | keys, stored))
        return started[-1]

    yield begin
    for one in started:
        one.stop()


ORDERS = "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT, at TIMESTAMP)"


def test_a_table_is_read_by_its_own_number_and_then_only_what_is_new(
    file: File, read: Read
) -> None:
    file.run(ORDERS, "INSERT INTO orders (item) VALUES ('tea'), ('salt')")
    orders = read(mode="incrementing")
    assert [one.topic for one in orders.until(2)] == ["db-orders"] * 2
    assert orders.poll(0) == []
    file.run("INSERT INTO orders (item) VALUES ('rice')")
    orders.until(3)
    assert orders.values("item") == ["tea", "salt", "rice"]
    assert orders.offsets == {"{'protocol': '1', 'table': 'orders'}": {"incrementing": 3}}


def test_a_start_goes_on_from_the_stored_offset(file: File, read: Read) -> None:
    file.run(ORDERS, "INSERT INTO orders (item) VALUES ('tea'), ('salt'), ('rice')")
    asked: list[Place] = []

    def stored(place: Place) -> Place:
        asked.append(place)
        return {"incrementing": 2}

    assert read(stored, mode="incrementing").until(1)[0].value.values["item"] == "rice"
    assert asked == [{"protocol": "1", "table": "orders"}]


def test_a_change_is_seen_by_its_time(file: File, read: Read) -> None:
    file.run(
        ORDERS,
        "INSERT INTO orders (item, at) VALUES ('tea', '2024-01-01 10:00:00')",
        "INSERT INTO orders (item, at) VALUES ('salt', '2024-01-01 10:00:00.250')",
    )
    config = {"timestamp.column.name": "at", "validate.non.null": "false"}
    orders = read(mode="timestamp", **config)
    orders.until(2)
    assert orders.offsets == {
        "{'protocol': '1', 'table': 'orders'}": {
            "timestamp_nanos": 250_000_000,
            "timestamp": 1704103200250,
        }
    }
    file.run("UPDATE orders SET item = 'sea salt', at = '2024-01-02 10:00:00' WHERE id = 2")
    orders.until(3)
    assert orders.values("item") == ["tea", "salt", "sea salt"]
    assert orders.values("at")[2] == datetime(2024, 1, 2, 10, tzinfo=UTC)


def test_equal_times_are_told_apart_by_the_number(file: File, read: Read) -> None:
    file.run(ORDERS)
    for item in ("tea", "salt", "rice"):
        file.run(f"INSERT INTO orders (item, at) VALUES ('{item}', '2024-01-01 10:00:00')")
    config = {
        "mode": "timestamp+incrementing",
        "timestamp.column.name": "at",
        "incrementing.column.name": "id",
        "validate.non.null": "false",
    }
    at = {"timestamp_nanos": 0, "incrementing": 1, "timestamp": 1704103200000}
    orders = read(lambda place: at, **config)
    orders.until(2)
    assert orders.values("item") == ["salt", "rice"]


def test_all_of_a_table_is_read_again_and_again_in_bulk(file: File, read: Read) -> None:
    file.run(ORDERS, "INSERT INTO orders (item) VALUES ('tea')")
    orders = read(mode="bulk")
    orders.until(3)
    assert orders.values("item") == ["tea"] * 3
    assert orders.offsets == {}


@pytest.mark.parametrize(
    "query", ["SELECT id, item FROM orders", "SELECT id, item FROM orders WHERE item LIKE '%a%';"]
)
def test_a_query_is_read_in_place_of_tables(file: File, read: Read, query: str) -> None:
    file.run(ORDERS, "INSERT INTO orders (item) VALUES ('tea'), ('salt')")
    config = {"query": query, "incrementing.column.name": "id", "topic.prefix": "said"}
    orders = read(mode="incrementing", **config)
    assert orders.until(2)[0].topic == "said"
    assert orders.offsets == {"{'query': 'query'}": {"incrementing": 2}}
    assert orders.records[0].value_schema is not None
    assert orders.records[0].value_schema.name is None


def test_tables_are_chosen_by_name_and_by_pattern(file: File, read: Read) -> None:
    file.run(*(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY)" for name in ("a", "b", "ab")))

    def tables(**config: str) -> str:
        return ",".join(one["tables"] for one in read(mode="incrementing", **config).tasks)

    assert tables() == '"a","ab","b"'
    assert tables(**{"table.whitelist": "b, a"}) == '"a","b"'
    assert tables(**{"table.blacklist": "b"}) == '"a","ab"'
    assert tables(**{"table.include.list": "A.*", "table.exclude.list": ".*b"}) == '"a"'


def test_tables_are_spread_over_tasks_with_neighbours_together(file: File, read: Read) -> None:
    file.run(*(f"CREATE TABLE t{number} (id INTEGER PRIMARY KEY)" for number in range(5)))
    connector = read(mode="incrementing").connector
    assert [one["tables"] for one in connector.task_configs(2)] == ['"t0","t1","t2"', '"t3","t4"']
    file.run("INSERT INTO t0 VALUES (1)", "INSERT INTO t4 VALUES (1)")
    connector._look()
    assert {one.topic: one.task for one in connector._due()} == {"db-t0": 0, "db-t4": 1}  # type: ignore[attr-defined]


def test_a_new_table_is_found(file: File, read: Read) -> None:
    file.run()  # a database without any
    orders = read(mode="incrementing", table_poll_interval_ms="50")
    assert orders.poll() == []
    file.run(ORDERS, "INSERT INTO orders (item) VALUES ('tea')")
    orders.until(1)


def test_a_file_that_is_not_there_is_not_made(file: File, read: Read) -> None:
    with pytest.raises(ConnectError, match="unable to open database file"):
        read(mode="bulk")
    assert not file.path.exists()


def test_a_table_that_is_gone_is_told_of_if_it_was_asked_for(file: File, read: Read) -> None:
    file.run(ORDERS, "CREATE TABLE other (id INTEGER PRIMARY KEY)")
    everything = read(mode="incrementing")
    named = read(mode="incrementing", table_whitelist="orders")
    file.run("DROP TABLE orders")
    assert everything.poll() == []
    with pytest.raises(ConnectError, match=r"Table orders, which table\.whitelist names, is gone"):
        named.poll()


def test_a_large_table_is_read_in_slices(
    file: File, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ottla.connect.connectors.jdbc.planning.SLICE_ROWS", 10)
    file.run(
        ORDERS,
        "INSERT INTO orders (item) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
        " WHERE i < 25) SELECT i FROM n",
    )
    orders = read(mode="incrementing", poll_interval_ms="60000")
    assert [len(orders.poll()) for _ in range(3)] == [10, 10, 5]
    assert orders.values("id") == list(range(1, 26))


def test_types_of_sqlite_are_those_of_connect(file: File, read: Read) -> None:
    file.run(
        "CREATE TABLE kinds (id INTEGER PRIMARY KEY, b BOOLEAN NOT NULL, i INT, s SMALLINT,"
        " t TINYINT, r REAL, n NUMERIC(10, 2), v VARCHAR(20), x BLOB, d DATE, c TIME,"
        " ts DATETIME, u)",
        "INSERT INTO kinds VALUES (1, 1, 9000000000, -3, 7, 0.5, '12.50', 'é', x'00ff',"
        " '2024-02-29', '23:59:58.5', 1704103200250, 'plain')",
        "INSERT INTO kinds (id, b) VALUES (2, 0)",
    )
    records = read(mode="incrementing").until(2)
    assert records[0].value.values == {
        "id": 1,
        "b": True,
        "i": 9000000000,
        "s": -3,
        "t": 7,
        "r": 0.5,
        "n": Decimal("12.50"),
        "v": "é",
        "x": b"\x00\xff",
        "d": date(2024, 2, 29),
        "c": time(23, 59, 58, 500_000),
        "ts": datetime(2024, 1, 1, 10, 0, 0, 250_000, tzinfo=UTC),
        "u": "plain",
    }
    assert set(records[1].value.values.values()) == {2, False, None}
    schema = records[0].value_schema
    assert schema is not None
    assert schema.name == "kinds"
    assert {one.name: one.schema.type for one in schema.fields} == {
        "id": Type.INT64, "b": Type.BOOLEAN, "i": Type.INT64, "s": Type.INT16, "t": Type.INT8,
        "r": Type.FLOAT64, "n": Type.BYTES, "v": Type.STRING, "x": Type.BYTES, "d": Type.INT32,
        "c": Type.INT32, "ts": Type.INT64, "u": Type.STRING,
    }  # fmt: skip
    assert [one.name for one in schema.fields if not one.schema.optional] == ["id", "b"]


@pytest.mark.parametrize(
    ("mapping", "kinds"),
    [
        ("none", ["bytes", "bytes", "bytes", "bytes"]),
        ("precision_only", ["int16", "bytes", "bytes", "bytes"]),
        ("best_fit", ["int16", "double", "bytes", "bytes"]),
        ("best_fit_eager_double", ["int16", "double", "bytes", "double"]),
    ],
)
def test_exact_numbers_become_what_is_said(
    file: File, read: Read, mapping: str, kinds: list[str]
) -> None:
    file.run(
        "CREATE TABLE n (a NUMERIC(4), b NUMERIC(10, 2), c NUMERIC(30), d NUMERIC(30, 2))",
        "INSERT INTO n VALUES (1, 2.5, 3, 4.5)",
    )
    schema = read(mode="bulk", numeric_mapping=mapping).until(1)[0].value_schema
    assert schema is not None
    assert [one.schema.type.value for one in schema.fields] == kinds


def test_a_zone_of_the_database_is_that_of_times_without_one(file: File, read: Read) -> None:
    file.run(ORDERS, "INSERT INTO orders VALUES (1, 'tea', '2024-07-01 12:00:00')")
    config = {"timestamp.column.name": "at", "validate.non.null": "false"}
    orders = read(mode="timestamp", db_timezone="Europe/Berlin", **config)
    orders.until(1)
    assert orders.values("at") == [datetime(2024, 7, 1, 10, tzinfo=UTC)]
    assert orders.poll(0.1) == []


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"connection.url": "jdbc:oracle:thin:@host:1521:x"}, "no driver for jdbc:oracle: here"),
        (
            {"connection.url": "postgresql://host/x"},
            "it is no JDBC URL; served are jdbc:postgresql",
        ),
        ({"connection.url": "jdbc:sqlite::memory:"}, "the URL must name a file"),
        ({"connection.url": "jdbc:postgresql://h/d?loggerLevel=OFF"}, "'loggerLevel' of the URL"),
        ({"mode": "sometimes"}, "must be one of bulk, timestamp, incrementing"),
        ({"mode": "timestamp"}, "mode timestamp needs timestamp.column.name"),
        ({"query": "SELECT 1", "table.whitelist": "a"}, "query and table.whitelist exclude"),
        ({"table.blacklist": "b", "table.whitelist": "a"}, "table.whitelist and table.blacklist"),
        ({"table.include.list": "("}, "Invalid value for configuration table.include.list"),
        ({"db.timezone": "Middle-earth"}, "there is no such time zone"),
        ({"dialect.name": "MySqlDatabaseDialect"}, "it is not one of MySqlDatabaseDialect's"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(config: dict[str, str], sentence: str) -> None:
    good = CONFIG | {"connection.url": "jdbc:sqlite:x.db", "mode": "bulk"}
    with pytest.raises(InvalidConfig, match=sentence):
        source.make(good | config, "jdbc-source")


def test_a_password_in_the_url_is_in_no_sentence() -> None:
    url = "jdbc:postgresql://h/d?user=me&password=hidden&odd=1"
    with pytest.raises(InvalidConfig) as refused:
        source.make(CONFIG | {"connection.url": url, "mode": "bulk"}, "jdbc-source")
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"mode": "incrementing", "incrementing.column.name": "no"}, "t has no column no"),
        ({"mode": "incrementing"}, "t has 0 columns that the database numbers by itself"),
        (
            {"mode": "incrementing", "incrementing.column.name": "n"},
            "Column n of t may be null, and such rows would never be read",
        ),
        ({"mode": "timestamp", "timestamp.column.name": "v"}, "Column v is text, which is no"),
    ],
)
def test_a_table_that_cannot_be_counted_is_told_of(
    file: File, read: Read, config: dict[str, str], sentence: str
) -> None:
    file.run("CREATE TABLE t (n BIGINT, v TEXT)")
    with pytest.raises(ConnectError, match=sentence):
        read(**config).poll()


def test_a_good_configuration_is_valid() -> None:
    config = CONFIG | {"connection.url": "jdbc:sqlite:x.db", "mode": "bulk"}
    assert [one for one in source.DEFINITIONS.validate(config).values() if one.errors] == []
