"""Writing tables of SQLite: modes, keys, tables that are made, and offsets beside the rows."""

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ottla.connect.connector import ConnectError, TopicPartition
from ottla.connect.connectors.jdbc import sink
from ottla.connect.data import Record, Schema, Struct, Type
from ottla.connect.definitions import InvalidConfig
from support.jdbc import (
    INT32,
    INT64,
    OPTIONAL_STRING,
    SINK,
    STRING,
    Refused,
    Writing,
    record,
    schema_of,
)

Write = Callable[..., Writing]
ORDER = schema_of("order", id=INT64, item=OPTIONAL_STRING)
KEY = schema_of("key", id=INT64)
UPSERT = {"insert.mode": "upsert", "pk.mode": "record_key", "delete.enabled": "true"}


class File:
    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self, query: str) -> list[Any]:
        connection = sqlite3.connect(self.path)
        found = connection.execute(query).fetchall()
        connection.commit()
        connection.close()
        return found


@pytest.fixture
def file(tmp_path: Path) -> File:
    return File(tmp_path / "shop.db")


@pytest.fixture
def write(file: File) -> Write:
    def begin(alias: str = "jdbc-sink", **config: str) -> Writing:
        url = {"connection.url": f"jdbc:sqlite:{file.path}", "auto.create": "true"}
        return Writing(url | config, alias)

    return begin


def order(number: int, item: str | None) -> Record:
    return record(ORDER, Struct(KEY, {"id": number}), KEY, id=number, item=item)


def gone(number: int) -> Record:
    return record(ORDER, Struct(KEY, {"id": number}), KEY)


def test_records_become_rows_and_their_offset_is_beside_them(file: File, write: Write) -> None:
    orders = write()
    orders.put(order(1, "tea"), order(2, None))
    assert file.rows("SELECT * FROM orders") == [(1, "tea"), (2, None)]
    assert orders.position() == 2
    assert file.rows("SELECT * FROM ottla_connect_offsets WHERE topic <> ''") == [
        ("to-db", "orders", 0, 2)
    ]


def test_records_given_again_are_not_written_again(file: File, write: Write) -> None:
    orders = write()
    given = orders.numbered(order(1, "tea"), order(2, "salt"), order(3, "rice"))
    orders.deliver(given[:2])
    orders.deliver(given)
    orders.deliver(given[:1])
    assert file.rows("SELECT item FROM orders") == [("tea",), ("salt",), ("rice",)]
    assert orders.position() == 3


def test_who_was_taken_over_writes_nothing(file: File, write: Write) -> None:
    old = write()
    old.put(order(1, "tea"))
    zombie = old.numbered(order(2, "late"))
    new = write()
    assert new.offset == 1
    with pytest.raises(ConnectError, match="taken over by run 2: what run 1 still holds"):
        old.deliver(zombie)
    new.put(order(2, "salt"))
    assert file.rows("SELECT item FROM orders") == [("tea",), ("salt",)]


def test_offsets_moved_by_hand_are_where_it_goes_on(file: File, write: Write) -> None:
    orders = write(**UPSERT)
    orders.put(order(1, "tea"), order(2, "salt"))
    partition = TopicPartition("orders", 0)
    sink.make(SINK | {"connection.url": f"jdbc:sqlite:{file.path}"}, "jdbc-sink").move(
        {partition: 1, TopicPartition("other", 3): 7}
    )
    with pytest.raises(ConnectError, match="taken over"):
        orders.put(order(3, "late"))
    again = write(**UPSERT)
    assert again.offset == 1
    assert again.connector.positions([TopicPartition("other", 3)]) == {("other", 3): 7}
    again.connector.move({partition: 0})  # as a run does whose offset Kafka no longer has
    again.offset = 0
    again.put(order(3, "rice"))
    again.connector.move({partition: None})
    assert write(**UPSERT).offset == 0


def test_a_key_is_written_over_and_deleted(file: File, write: Write) -> None:
    orders = write(**UPSERT)
    orders.put(order(1, "tea"), order(2, "salt"), order(1, "green tea"), gone(2), order(3, "rice"))
    assert file.rows("SELECT * FROM orders ORDER BY id") == [(1, "green tea"), (3, "rice")]
    orders.put(gone(1), order(1, "black tea"), order(3, "red rice"), gone(3))
    assert file.rows("SELECT * FROM orders ORDER BY id") == [(1, "black tea")]


CHANGES = st.lists(st.tuples(st.integers(1, 4), st.sampled_from(["a", "b", None])), max_size=25)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=CHANGES, size=st.integers(1, 6), cut=st.integers(1, 9))
@pytest.mark.parametrize("mode", ["upsert", "insert"])
def test_any_row_of_changes_ends_as_in_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory,
    mode: str,
    changes: list[tuple[int, str | None]],
    size: int,
    cut: int,
) -> None:
    file = File(tmp_path_factory.mktemp("model") / "shop.db")
    config = UPSERT | {"insert.mode": mode, "batch.size": str(size), "auto.create": "true"}
    orders = Writing({"connection.url": f"jdbc:sqlite:{file.path}"} | config)
    model: dict[int, str] = {}
    given: list[Record] = []
    for number, item in changes:
        if item is None:
            model.pop(number, None)
            given.append(gone(number))
            continue
        if mode == "insert" and number in model:
            given.append(gone(number))
        model[number] = item
        given.append(order(number, item))
    given.append(order(9, "last"))
    for at in range(0, len(given), cut):
        orders.put(*given[at : at + cut])
    assert dict(file.rows("SELECT id, item FROM orders")) == model | {9: "last"}


def test_only_rows_that_are_there_are_updated(file: File, write: Write) -> None:
    file.rows("CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT)")
    file.rows("INSERT INTO orders VALUES (1, 'tea')")
    write(**{"insert.mode": "update", "pk.mode": "record_value", "pk.fields": "id"}).put(
        order(1, "green tea"), order(2, "salt")
    )
    assert file.rows("SELECT * FROM orders") == [(1, "green tea")]


def test_the_key_may_be_where_the_record_was(file: File, write: Write) -> None:
    write(**{"pk.mode": "kafka", "fields.whitelist": "item"}).put(order(1, "tea"))
    assert file.rows("SELECT * FROM orders") == [("orders", 0, 0, "tea")]
    assert [one[0] for one in file.rows("SELECT name FROM pragma_table_info('orders')")] == [
        "__connect_topic",
        "__connect_partition",
        "__connect_offset",
        "item",
    ]


def test_a_key_without_fields_has_the_column_that_is_named(file: File, write: Write) -> None:
    value = schema_of(item=STRING)
    write(**UPSERT, **{"pk.fields": "number"}).put(record(value, 7, INT64, item="tea"))
    assert file.rows("SELECT number, item FROM orders") == [(7, "tea")]


def test_a_table_is_widened_by_fields_that_are_new(file: File, write: Write) -> None:
    orders = write(**{"auto.evolve": "true"})
    wider = schema_of(
        id=INT64,
        item=OPTIONAL_STRING,
        note=OPTIONAL_STRING,
        size=Schema(type=Type.INT32, default=3),
    )
    orders.put(order(1, "tea"), record(wider, id=2, item="salt", note="sea", size=None))
    assert file.rows("SELECT * FROM orders") == [(1, "tea", None, 3), (2, "salt", "sea", 3)]


def test_fields_and_tables_are_named_as_it_is_said(file: File, write: Write) -> None:
    config = {
        "table.name.format": "kafka_${topic}",
        "table.name.normalize": "true",
        "topics.to.tables.mapping": "plain:other",
        "field.exclude.list": "odd-topic:item",
    }
    sink = write(**config)
    sink.put(replace(order(1, "tea"), topic="odd-topic"), replace(order(2, "salt"), topic="plain"))
    assert file.rows("SELECT * FROM kafka_odd_topic") == [(1,)]
    assert file.rows("SELECT * FROM other") == [(2, "salt")]


ENVELOPE = schema_of(
    "shop.public.orders.Envelope",
    before=replace(ORDER, optional=True),
    after=replace(ORDER, optional=True),
    source=schema_of(table=STRING),
    op=STRING,
)


def change(op: str, number: int, item: str | None = None) -> Record:
    row = Struct(ORDER, {"id": number, "item": item})
    source = Struct(schema_of(table=STRING), {"table": "orders"})
    values = {"before": None, "after": None, "source": source, "op": op}
    values |= {"before": row} if op == "d" else {"after": row}
    return record(ENVELOPE, Struct(KEY, {"id": number}), KEY, **values)


def test_debezium_s_envelope_is_opened(file: File, write: Write) -> None:
    config = {
        "insert.mode": "upsert",
        "primary.key.mode": "record_key",
        "delete.enabled": "true",
        "schema.evolution": "basic",
        "collection.name.format": "copy_${topic}",
        "auto.create": "false",
    }
    orders = write("io.debezium.connector.jdbc.JdbcSinkConnector", **config)
    orders.partition = TopicPartition("shop.public.orders", 0)
    orders.put(change("r", 1, "tea"), change("c", 2, "salt"), change("u", 1, "green tea"))
    orders.put(change("c", 3, "rice"), change("d", 2), gone(2), change("m", 0))
    assert file.rows("SELECT * FROM copy_shop_public_orders ORDER BY id") == [
        (1, "green tea"),
        (3, "rice"),
    ]


def test_a_table_is_named_by_the_source_of_a_change_and_truncated(file: File, write: Write) -> None:
    config = {"collection.name.format": "${source.table}", "schema.evolution": "basic"}
    name = "io.debezium.connector.jdbc.JdbcSinkConnector"
    orders = write(name, **config, **{"truncate.enabled": "true"})
    orders.put(change("c", 1, "tea"), change("t", 0), change("c", 2, "salt"))
    assert file.rows("SELECT * FROM orders") == [(2, "salt")]


def test_a_row_that_is_refused_goes_to_the_dead_letters_and_its_neighbours_do_not(
    file: File, write: Write
) -> None:
    file.rows("CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL)")
    orders = write()
    orders.tolerant = True
    orders.put(order(1, "tea"), order(2, None), order(1, "again"), order(3, "rice"))
    assert file.rows("SELECT * FROM orders") == [(1, "tea"), (3, "rice")]
    assert [offset for offset, _ in orders.dead] == [1, 2]
    assert "NOT NULL constraint failed" in orders.dead[0][1]
    assert orders.position() == 4


def test_where_errors_are_not_tolerated_nothing_of_the_batch_is_written(
    file: File, write: Write
) -> None:
    file.rows("CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL)")
    orders = write()
    with pytest.raises(Refused, match="NOT NULL constraint failed"):
        orders.put(order(1, "tea"), order(2, None))
    assert file.rows("SELECT * FROM orders") == []
    assert orders.position() == 0


@pytest.mark.parametrize(
    ("config", "given", "sentence"),
    [
        ({}, gone(1), "offset 0 of orders-0 has a null value, and delete.enabled is off"),
        ({}, Record(topic="", value={"id": 1}), "no value with a schema of named fields"),
        (UPSERT, record(ORDER, id=1, item="tea"), "has no key with a schema"),
        (UPSERT, record(ORDER, 1, INT64, id=1), "pk.fields must name its one column"),
        (UPSERT, record(ORDER, Struct(KEY, {"id": None}), KEY, id=1), "has a null in its key"),
        (
            UPSERT | {"pk.fields": "no"},
            order(1, "tea"),
            "pk.fields names no, which its key has not",
        ),
        (
            {"pk.mode": "record_value", "pk.fields": "item"},
            order(1, None),
            "has a null in its key",
        ),
        ({}, record(schema_of(id=STRING, at=schema_of(x=INT32)), id="x", at=None), "type STRUCT"),
        ({"auto.create": "false"}, order(1, "tea"), "Table orders does not exist, and auto.create"),
    ],
)
def test_what_is_no_row_is_told_of(
    write: Write, config: dict[str, str], given: Record, sentence: str
) -> None:
    with pytest.raises((Refused, ConnectError), match=sentence):
        write(**config).put(given)


@pytest.mark.parametrize(
    ("evolve", "sentence"),
    [
        ("false", "Table orders has no column item, and auto.evolve is off"),
        ("true", "neither optional nor has a default cannot be added"),
    ],
)
def test_a_column_that_is_missing_is_told_of(
    file: File, write: Write, evolve: str, sentence: str
) -> None:
    file.rows("CREATE TABLE orders (id INTEGER)")
    with pytest.raises(ConnectError, match=sentence):
        write(**{"auto.evolve": evolve}).put(
            record(schema_of(id=INT64, item=STRING), id=1, item="")
        )


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"delete.enabled": "true"}, "delete.enabled needs pk.mode=record_key"),
        ({"insert.mode": "upsert"}, "insert.mode=upsert needs a key: set pk.mode"),
        ({"pk.mode": "kafka", "pk.fields": "a,b"}, "pk.mode=kafka has three fields"),
        ({"insert.mode": "merge"}, "must be one of insert, multi, upsert, update"),
        ({"topics.to.tables.mapping": "orders"}, "has items topic:table"),
    ],
)
def test_keys_that_contradict_each_other_are_refused(config: dict[str, str], sentence: str) -> None:
    with pytest.raises(InvalidConfig, match=sentence):
        sink.make(SINK | {"connection.url": "jdbc:sqlite:x.db"} | config, "jdbc-sink")


def test_a_good_configuration_is_valid() -> None:
    config = SINK | {"connection.url": "jdbc:sqlite:x.db", "auto.create": "true"}
    assert [one for one in sink.DEFINITIONS.validate(config).values() if one.errors] == []
