"""JSON behind the id of a JSON Schema, read and written as confluent-kafka does."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from ottla.pipelines import App, DefinitionError, json_schema
from ottla.pipelines.formats.json_schema_types import columns
from ottla.testing import Registry, drive

PERSON: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Person",
    "type": "object",
    "additionalProperties": False,
    "required": ["name"],
    "definitions": {"town": {"type": "object", "properties": {"zip": {"type": "integer"}}}},
    "properties": {
        "name": {"type": "string"},
        "age": {"oneOf": [{"type": "null"}, {"type": "integer"}]},
        "town": {"$ref": "#/definitions/town"},
        "scores": {"type": "array", "items": {"type": "number"}},
        "any": {"type": ["string", "integer"]},
        "more": {"type": "object", "additionalProperties": {"type": "boolean"}},
    },
}
KIM = {"name": "Kim", "age": 40, "town": {"zip": 1010}, "scores": [1.5], "more": {"x": True}}


@pytest.fixture(scope="module")
def registry(driven: str) -> Iterator[Registry]:
    with Registry(driven, settings={"kafkastore.topic": "_schemas-json"}) as started:
        yield started


def of(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def test_columns_are_the_properties_of_the_schema() -> None:
    assert [(field.name, field.type, field.required) for field in columns(PERSON)] == [
        ("name", "STRING", True),
        ("age", "BIGINT", False),
        ("town", "STRUCT<`zip`: BIGINT>", False),
        ("scores", "ARRAY<DOUBLE>", False),
        ("any", "STRING", False),
        ("more", "MAP<STRING, BOOLEAN>", False),
    ]


def test_objects_become_rows_and_rows_objects(registry: Registry) -> None:
    client = SchemaRegistryClient({"url": registry.url})
    write = JSONSerializer(json.dumps(PERSON), client)
    framed = write(KIM, of("people"))
    assert framed is not None
    app = App("json-people", registry=registry.url)
    people = app.stream("people", value=json_schema())
    people.select("name", "town.zip AS zip", "scores").to("short", value=json_schema(name="Short"))
    with drive(app) as d:
        d.send("people", framed)
        for bad in (b"{}", framed[:5] + b"{", framed[:5] + b'{"age": 3}'):
            d.send("people", bad)
        ((_, made),) = d.read("short")
        raw = made.encode() if isinstance(made, str) else made
        latest = client.get_latest_version("short-value")
        text = latest.schema.schema_str or ""
        assert json.loads(text)["title"] == "Short"
        read = JSONDeserializer(text, schema_registry_client=client)
        assert read(raw, of("short")) == {"name": "Kim", "zip": 1010, "scores": [1.5]}
        assert [letter.headers["ottla.reason"].decode() for letter in d.dead_letters()] == [
            "the value has no frame of a schema registry",
            "the value is not JSON of the schema",
            "the field name is missing",
        ]


def test_a_schema_of_another_type_is_told_where_it_is_asked_for(registry: Registry) -> None:
    client = SchemaRegistryClient({"url": registry.url})
    client.register_schema("other-value", Schema('"int"', "AVRO"))
    app = App("json-other", registry=registry.url)
    with pytest.raises(DefinitionError, match=r"test_json_schema\.py:\d+: .* is AVRO, not JSON"):
        app.stream("other", value=json_schema())
