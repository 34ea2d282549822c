"""JSON behind the id of a JSON Schema, read and written as confluent-kafka does."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, cast

import jsonschema_rs
import pytest
from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    header_schema_id_serializer,
)
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from ottla.pipelines import App, DefinitionError, json_schema
from ottla.pipelines.formats.json_schema_types import columns
from ottla.pipelines.runtime import sessions
from ottla.testing import Registry, drive
from unit.registry.test_json_schema import INSTANCES, drawn

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


AGED: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "age": {"type": "integer", "maximum": 150},
        "mail": {"type": "string", "pattern": "^[^@]+@[^@]+$"},
        "home": {"$ref": "town.json"},
    },
    "required": ["age"],
}
TOWN = {"type": "object", "properties": {"zip": {"type": "integer", "minimum": 1000}}}


def reasons(letters: Any) -> list[str]:
    return [letter.headers["ottla.reason"].decode() for letter in letters]


def test_validate_sends_what_breaks_a_rule_of_its_own_schema_to_the_dead_letters(
    registry: Registry,
) -> None:
    """The second schema lets people grow older; each record is judged by the one that it bears."""
    client = SchemaRegistryClient({"url": registry.url})
    client.register_schema("town", Schema(json.dumps(TOWN), "JSON"))
    town = [SchemaReference("town.json", "town", 1)]
    client.set_compatibility("aged-value", "NONE")
    older = {**AGED, "properties": {**AGED["properties"], "age": {"type": "integer"}}}
    ids = [
        client.register_schema("aged-value", Schema(json.dumps(one), "JSON", town))
        for one in (older, AGED)
    ]
    frames = [b"\0" + id.to_bytes(4, "big") for id in ids]
    app = App("json-validated", registry=registry.url)
    people = app.stream("aged", value=json_schema(validate=True, id_column="schema"))
    assert people.columns == ("age", "mail", "home", "schema")
    people.select("age", "home.zip AS zip", "schema").to("fitting")
    with drive(app) as d:
        d.send("aged", frames[0] + b'{"age": 200}')
        d.send("aged", frames[1] + b'{"age": 40, "mail": "k@x.org", "home": {"zip": 1010}}')
        d.send("aged", frames[1] + b'{"age": 200}')
        d.send("aged", frames[1] + b'{"age": 4, "mail": "nowhere"}')
        d.send("aged", frames[1] + b'{"age": 4, "home": {"zip": 7}}')
        d.send("aged", frames[1] + b'{"age": 4} {}')
        d.send("aged", b"\0\0\0\x30\x39{}")
        assert [row for _, row in d.read("fitting")] == [
            {"age": 200, "zip": None, "schema": ids[0]},
            {"age": 40, "zip": 1010, "schema": ids[1]},
        ]
        unfit = f"the value does not fit the schema with the id {ids[1]}:"
        assert reasons(d.dead_letters()) == [
            f"{unfit} /age is more than 150",
            f"{unfit} /mail does not match ^[^@]+@[^@]+$",
            f"{unfit} /home/zip is less than 1000",
            "the value is not JSON",
            "the registry has no JSON Schema with the id 12345",
        ]


def test_drawn_schemas_judge_as_another_library_does() -> None:
    spark: Any = sessions.session()
    judge = spark._jvm.ottla.JsonSchemaFrames
    fitting = 0
    for seed in range(5000, 5150):
        schema = drawn(Random(seed))
        there = jsonschema_rs.validator_for(schema)
        for instance in INSTANCES:
            said = judge.flaw(json.dumps(schema), "{}", json.dumps(instance))
            fitting += said is None
            assert (said is None) == there.is_valid(instance), (seed, schema, instance, said)
    assert 500 < fitting < 4000


def test_a_header_may_bear_the_id(registry: Registry) -> None:
    client = SchemaRegistryClient({"url": registry.url})
    configured = {"schema.id.serializer": header_schema_id_serializer}
    write = JSONSerializer(json.dumps(PERSON), client, conf=configured)
    context = SerializationContext("headed-people", MessageField.VALUE, [])
    body = write(KIM, context)
    assert body is not None
    app = App("json-headed", registry=registry.url)
    app.stream("headed-people", value=json_schema()).select("name").to(
        "headed-names", value=json_schema(id_in="header")
    )
    with drive(app) as d:
        headers = dict(cast(list[tuple[str, bytes]], context.headers))
        d.send("headed-people", body, headers=headers)
        (made,) = d.records("headed-names")
        assert made.value == {"name": "Kim"}
        guid = client.get_latest_version("headed-names-value").guid or ""
        assert made.headers["__value_schema_id"].hex() == "01" + guid.replace("-", "")


def test_keys_are_read_and_written_behind_an_id(registry: Registry) -> None:
    client = SchemaRegistryClient({"url": registry.url})
    frames = {}
    for name, schema, body in (
        ("text", {"type": "string"}, b'"hi"'),
        ("number", {"type": "integer"}, b"7"),
        ("pair", {"type": "object", "properties": {"a": {"type": "integer"}}}, b'{"a": 7}'),
    ):
        id = client.register_schema(f"j{name}-key", Schema(json.dumps(schema), "JSON"))
        frames[name] = b"\0" + id.to_bytes(4, "big") + body
    app = App("json-keys", registry=registry.url)
    for name in frames:
        stream = app.stream(f"j{name}", key=json_schema()).select("_key AS k")
        stream.to(f"j{name}s", key_format=json_schema())
    with drive(app) as d:
        for name, key in frames.items():
            d.send(f"j{name}", "x", key=key)
        made = [d.records(f"j{name}s")[0] for name in frames]
        assert [one.value for one in made] == [{"k": "hi"}, {"k": 7}, {"k": '{"a":7}'}]
        keys = [one.key if isinstance(one.key, bytes) else one.key.encode() for one in made]
        assert [key[5:] for key in keys] == [b'"hi"', b"7", b'"{\\"a\\":7}"']
        held = client.get_latest_version("jnumbers-key").schema.schema_str or ""
        assert json.loads(held)["type"] == "integer"


def test_an_application_that_names_no_registry_is_driven_with_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OTTLA_REGISTRY", raising=False)
    (tmp_path / "person.json").write_text(json.dumps(PERSON))
    app = App("json-own")
    people = app.stream("own-people", value=json_schema(schema=str(tmp_path / "person.json")))
    people.select("name").to("own-names", value=json_schema())
    for _ in range(2):  # each has a registry of its own
        with drive(app) as d:
            client = SchemaRegistryClient({"url": d.registry})
            assert client.get_subjects() == []
            d.send("own-people", JSONSerializer(json.dumps(PERSON), client)(KIM, of("own-people")))
            ((_, made),) = d.read("own-names")
            raw = made.encode() if isinstance(made, str) else made
            assert raw[5:] == b'{"name":"Kim"}'
            assert client.get_subjects() == ["own-names-value", "own-people-value"]


def test_rules_that_cannot_be_followed_are_told_at_once(registry: Registry, tmp_path: Path) -> None:
    newer = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$dynamicRef": "#x"}
    schema = {**newer, "type": "object", "properties": {"a": {"type": "string"}}}
    (tmp_path / "dynamic.json").write_text(json.dumps(schema))
    app = App("json-unjudged", registry=registry.url)
    with pytest.raises(DefinitionError, match=r"\$dynamicRef cannot be followed"):
        app.stream("any", value=json_schema(schema=str(tmp_path / "dynamic.json"), validate=True))
