"""JsonSchemaConverter: JSON whose schemas are in a registry, as Confluent's converter has it.

`jsonschema_writing` goes one way, `jsonschema_types` and `jsonschema_reading` the other.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from ottla.client.schema_registry import Stored
from ottla.connect.converters.converter import TYPE, SchemaAndValue
from ottla.connect.converters.json_nodes import MISSING, NotJson, read_tree
from ottla.connect.converters.jsonschema_options import KEYS as JSON_KEYS
from ottla.connect.converters.jsonschema_options import JsonSchemaOptions
from ottla.connect.converters.jsonschema_reading import read_value
from ottla.connect.converters.jsonschema_types import ConnectSchemas
from ottla.connect.converters.jsonschema_writing import JsonSchemas, JsonSchemaValues, encoded
from ottla.connect.converters.registered import (
    ID_END,
    Registration,
    framed,
    registered_schemas,
    schema_id,
    told_of,
)
from ottla.connect.converters.registered_keys import KEYS, refused
from ottla.connect.data import DataError, Schema

KIND = "JSON"
_REMEMBERED = 1024


class JsonSchemaConverter:
    DEFINITIONS = (
        TYPE
        | KEYS
        | JSON_KEYS
        | refused(
            "generalized.sum.type.support",
            "ignore.modern.dialects",
            "preserve.additional.properties",
        )
    )

    def __init__(self, settings: Mapping[str, str]) -> None:
        values = self.DEFINITIONS.parse(settings)
        self._is_key = values["converter.type"] == "key"
        self._schemas = registered_schemas(values)
        self._how = Registration.of(values, is_key=self._is_key)
        self._options = JsonSchemaOptions.of(values)
        self._values = JsonSchemaValues(self._options)
        self._texts = JsonSchemas(self._options, self._values)
        self._known: dict[int, tuple[Schema, str]] = {}  # by the identity of Connect's schema
        self._checks: dict[int, Callable[[Any], None]] = {}
        self._read: dict[tuple[str, int], Schema] = {}

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None and (schema is None or schema.default is None):
            return None
        where = f"Converting Kafka Connect data to byte[] failed for topic {topic}:"
        with told_of(where):
            if schema is None:
                raise DataError("a value without a schema has no JSON Schema")
            body = encoded(self._values.node(schema, value))
            subject = self._how.subject(topic, schema.name, is_key=self._is_key)
            told = self._schemas.told(subject, self._how)
            if told is None:
                return framed(self._id(subject, schema), body)
            self._check(told, body)
            return framed(told.id, body)

    def _id(self, subject: str, schema: Schema) -> int:
        known = self._known.get(id(schema))
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            text = encoded(self._texts.node(schema)).decode()
            known = self._known[id(schema)] = (schema, text)
        return self._schemas.id_of(subject, {"schema": known[1], "schemaType": KIND}, self._how)

    def _check(self, told: Stored, body: bytes) -> None:
        """What is written with a schema that was told has to be valid under it."""
        check = self._checks.get(told.id)
        if check is None:
            _, others = self._schemas.by_id(told.id)
            check = self._checks[told.id] = _validator(told.text, others)
        check(json.loads(body))

    def to_connect(self, topic: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return None, None
        with told_of(f"Converting byte[] to Kafka Connect data failed for topic {topic}:"):
            id = schema_id(data)
            schema = self._read.get((topic, id)) or self._schema(topic, id)
            try:
                node = read_tree(data[ID_END:], exact=True)
            except NotJson as error:
                raise DataError(f"it is no JSON: {error}") from None
            if node is MISSING:
                raise DataError("it is no JSON: there is nothing")
            return (None, None) if node is None else (schema, read_value(schema, node))

    def _schema(self, topic: str, id: int) -> Schema:
        held, others = self._schemas.by_id(id)
        if held.kind != KIND:
            raise DataError(f"Schema {id} is {held.kind}, not JSON Schema")
        document = json.loads(held.text)
        title = document.get("title") if isinstance(document, dict) else None
        subject = self._how.subject(topic, title, is_key=self._is_key)
        version = self._schemas.version(subject, id)
        made = ConnectSchemas(self._options, document, others, read_value).schema(version)
        self._read[topic, id] = made
        return made


def _validator(text: str, others: Mapping[str, str]) -> Callable[[Any], None]:
    try:
        import jsonschema_rs
    except ModuleNotFoundError:
        raise DataError(
            "use.latest.version and use.schema.id need jsonschema-rs: pip install 'ottla[registry]'"
        ) from None
    named = {name.rpartition("/")[2]: json.loads(one) for name, one in others.items()}
    validator = jsonschema_rs.validator_for(
        json.loads(text), retriever=lambda uri: named[uri.rpartition("/")[2]]
    )

    def check(value: Any) -> None:
        try:
            validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            raise DataError(
                f"The record does not fit the registered schema: {error.message}"
            ) from None

    return check
