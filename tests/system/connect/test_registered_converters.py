"""Converters with a registry: confluent-kafka's serializers read what they write, and back."""

import datetime
import decimal
import io
import json
import pickle
from collections.abc import Iterator
from typing import Any, cast
from uuid import uuid4

import fastavro
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from ottla.client.protobuf_files import described
from ottla.client.schema_registry import SchemaRegistry
from ottla.connect import converters
from ottla.connect.connector import ServiceError
from ottla.connect.converters.converter import Converter
from ottla.connect.data import (
    DATE_SCHEMA,
    TIME_SCHEMA,
    TIMESTAMP_SCHEMA,
    DataError,
    Field,
    Record,
    Schema,
    Struct,
    Type,
    decimal_schema,
    optional,
)
from ottla.connect.definitions import InvalidConfig
from ottla.connect.pipeline import SinkChain, SourceChain
from system.registry.processes import Registry

AVRO = "io.confluent.connect.avro.AvroConverter"
PROTOBUF = "io.confluent.connect.protobuf.ProtobufConverter"
JSON_SCHEMA = "io.confluent.connect.json.JsonSchemaConverter"
TEXT, LONG = Schema(type=Type.STRING), Schema(type=Type.INT64)
ROW = Schema(
    type=Type.STRUCT,
    name="shop.Order",
    fields=(
        Field("id", LONG),
        Field("note", optional(TEXT)),
        Field("small", Schema(type=Type.INT16)),
        Field("price", decimal_schema(2)),
        Field("day", DATE_SCHEMA),
        Field("time", optional(TIME_SCHEMA)),
        Field("at", TIMESTAMP_SCHEMA),
        Field("tags", Schema(type=Type.ARRAY, value_schema=TEXT)),
        Field("sizes", Schema(type=Type.MAP, key_schema=TEXT, value_schema=optional(LONG))),
        Field("ratio", Schema(type=Type.FLOAT64, default=0.5)),
    ),
)
AT = datetime.datetime(2026, 1, 2, 3, 4, 5, 6000, datetime.UTC)
PLAIN: dict[str, Any] = {
    "id": 7,
    "note": None,
    "small": -3,
    "price": decimal.Decimal("12.50"),
    "day": AT.date(),
    "time": AT.time(),
    "at": AT,
    "tags": ["a", "é"],
    "sizes": {"x": 1, "y": None},
    "ratio": 1.5,
}


@pytest.fixture(scope="module")
def registry(bootstrap: str) -> Iterator[Registry]:
    with Registry(bootstrap, name="converters") as process:
        yield process


@pytest.fixture
def client(registry: Registry) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": registry.url})


@pytest.fixture
def topic() -> str:
    return f"t-{uuid4().hex[:8]}"


def made(registry: Registry, name: str = AVRO, **keys: str) -> Converter:
    is_key = keys.pop("side", "value") == "key"
    said = {one.replace("_", "."): value for one, value in keys.items()}
    return converters.converter(name, {"schema.registry.url": registry.url} | said, is_key=is_key)


def of_value(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE, [])


def test_avro_that_is_written_is_read_by_confluents_deserializer(
    registry: Registry, client: SchemaRegistryClient, topic: str
) -> None:
    data = made(registry).from_connect(topic, ROW, Struct(ROW, PLAIN))
    read = cast(Any, AvroDeserializer(client))(data, of_value(topic))
    assert read == PLAIN
    told = json.loads(cast(str, client.get_latest_version(f"{topic}-value").schema.schema_str))
    assert (told["namespace"], told["name"], told["connect.name"]) == (
        "shop",
        "Order",
        "shop.Order",
    )


def test_avro_of_confluents_serializer_is_read(
    registry: Registry, client: SchemaRegistryClient, topic: str
) -> None:
    order = {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "note", "type": ["null", "string"], "default": None},
            {"name": "either", "type": ["int", "string"]},
        ],
    }
    serialize = AvroSerializer(client, json.dumps(order))
    data = serialize({"id": 1, "note": "n", "either": "x"}, of_value(topic))
    schema, value = made(registry).to_connect(topic, data)
    assert schema is not None
    assert (schema.name, schema.version) == ("Order", 1)
    either = value.values.pop("either")
    assert value.values == {"id": 1, "note": "n"}
    assert either.values == {"string": "x"}


@pytest.mark.parametrize("value", [7, "text", b"\0bytes", None, [1, "a", {"b": None}], True, 1.5])
def test_values_without_a_schema_go_round(registry: Registry, topic: str, value: Any) -> None:
    if isinstance(value, bytes):
        with pytest.raises(DataError, match="Unknown Java type for schemaless data"):
            made(registry).from_connect(topic, None, value)
        return
    data = made(registry).from_connect(topic, None, value)
    assert made(registry).to_connect(topic, data) == (None, value)


def test_a_schema_comes_back_with_all_that_connect_knows_of_it(
    registry: Registry, topic: str
) -> None:
    schema = Schema(
        type=Type.STRUCT,
        name="a.b.C",
        version=4,
        doc="of the test",
        fields=(
            Field("f", Schema(type=Type.INT8, default=3, doc="small", parameters={"p": "q"})),
            Field("g", optional(ROW)),
            Field("m", Schema(type=Type.MAP, key_schema=LONG, value_schema=optional(ROW))),
        ),
    )
    row = Struct(optional(ROW), PLAIN)
    value = Struct(schema, {"f": 1, "g": row, "m": {5: row, 6: None}})
    data = made(registry).from_connect(topic, schema, value)
    found, read = made(registry).to_connect(topic, data)
    assert found == schema
    assert read == value


def test_subjects_are_named_as_the_strategy_says(
    registry: Registry, client: SchemaRegistryClient, topic: str
) -> None:
    package = "io.confluent.kafka.serializers.subject"
    for strategy in ("RecordNameStrategy", "TopicRecordNameStrategy"):
        converter = made(registry, value_subject_name_strategy=f"{package}.{strategy}")
        converter.from_connect(topic, ROW, Struct(ROW, PLAIN))
    made(registry, side="key").from_connect(topic, LONG, 1)
    assert {"shop.Order", f"{topic}-shop.Order", f"{topic}-key"} <= set(client.get_subjects())


def test_a_schema_that_is_not_registered_is_refused_where_none_is_to_be(
    registry: Registry, topic: str
) -> None:
    with pytest.raises(DataError, match=f"Failed to serialize Avro data from topic {topic}"):
        made(registry, auto_register_schemas="false").from_connect(topic, LONG, 1)
    first = made(registry).from_connect(topic, LONG, 1)
    assert made(registry, auto_register_schemas="false").from_connect(topic, LONG, 1) == first


def test_the_latest_version_is_written_with_where_it_is_asked_for(
    registry: Registry, topic: str
) -> None:
    latest = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "more", "type": "string", "default": "m"},
            {"name": "id", "type": "long"},
        ],
    }
    registry.register(f"{topic}-value", latest)
    schema = Schema(type=Type.STRUCT, name="R", fields=(Field("id", Schema(type=Type.INT32)),))
    converter = made(registry, auto_register_schemas="false", use_latest_version="true")
    data = converter.from_connect(topic, schema, Struct(schema, {"id": 5}))
    assert data is not None
    read = fastavro.schemaless_reader(io.BytesIO(data[5:]), fastavro.parse_schema(latest), None)
    assert read == {"more": "m", "id": 5}
    other = Schema(type=Type.STRUCT, name="R", fields=(Field("x", TEXT),))
    with pytest.raises(DataError, match="does not fit the registered schema"):
        converter.from_connect(topic, other, Struct(other, {"x": "y"}))


def test_a_schema_that_is_not_compatible_is_refused_in_the_registrys_words(
    registry: Registry, topic: str
) -> None:
    made(registry).from_connect(topic, TEXT, "a")
    with pytest.raises(DataError, match="error code: 409"):
        made(registry).from_connect(topic, LONG, 1)


def test_what_is_no_frame_is_refused(registry: Registry, topic: str) -> None:
    for data in (b"", b"\1\0\0\0\1x", b"{}"):
        with pytest.raises(DataError, match="Unknown magic byte!"):
            made(registry).to_connect(topic, data)
    with pytest.raises(DataError, match="error code: 40403"):
        made(registry).to_connect(topic, b"\0\0\0\xff\xff\0")


def test_keys_of_confluents_that_are_not_served_are_named(registry: Registry) -> None:
    with pytest.raises(InvalidConfig, match=r"use\.schema\.guid is not served here"):
        made(registry, use_schema_guid="x")
    with pytest.raises(InvalidConfig, match=r"discard\.type\.doc\.default is not served here"):
        made(registry, discard_type_doc_default="true")
    made(registry, schemas_enable="false")  # unknown to Confluent's, too, which passes it over


def test_a_registry_that_is_away_is_no_records_fault(registry: Registry, topic: str) -> None:
    config = {
        "errors.tolerance": "all",
        "key.converter": "StringConverter",
        "value.converter": AVRO,
        "value.converter.schema.registry.url": "http://127.0.0.1:1",
    }
    source = pickle.loads(pickle.dumps(SourceChain(config, {})))
    with pytest.raises(ServiceError, match="No schema registry answers"):
        list(source.rows([Record(topic=topic, value_schema=LONG, value=1)]))
    with pytest.raises(ServiceError):
        SinkChain(config, {}).record(topic, 0, 0, None, None, b"\0\0\0\0\1\0")


def test_users_are_told_to_the_registry(registry: Registry, topic: str) -> None:
    """A registry that asks nobody takes them as well: what counts is that the URL stays whole."""
    keys = {
        "basic_auth_credentials_source": "USER_INFO",
        "basic_auth_user_info": "kim:p@ss:word/",
    }
    data = made(registry, **keys).from_connect(topic, LONG, 1)
    assert made(registry).to_connect(topic, data)[1] == 1


# --- JSON Schema


def test_json_that_is_written_is_read_by_confluents_deserializer(
    registry: Registry, client: SchemaRegistryClient, topic: str
) -> None:
    data = made(registry, JSON_SCHEMA).from_connect(topic, ROW, Struct(ROW, PLAIN))
    deserialize = JSONDeserializer(None, schema_registry_client=client)
    read = cast(Any, deserialize)(data, of_value(topic))
    assert read == PLAIN | {
        "price": "BOI=",
        "day": (AT.date() - datetime.date(1970, 1, 1)).days,
        "time": ((3 * 60 + 4) * 60 + 5) * 1000 + 6,
        "at": int(AT.timestamp() * 1000),
    }
    told = json.loads(cast(str, client.get_latest_version(f"{topic}-value").schema.schema_str))
    assert told["title"] == "shop.Order"
    assert told["properties"]["note"] == {
        "oneOf": [{"type": "null"}, {"type": "string"}],
        "connect.index": 1,
    }


def test_json_of_confluents_serializer_is_read(
    registry: Registry, client: SchemaRegistryClient, topic: str
) -> None:
    person = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Person",
        "description": "somebody",
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": ["null", "integer"]},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "home": {"$ref": "#/definitions/address"},
            "either": {"oneOf": [{"type": "integer"}, {"$ref": "#/definitions/address"}]},
            "rate": {"type": "number", "default": 0.5},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "definitions": {"address": {"type": "object", "properties": {"s": {"type": "string"}}}},
    }
    sent = {"name": "Kim", "age": 3, "kind": "b", "home": {"s": "x"}, "either": {"s": "y"}}
    serialize = JSONSerializer(json.dumps(person), client)
    data = serialize(sent | {"tags": ["t"]}, of_value(topic))
    schema, value = made(registry, JSON_SCHEMA).to_connect(topic, data)
    assert schema is not None
    assert (schema.name, schema.version, schema.doc) == ("Person", 1, "somebody")
    kinds = {one.name: one.schema for one in schema.fields}
    assert kinds["age"] == Schema(type=Type.INT64, optional=True)
    assert (kinds["kind"].parameters or {})["io.confluent.connect.json.Enum.b"] == "b"
    assert kinds["rate"] == Schema(type=Type.FLOAT64, default=0.5)
    held = dict(value.values)
    assert held.pop("home").values == {"s": "x"}
    assert held.pop("either").values["io.confluent.connect.json.OneOf.field.1"].values == {"s": "y"}
    assert held == {"name": "Kim", "age": 3, "kind": "b", "rate": 0.5, "tags": ["t"]}


@pytest.mark.parametrize("decimals", ["BASE64", "NUMERIC"])
def test_a_schema_comes_back_from_json_schema(
    registry: Registry, topic: str, decimals: str
) -> None:
    schema = Schema(
        type=Type.STRUCT,
        name="a.b.C",
        version=4,
        doc="of the test",
        fields=(
            Field("z", Schema(type=Type.INT8, default=3, doc="small", parameters={"p": "q"})),
            Field("b", Schema(type=Type.BYTES, default=b"\0x")),
            Field("f", Schema(type=Type.FLOAT32)),
            Field("g", optional(ROW)),
            Field("m", Schema(type=Type.MAP, key_schema=LONG, value_schema=optional(ROW))),
        ),
    )
    row = Struct(optional(ROW), PLAIN)
    value = Struct(schema, {"z": 1, "b": b"\xff", "f": 0.5, "g": row, "m": {5: row, 6: None}})
    converter = made(registry, JSON_SCHEMA, decimal_format=decimals)
    found, read = converter.to_connect(topic, converter.from_connect(topic, schema, value))
    assert found == schema
    assert read == value


def test_json_has_to_fit_the_latest_schema_where_it_is_written_with(
    registry: Registry, topic: str
) -> None:
    latest = {"type": "object", "properties": {"x": {"type": "string"}}}
    registry.register(f"{topic}-value", latest, schemaType="JSON")
    keys = {"auto_register_schemas": "false", "use_latest_version": "true"}
    converter = made(registry, JSON_SCHEMA, **keys)
    good = Schema(type=Type.STRUCT, fields=(Field("x", TEXT),))
    data = converter.from_connect(topic, good, Struct(good, {"x": "y"}))
    assert made(registry, JSON_SCHEMA).to_connect(topic, data)[1].values == {"x": "y"}
    bad = Schema(type=Type.STRUCT, fields=(Field("x", LONG),))
    with pytest.raises(DataError, match="does not fit the registered schema"):
        converter.from_connect(topic, bad, Struct(bad, {"x": 1}))


def test_each_converter_refuses_the_others_schemas(registry: Registry, topic: str) -> None:
    data = made(registry, JSON_SCHEMA).from_connect(topic, LONG, 1)
    with pytest.raises(DataError, match="is JSON, not Avro"):
        made(registry).to_connect(topic, data)


# --- Protobuf


def test_protobuf_that_is_written_is_read_by_confluents_deserializer(
    registry: Registry, topic: str
) -> None:
    data = made(registry, PROTOBUF).from_connect(topic, ROW, Struct(ROW, PLAIN))
    there = SchemaRegistry(registry.url)
    file = described(there, f"/subjects/{topic}-value/versions/1", ())
    kind = message_factory.GetMessageClass(file.message_types_by_name["Order"])
    read: Any = ProtobufDeserializer(kind, {"use.deprecated.format": False})(data, of_value(topic))
    assert (read.id, read.small, list(read.tags), read.ratio) == (7, -3, ["a", "é"], 1.5)
    assert (read.day.year, read.day.month, read.day.day) == (2026, 1, 2)
    assert read.at.seconds == int(AT.timestamp())
    assert (read.price.value, read.price.scale) == (b"\x04\xe2", 2)
    assert {one.key: one.value for one in read.sizes} == {"x": 1, "y": 0}
    assert file.package == "shop"


def test_protobuf_of_confluents_serializer_is_read(
    registry: Registry, client: SchemaRegistryClient, topic: str
) -> None:
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{topic}.proto", package="people", syntax="proto3"
    )
    file.message_type.add(name="Other")
    person = file.message_type.add(name="Person")
    person.field.add(name="name", number=1, type=9, label=1)
    person.field.add(name="ages", number=2, type=13, label=3)
    person.field.add(name="kind", number=3, type=14, type_name=".people.Kind", label=1)
    person.field.add(name="a", number=4, type=9, label=1, oneof_index=0)
    person.field.add(name="b", number=5, type=11, type_name=".people.Other", label=1, oneof_index=0)
    person.oneof_decl.add(name="either")
    kind = file.enum_type.add(name="Kind")
    kind.value.add(name="LOW", number=0)
    kind.value.add(name="HIGH", number=3)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    made_class = message_factory.GetMessageClass(pool.FindMessageTypeByName("people.Person"))
    serialize = ProtobufSerializer(made_class, client, {"use.deprecated.format": False})
    sent = made_class(name="Kim", ages=[3, 4_000_000_000], kind=3, a="x")
    data = serialize(sent, of_value(topic))
    schema, value = made(registry, PROTOBUF).to_connect(topic, data)
    assert schema is not None
    assert (schema.name, schema.version) == ("Person", 1)
    held = dict(value.values)
    assert held.pop("either_0").values == {"a": "x"}
    assert held == {"name": "Kim", "ages": [3, 4_000_000_000], "kind": "HIGH"}
    again = made(registry, PROTOBUF).from_connect(f"{topic}-2", schema, value)
    found, back = made(registry, PROTOBUF).to_connect(f"{topic}-2", again)
    assert (back, found) == (value, schema)


@pytest.mark.parametrize("keys", [{}, {"optional_for_nullables": "true"}])
def test_values_come_back_from_protobuf(
    registry: Registry, topic: str, keys: dict[str, str]
) -> None:
    converter = made(registry, PROTOBUF, **keys)
    schema, value = converter.to_connect(
        topic, converter.from_connect(topic, ROW, Struct(ROW, PLAIN))
    )
    expected = PLAIN if keys else PLAIN | {"note": ""}  # without `optional` there is no null
    held = {name: one for name, one in value.values.items() if one is not None}
    kept = {name: one for name, one in expected.items() if one is not None}
    assert held == kept | {"sizes": {"x": 1, "y": 0}}
    assert schema is not None
    small = schema.field("small")
    assert small is not None
    assert small.schema.type is Type.INT16


@pytest.mark.parametrize("value", [7, "text", b"bytes", True, 1.5])
def test_a_value_alone_is_wrapped(registry: Registry, topic: str, value: Any) -> None:
    kinds = {int: Type.INT64, str: Type.STRING, bytes: Type.BYTES, bool: Type.BOOLEAN}
    schema = Schema(type=kinds.get(type(value), Type.FLOAT64))
    data = made(registry, PROTOBUF).from_connect(topic, schema, value)
    found, read = made(registry, PROTOBUF).to_connect(topic, data)
    assert found is not None
    assert (found.type, read) == (schema.type, value)


def test_protobuf_is_written_with_the_latest_version_where_it_is_asked_for(
    registry: Registry, topic: str
) -> None:
    text = 'syntax = "proto3"; package a; message R { string more = 9; int64 id = 4; }'
    registry.register(f"{topic}-value", text, schemaType="PROTOBUF")
    keys = {"auto_register_schemas": "false", "use_latest_version": "true"}
    schema = Schema(type=Type.STRUCT, name="a.R", fields=(Field("id", LONG),))
    data = made(registry, PROTOBUF, **keys).from_connect(topic, schema, Struct(schema, {"id": 5}))
    assert data is not None
    assert data[5:] == b"\0\x20\x05"
    other = Schema(type=Type.STRUCT, name="a.R", fields=(Field("x", TEXT),))
    with pytest.raises(DataError, match="Cannot find field with name x"):
        made(registry, PROTOBUF, **keys).from_connect(topic, other, Struct(other, {"x": "y"}))
