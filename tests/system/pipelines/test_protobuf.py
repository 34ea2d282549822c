"""Protobuf records of a schema registry through applications: read, evolved, refused, written.

The judge is Google's own library: its classes are made by protoc from the same text, and
confluent-kafka's serializer and deserializer write and read the frames.
"""

import importlib.util
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest
from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    header_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pool, message_factory
from grpc_tools import protoc
from hypothesis import Phase, given, settings

from ottla.pipelines import App, DefinitionError, avro, protobuf
from ottla.pipelines.formats.format import Format
from ottla.pipelines.runtime import sessions
from ottla.testing import Registry, drive
from system.pipelines.drawn_messages import (
    MANY,
    MANY_2,
    columns_as_python,
    messages,
)

NO_HEADERS = "cast(NULL AS array<struct<key: string, value: binary>>) AS headers"
ORDER = """
syntax = "proto3";
package shop;
message Other { string s = 1; }
message Order {
  int64 id = 1;
  string customer = 2;
  message Line { string article = 1; uint32 count = 2; }
}
"""
PRICED = ORDER.replace("string customer = 2;", "string customer = 2; optional double price = 3;")
NOTED = PRICED.replace("double price = 3;", "double price = 3; repeated string notes = 9;")


@pytest.fixture(scope="module")
def registry(driven: str) -> Iterator[Registry]:
    settings = {
        "kafkastore.topic": "_schemas-protobuf",
        "schema.registry.group.id": f"sr-{uuid.uuid4().hex[:6]}",
    }
    with Registry(driven, settings=settings) as started:
        yield started


@pytest.fixture(scope="module")
def client(registry: Registry) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": registry.url})


def of(topic: str, field: MessageField = MessageField.VALUE) -> SerializationContext:
    return SerializationContext(topic, field)


def compiled(folder: Path, text: str) -> Any:
    """The module that protoc makes of a file; each has a name of its own."""
    name = f"made_{uuid.uuid4().hex[:8]}"
    # Two files of one process must not both define shop.Order.
    (folder / f"{name}.proto").write_text(text.replace("package shop", f"package {name}"))
    arguments = ["protoc", f"-I{folder}", f"--python_out={folder}", f"{name}.proto"]
    assert protoc.main([*arguments, f"-I{Path(protoc.__file__).parent / '_proto'}"]) == 0
    spec = importlib.util.spec_from_file_location(f"{name}_pb2", folder / f"{name}_pb2.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[f"{name}_pb2"] = module
    spec.loader.exec_module(module)
    return module


def raw(value: str | bytes) -> bytes:
    """A driver shows bytes that are UTF-8 as text."""
    return value.encode() if isinstance(value, str) else value


def classes(text: str) -> Any:
    """The messages of a text by name, in a pool of their own."""
    import tempfile

    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.proto").write_text(text)
        include = Path(protoc.__file__).parent / "_proto"
        common = Path(importlib.util.find_spec("google.type.date_pb2").origin or "").parents[2]  # type: ignore[union-attr]
        arguments = ["protoc", f"-I{folder}", f"-I{include}", f"-I{common}", "--include_imports"]
        assert protoc.main([*arguments, f"--descriptor_set_out={folder}/out", "a.proto"]) == 0
        files = FileDescriptorSet.FromString((Path(folder) / "out").read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return {
        name: message_factory.GetMessageClass(one)
        for name, one in pool.FindFileByName("a.proto").message_types_by_name.items()
    }


def framed(id: int, message: Any, indexes: bytes = b"\0") -> bytes:
    return b"\0" + id.to_bytes(4, "big") + indexes + bytes(message.SerializeToString())


def test_records_of_several_schemas_are_rows_of_the_latest_one_and_others_dead_letters(
    registry: Registry, client: SchemaRegistryClient
) -> None:
    """One schema is registered only after the application was defined."""
    second = b"\x02\x02"  # one index, 1
    ids = [
        client.register_schema("orders-value", Schema(text, "PROTOBUF")) for text in (ORDER, PRICED)
    ]
    old = framed(ids[0], classes(ORDER)["Order"](id=1, customer="Kim"), second)
    new = framed(ids[1], classes(PRICED)["Order"](id=2, customer="Ada", price=3), second)
    app = App("protobuf-orders", registry=registry.url)
    orders = app.stream("orders", value=protobuf(message="Order", id_column="schema_id"))
    assert orders.columns == ("id", "customer", "price", "schema_id")
    orders.with_columns(double="price * 2").to("priced", value=protobuf(name="com.shop.Priced"))
    with drive(app) as d:
        newest = client.register_schema("orders-value", Schema(NOTED, "PROTOBUF"))
        noted = classes(NOTED)["Order"](id=3, customer="Eve", price=4, notes=["later"])
        for record in (old, new, framed(newest, noted, second)):
            d.send("orders", record)
        other = client.register_schema("other-value", Schema('"string"', "AVRO"))
        for bad in (
            b"plain",
            b"\0" + (12345).to_bytes(4, "big") + b"\0",
            b"\0" + other.to_bytes(4, "big") + b"\0",
            old[:-1],
            old[:5] + b"\0" + old[7:],
            old[:5] + b"\x02\x0a" + old[7:],
            old[:7] + b"\x08",
            old[:7] + b"\x12\x01\xff",
        ):
            d.send("orders", bad)
        results = [raw(value) for _, value in d.read("priced")]
        text = client.get_latest_version("priced-value").schema.schema_str or ""
        made = classes(text)["Priced"]
        assert "package com.shop" in text
        rows = [made.FromString(value[6:]) for value in results]
        assert [(row.id, row.customer, row.schema_id) for row in rows] == [
            (1, "Kim", ids[0]),
            (2, "Ada", ids[1]),
            (3, "Eve", newest),
        ]
        assert [row.double if row.HasField("double") else None for row in rows] == [None, 6, 8]
        reasons = [letter.headers["ottla.reason"].decode() for letter in d.dead_letters()]
        unfit = f"the bytes do not fit the schema with the id {ids[0]}"
        assert reasons == [
            "the value has no frame of a schema registry",
            "the registry has no Protobuf schema with the id 12345",
            f"the registry has no Protobuf schema with the id {other}",
            f"{unfit}: it ends too early",
            "the record is a shop.Other, not a shop.Order",
            f"the schema with the id {ids[0]} has no message at the record's indexes",
            f"{unfit}: it ends too early",
            f"{unfit}: the field customer is no UTF-8",
        ]


def test_confluents_serializer_writes_what_is_read_and_its_deserializer_reads_what_is_written(
    registry: Registry, client: SchemaRegistryClient, tmp_path: Path
) -> None:
    """Keys too, and a message within another."""
    module = compiled(tmp_path, ORDER)
    line = module.Order.Line
    write = ProtobufSerializer(line, client, {"use.deprecated.format": False})
    app = App("protobuf-lines", registry=registry.url)
    write(line(), of("lines"))
    write(line(), of("lines", MessageField.KEY))
    lines = app.stream(
        "lines", value=protobuf(message="Order.Line"), key=protobuf(message="Order.Line")
    )
    lines.with_columns(of="_key").to("copied", value=protobuf(name="Copied"))
    with drive(app) as d:
        value = write(line(article="tea", count=2**32 - 1), of("lines"))
        key = write(line(article="ö"), of("lines", MessageField.KEY))
        d.send("lines", value, key=key)
        d.send("lines", value, key=b"k")
        ((_, made),) = d.read("copied")
        text = client.get_latest_version("copied-value").schema.schema_str or ""
        read = ProtobufDeserializer(
            compiled(tmp_path, text).Copied, {"use.deprecated.format": False}
        )
        copied: Any = read(raw(made), of("copied"))
        assert (copied.article, copied.count) == ("tea", 2**32 - 1)
        assert copied.of == '{"article":"ö","count":0}'
        (letter,) = d.dead_letters()
        assert letter.headers["ottla.reason"] == b"the key has no frame of a schema registry"


def test_a_header_may_bear_the_id_and_the_place_of_the_message(
    registry: Registry, client: SchemaRegistryClient, tmp_path: Path
) -> None:
    """What came in a header does not go on with what is written."""
    line = compiled(tmp_path, ORDER).Order.Line
    configured = {
        "use.deprecated.format": False,
        "schema.id.serializer": header_schema_id_serializer,
    }
    write, context = ProtobufSerializer(line, client, configured), of("headed")
    context.headers = []
    value = write(line(article="tea", count=3), context)
    (sent,) = cast(list[tuple[str, bytes]], context.headers)
    app = App("protobuf-headed", registry=registry.url)
    lines = app.stream("headed", value=protobuf(message="Order.Line", id_column="schema_id"))
    lines.to("in-front", value=protobuf(name="Line"))
    lines.to("aside", value=protobuf(name="Line", id_in="header"))
    lines.to("avro-aside", value=avro(name="Line", id_in="header"))
    said = str(app.explain())
    assert "schema    headed-value version 1 (id " in said
    assert "BACKWARD: a new version reads what the last one wrote" in said
    assert "with a schema of in-front-value, registered at the start" in said
    with drive(app) as d:
        d.send("headed", value, headers=dict([sent]))
        (front,) = d.records("in-front")
        assert "__value_schema_id" not in front.headers
        text = client.get_latest_version("in-front-value").schema.schema_str or ""
        made = classes(text)["Line"].FromString(raw(front.value)[6:])
        assert (made.article, made.count) == ("tea", 3)
        for topic, reads in (
            ("aside", ProtobufDeserializer(compiled(tmp_path, text).Line, {}, client)),
            ("avro-aside", AvroDeserializer(client)),
        ):
            (beside,) = d.records(topic)
            there = of(topic)
            there.headers = [("__value_schema_id", beside.headers["__value_schema_id"])]
            found: Any = reads(raw(beside.value), there)
            article = found["article"] if isinstance(found, dict) else found.article
            assert article == "tea"


def many(registry: Registry, client: SchemaRegistryClient, text: str, subject: str) -> Format:
    client.register_schema(subject, Schema(text, "PROTOBUF"))
    spark = sessions.session()
    format = protobuf(subject, message="Many").of_topic("many", registry.url, reads=True)
    format.prepare(spark)
    return format


@pytest.mark.parametrize("text", [MANY, MANY_2], ids=["proto3", "proto2"])
def test_drawn_messages_are_read_as_googles_library_reads_them_and_written_so_that_it_does(
    registry: Registry, client: SchemaRegistryClient, text: str
) -> None:
    subject = f"many-{uuid.uuid4().hex[:6]}"
    format = many(registry, client, text, subject)
    id = client.get_latest_version(subject).schema_id
    assert id is not None
    kind = classes(text)["Many"]
    spark = sessions.session()
    names = [field.name for field in format.schema]
    back = protobuf(subject, message="Many")
    object.__setattr__(back, "fixed", (text,))
    back = back.of_topic("many", registry.url, reads=False)

    drawn: list[Any] = []

    @settings(max_examples=150, deadline=None, phases=[Phase.generate], database=None)
    @given(messages(kind))
    def collect(message: Any) -> None:
        drawn.append(message)

    collect()  # one job reads and writes all of them
    frame = spark.createDataFrame(
        [(at, framed(id, one)) for at, one in enumerate(drawn)], "_at INT, value BINARY"
    ).selectExpr("*", NO_HEADERS)
    parsed = frame.selectExpr("_at", f"{format.parsed(())} AS _parsed")
    read = parsed.selectExpr(
        "_at", "_parsed.reason AS _reason", *(f"{format.read(n, 'value')} AS `{n}`" for n in names)
    )
    written = read.selectExpr("*", f"{back.written(names, read.schema)} AS _written")
    rows = written.orderBy("_at").collect()
    for row, message in zip(rows, drawn, strict=True):
        assert row["_reason"] is None
        ours = row.asDict(recursive=True)
        assert {name: ours[name] for name in names} == columns_as_python(message)
        again = kind.FromString(bytes(row["_written"])[6:])
        assert again.SerializeToString(deterministic=True) == message.SerializeToString(
            deterministic=True
        )


def test_what_rows_are_made_of_is_written_in_protobufs_types(
    registry: Registry, client: SchemaRegistryClient
) -> None:
    spark = sessions.session()
    rows = spark.sql(
        "SELECT 1Y AS tiny, 2L AS long, true AS yes, 1.5F AS f, X'00FF' AS b, 'ö' AS s, "
        "DATE'2026-02-03' AS day, TIMESTAMP'2026-01-02 03:04:05.000006Z' AS at, "
        "INTERVAL '-1 00:00:01.5' DAY TO SECOND AS span, 12.30BD AS amount, "
        "array(1, 2) AS list, map('k', named_struct('x', 1L)) AS map, "
        "named_struct('deep', named_struct('s', 'x')) AS inner, cast(NULL AS string) AS none"
    )
    names = rows.columns
    format = protobuf("made-value", name="a.Made").of_topic("made", registry.url, reads=False)
    format.prepare(spark)
    written = rows.selectExpr(f"{format.written(names, rows.schema)} AS value")
    reads = protobuf("made-value").of_topic("made", registry.url, reads=True)
    assert [(field.name, field.type) for field in reads.schema[6:10]] == [
        ("day", "DATE"),
        ("at", "TIMESTAMP"),
        ("span", "INTERVAL DAY TO SECOND"),
        ("amount", "DECIMAL(4, 2)"),
    ]
    parsed = written.selectExpr("value", NO_HEADERS).selectExpr(f"{reads.parsed(())} AS _parsed")
    back = parsed.selectExpr(*(f"{reads.read(name, 'value')} AS `{name}`" for name in names))
    assert back.first() == rows.first()
    (row,) = back.collect()
    assert row["day"] == date(2026, 2, 3)
    assert row["at"].astimezone(UTC) == datetime(2026, 1, 2, 3, 4, 5, 6, UTC)
    assert row["span"] == -timedelta(days=1, seconds=1.5)
    assert row["amount"] == Decimal("12.30")


def test_a_column_keeps_its_number_when_others_come_and_go(registry: Registry) -> None:
    spark = sessions.session()
    texts = []
    for sql in ("1 AS a, 'x' AS b", "'x' AS b, 1 AS a", "'x' AS b, 2L AS c", "1L AS d, 2L AS c"):
        rows = spark.sql(f"SELECT {sql}")
        format = protobuf("kept-value").of_topic("kept", registry.url, reads=False)
        format.prepare(spark)
        format.written(rows.columns, rows.schema)
        fresh = SchemaRegistryClient({"url": registry.url})  # which remembers nothing
        texts.append(fresh.get_latest_version("kept-value").schema.schema_str or "")
    assert "int32 a = 1;" in texts[1]
    assert "string b = 2;" in texts[1]
    assert "reserved 1;" in texts[2]
    assert "int64 c = 3;" in texts[2]
    assert "reserved 1, 2;" in texts[3]
    assert "int64 d = 4;" in texts[3]


def test_a_schema_that_the_subject_refuses_is_an_error_of_the_definition(
    registry: Registry, client: SchemaRegistryClient
) -> None:
    taken = 'syntax = "proto3"; message Taken { int64 id = 1; }'
    client.register_schema("taken-value", Schema(taken, "PROTOBUF"))
    client.register_schema("source-value", Schema(ORDER, "PROTOBUF"))
    app = App("protobuf-refused", registry=registry.url)
    app.stream("source", value=protobuf(message="shop.Order")).select("customer AS id").to(
        "taken", value=protobuf(name="Taken")
    )
    with (
        drive(app) as d,
        pytest.raises(DefinitionError, match=r"test_protobuf\.py:\d+: taken-value does not take"),
    ):
        d.settle()


def test_what_cannot_be_read_is_told_where_it_is_asked_for(
    registry: Registry, client: SchemaRegistryClient
) -> None:
    client.register_schema("shop-value", Schema(ORDER, "PROTOBUF"))
    client.register_schema("avro-value", Schema('"string"', "AVRO"))
    looped = 'syntax = "proto3"; message Tree { repeated Tree branches = 1; }'
    client.register_schema("tree-value", Schema(looped, "PROTOBUF"))
    app = App("protobuf-missing", registry=registry.url)
    with pytest.raises(DefinitionError, match=r"no message Nobody, but shop\.Other, shop\.Order"):
        app.stream("shop", value=protobuf(message="Nobody"))
    with pytest.raises(DefinitionError, match="is AVRO, not PROTOBUF"):
        app.stream("avro", value=protobuf())
    with pytest.raises(DefinitionError, match=r"Tree contains itself.*recursion= says how often"):
        app.stream("tree", value=protobuf())
    with pytest.raises(DefinitionError, match=r"test_protobuf\.py:\d+: Subject 'no-value' not"):
        app.stream("no", value=protobuf())


def test_files_that_a_schema_imports_come_from_its_references(
    registry: Registry, client: SchemaRegistryClient
) -> None:
    part = 'syntax = "proto3"; package part; message Part { google.protobuf.Int64Value n = 1; }'
    part = part.replace("package", 'import "google/protobuf/wrappers.proto"; package')
    client.register_schema("part", Schema(part, "PROTOBUF"))
    whole = (
        'syntax = "proto3"; import "part.proto"; message Whole { repeated part.Part parts = 1; }'
    )
    named = [SchemaReference("part.proto", "part", 1)]
    client.register_schema("whole-value", Schema(whole, "PROTOBUF", named))
    app = App("protobuf-parts", registry=registry.url)
    stream = app.stream("whole", value=protobuf())
    assert stream.columns == ("parts",)


def test_keys_in_avro_are_text_numbers_or_json(
    registry: Registry, client: SchemaRegistryClient
) -> None:
    pair = '{"type": "record", "name": "K", "fields": [{"name": "a", "type": "int"}]}'
    frames = {}
    for name, schema, body in (
        ("text", '"string"', b"\x04hi"),
        ("number", '"int"', b"\x0e"),
        ("pair", pair, b"\x0e"),
    ):
        id = client.register_schema(f"{name}-key", Schema(schema, "AVRO"))
        frames[name] = b"\0" + id.to_bytes(4, "big") + body
    app = App("avro-keys", registry=registry.url)
    for name in frames:
        app.stream(name, key=avro()).select("_key AS k").to(f"{name}-keys")
    with drive(app) as d:
        for name, key in frames.items():
            d.send(name, "x", key=key)
        assert [d.read(f"{name}-keys")[0][1] for name in frames] == [
            {"k": "hi"},
            {"k": 7},
            {"k": '{"a":7}'},
        ]


@pytest.mark.long
def test_keys_are_written_as_messages(registry: Registry, client: SchemaRegistryClient) -> None:
    app = App("protobuf-keys", registry=registry.url)
    client.register_schema("keyed-value", Schema(ORDER, "PROTOBUF"))
    orders = app.stream("keyed", value=protobuf(message="shop.Order"))
    key = protobuf(name="shop.OrderKey")
    orders.to("keyed-orders", key="struct(id, customer)", key_format=key)
    with drive(app) as d:
        id = client.get_latest_version("keyed-value").schema_id or 0
        order = classes(ORDER)["Order"](id=7, customer="Kim")
        d.send("keyed", framed(id, order, b"\x02\x02"))
        (made,) = d.records("keyed-orders")
        text = client.get_latest_version("keyed-orders-key").schema.schema_str or ""
        read = classes(text)["OrderKey"].FromString(raw(made.key)[6:])
        assert (read.id, read.customer) == (7, "Kim")
    alone = App("protobuf-lone-key", registry=registry.url)
    lone = alone.stream("keyed", value=protobuf(message="shop.Order"))
    lone.to("keyed-lone", key="id", key_format=protobuf())
    with drive(alone) as d, pytest.raises(DefinitionError, match="A key in Protobuf is a message"):
        d.settle()


TREE = """
syntax = "proto3";
message Tree {
  string name = 1;
  repeated Tree branches = 2;
  map<string, Tree> named = 3;
}
"""


@pytest.mark.long
def test_a_message_within_itself_is_read_as_deeply_as_is_asked_for(
    registry: Registry, client: SchemaRegistryClient
) -> None:
    id = client.register_schema("trees-value", Schema(TREE, "PROTOBUF"))
    app = App("protobuf-trees", registry=registry.url)
    flat = app.stream("trees", value=protobuf(recursion=1))
    assert flat.columns == ("name",)
    trees = app.stream("trees", value=protobuf(recursion=2))
    trees.to("copies", value=protobuf())
    client.register_schema("deep-value", Schema(TREE, "PROTOBUF"))
    with pytest.raises(DefinitionError, match="from 1 to 10"):
        protobuf(recursion=11)
    with drive(app) as d:
        kind = classes(TREE)["Tree"]
        leaf = kind(name="leaf")
        branch = kind(name="branch", branches=[leaf])
        sent = kind(name="root", branches=[branch, leaf], named={"x": branch})
        d.send("trees", framed(id, sent))
        ((_, copy),) = d.read("copies")
        text = client.get_latest_version("copies-value").schema.schema_str or ""
        read = classes(text)["copies"].FromString(raw(copy)[6:])
        assert read.name == "root"
        assert [one.name for one in read.branches] == ["branch", "leaf"]
        assert read.named["x"].name == "branch"
        (at,) = (one for one in trees.node.schema if one.name == "branches")
        assert at.type == "ARRAY<STRUCT<`name`: STRING>>"
