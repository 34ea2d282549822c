"""What a connector would write, and that nothing of it is written."""

import json
import sqlite3
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ottla.connect import plugins, preview
from ottla.connect.connector import ConnectError, PreviewedSink, TriedOut, Written
from ottla.connect.data import Field, Record, Schema, Struct, Type, decimal_schema
from ottla.connect.definitions import InvalidConfig
from ottla.connect.pipeline import Failure, Row, ToleranceExceeded

JSON = "org.apache.kafka.connect.json.JsonConverter"
WORKER = {
    "key.converter": JSON,
    "value.converter": JSON,
    "key.converter.schemas.enable": "false",
    "value.converter.schemas.enable": "false",
}
KAFKA = "org.apache.kafka.connect.transforms"


def rows(config: dict[str, str], rows_max: int = 10, failures: Any = None) -> list[Row]:
    report = [].append if failures is None else failures.append
    return list(preview.source_rows(config, WORKER, rows_max, report))


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[dict[str, str]]:
    file = tmp_path / "shop.db"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT)")
        database.execute("CREATE TABLE people (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)")
        database.executemany("INSERT INTO orders (item) VALUES (?)", [("tea",)] * 30)
        database.execute("INSERT INTO people (name) VALUES ('Ann')")
    before = file.read_bytes()
    yield {
        "name": "shop",
        "connector.class": "jdbc-source",
        "connection.url": f"jdbc:sqlite:{file}",
        "mode": "incrementing",
        "topic.prefix": "shop-",
    }
    assert file.read_bytes() == before


def test_the_first_rows_of_each_table_are_shown_as_they_would_be_produced(
    shop: dict[str, str],
) -> None:
    config = shop | {
        "transforms": "key,rename",
        "transforms.key.type": f"{KAFKA}.ValueToKey",
        "transforms.key.fields": "id",
        "transforms.rename.type": f"{KAFKA}.RegexRouter",
        "transforms.rename.regex": "shop-(.*)",
        "transforms.rename.replacement": "$1",
    }
    found = rows(config, 2)
    assert [(one.topic, json.loads(one.key or b"")) for one in found] == [
        ("orders", {"id": 1}),
        ("orders", {"id": 2}),
        ("people", {"id": 1}),
    ]
    assert json.loads(found[-1].value or b"") == {"id": 1, "name": "Ann"}


def test_rows_that_are_filtered_do_not_count(shop: dict[str, str]) -> None:
    config = shop | {
        "table.whitelist": "orders",
        "transforms": "none",
        "transforms.none.type": f"{KAFKA}.Filter",
    }
    assert rows(config, 2) == []


def test_a_file_that_is_short_is_shown_whole_and_stays_unread(tmp_path: Path) -> None:
    file = tmp_path / "in.txt"
    file.write_text("one\ntwo\nhalf")
    config = {
        "name": "lines",
        "connector.class": "FileStreamSource",
        "file": str(file),
        "topic": "lines",
    }
    for _ in range(2):
        assert [one.value for one in rows(config)] == [b'"one"', b'"two"']


def test_what_cannot_be_converted_is_told(shop: dict[str, str]) -> None:
    config = shop | {
        "transforms": "cast",
        "transforms.cast.type": f"{KAFKA}.Cast$Value",
        "transforms.cast.spec": "item:int32",
        "table.whitelist": "orders",
    }
    told: list[Failure] = []
    with pytest.raises(ToleranceExceeded):
        rows(config, failures=told)
    assert [one.stage.value for one in told] == ["TRANSFORMATION"]
    told.clear()
    assert rows(config | {"errors.tolerance": "all"}, failures=told) == []
    assert len(told) == 30


def test_a_database_that_is_not_there_is_told_in_its_sentence(tmp_path: Path) -> None:
    config = {
        "name": "shop",
        "connector.class": "jdbc-source",
        "connection.url": f"jdbc:sqlite:{tmp_path}/none/shop.db",
        "connection.attempts": "1",
        "mode": "bulk",
        "topic.prefix": "shop-",
    }
    with pytest.raises(ConnectError, match=r"shop\.db"):
        rows(config)


def database(kind: str, file: Path) -> TriedOut:
    config = {
        "name": "shop",
        "connector.class": f"jdbc-{kind}",
        "connection.url": f"jdbc:sqlite:{file}",
        "mode": "bulk",
        "topic.prefix": "shop-",
    }
    made = plugins.source(config) if kind == "source" else plugins.sink(config)
    assert isinstance(made, TriedOut)
    return made


def test_a_look_does_not_make_the_file_that_is_looked_for(tmp_path: Path) -> None:
    file = tmp_path / "a shop?.db"
    with pytest.raises(InvalidConfig, match="unable to open database file"):
        database("source", file).try_out()
    assert database("sink", file).try_out() == {}
    assert not list(tmp_path.iterdir())
    sqlite3.connect(file).execute("CREATE TABLE orders (id INTEGER)")
    assert database("source", file).try_out() == {"table.whitelist": ["orders"]}
    with pytest.raises(InvalidConfig, match="unable to open database file"):
        database("sink", tmp_path / "none" / "shop.db").try_out()


# --- sinks: what each makes of records, without its target

PRICED = Schema(
    type=Type.STRUCT,
    fields=(
        Field("item", Schema(type=Type.STRING)),
        Field("price", decimal_schema(2)),
    ),
)
ID = Schema(type=Type.STRUCT, fields=(Field("id", Schema(type=Type.INT32)),))


def record(offset: int, item: str | None, partition: int = 0) -> Record:
    return Record(
        topic="orders",
        partition=partition,
        key_schema=ID,
        key=Struct(ID, {"id": offset}),
        value_schema=None if item is None else PRICED,
        value=None if item is None else Struct(PRICED, {"item": item, "price": Decimal("4.20")}),
        timestamp=0,
        offset=offset,
        original=("orders", partition, offset),
    )


def written(config: dict[str, str], *records: Record) -> list[Written]:
    sink = plugins.sink({"name": "out", "topics": "orders", **config})
    assert isinstance(sink, PreviewedSink)
    return list(sink.preview(records))


def test_a_file_gets_lines(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    config = {"connector.class": "FileStreamSink", "file": str(file)}
    (line,) = written(config, record(0, "tea"))
    assert line == (str(file), None, "Struct{item=tea,price=4.20}")
    assert not list(tmp_path.iterdir())


def test_a_database_gets_rows_and_loses_them(tmp_path: Path) -> None:
    config = {
        "connector.class": "jdbc-sink",
        "connection.url": f"jdbc:sqlite:{tmp_path}/out.db",
        "insert.mode": "upsert",
        "pk.mode": "record_key",
        "delete.enabled": "true",
        "table.name.format": "of_${topic}",
    }
    assert written(config, record(7, "tea"), record(7, None)) == [
        ("of_orders", '{"id": 7}', '{"id": 7, "item": "tea", "price": "4.20"}'),
        ("of_orders", '{"id": 7}', None),
    ]
    assert not list(tmp_path.iterdir())


def test_search_gets_documents() -> None:
    config = {
        "connector.class": "elasticsearch-sink",
        "connection.url": "http://127.0.0.1:1",
        "key.ignore": "true",
    }
    (one,) = written(config, record(3, "tea"))
    assert (one.place, one.key) == ("orders", "orders+0+3")
    assert json.loads(one.value or "") == {"item": "tea", "price": 4.2}


def test_object_stores_get_files_by_partition_the_last_ones_too() -> None:
    config = {
        "connector.class": "s3-sink",
        "s3.bucket.name": "lake",
        "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
        "flush.size": "2",
    }
    found = written(
        config, record(0, "tea"), record(0, "salt", 1), record(1, "rice"), record(2, "oil")
    )
    assert [one.place for one in found] == [
        "topics/orders/partition=0/orders+0+0000000000.json",
        "topics/orders/partition=0/orders+0+0000000002.json",
        "topics/orders/partition=1/orders+1+0000000000.json",
    ]
    assert len((found[0].value or "").splitlines()) == 2
