"""AvroConverter: Avro records whose schemas are in a registry, as Confluent's converter has them.

`avro_schemas` and `avro_writing` go one way, `avro_connect_schemas` and `avro_reading` the other.
"""

import io
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ottla.connect.converters.avro_connect_schemas import connect_schema
from ottla.connect.converters.avro_options import KEYS as AVRO_KEYS
from ottla.connect.converters.avro_options import AvroOptions
from ottla.connect.converters.avro_reading import avro_reader
from ottla.connect.converters.avro_schemas import avro_schema, record_name
from ottla.connect.converters.avro_types import parse_avro
from ottla.connect.converters.avro_writing import AvroWriting
from ottla.connect.converters.converter import TYPE, SchemaAndValue
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

_REMEMBERED = 1024


class _Known(NamedTuple):
    schema: Schema | None  # kept, so that its identity stays its own
    text: str
    name: str
    avro: Any


class _Reader(NamedTuple):
    schema: Schema | None
    read: Callable[[bytes, int], Any]


class AvroConverter:
    DEFINITIONS = (
        TYPE
        | KEYS
        | AVRO_KEYS
        | refused("generalized.sum.type.support", "discard.type.doc.default")
    )

    def __init__(self, settings: Mapping[str, str]) -> None:
        values = self.DEFINITIONS.parse(settings)
        self._is_key = values["converter.type"] == "key"
        self._schemas = registered_schemas(values)
        self._how = Registration.of(values, is_key=self._is_key)
        self._options = AvroOptions.of(values)
        self._writing = AvroWriting(self._options)
        self._known: dict[int, _Known] = {}  # by the identity of Connect's schema
        self._readers: dict[tuple[str, int], _Reader] = {}

    # --- writing

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            if schema is not None and not schema.optional:
                raise DataError("Found null value for non-optional schema")
            return None
        with told_of(f"Failed to serialize Avro data from topic {topic}:"):
            known = self._known.get(id(schema)) or self._learnt(schema)
            data = self._writing.data(schema, value)
            subject = self._how.subject(topic, known.name, is_key=self._is_key)
            told = self._schemas.told(subject, self._how)
            if told is not None:
                _, others = self._schemas.by_id(told.id)
                return framed(told.id, _resolved(known.avro, told.text, others, data))
            return framed(self._schemas.id_of(subject, {"schema": known.text}, self._how), data)

    def _learnt(self, schema: Schema | None) -> _Known:
        avro = avro_schema(schema, self._options)
        text = json.dumps(avro, separators=(",", ":"), ensure_ascii=False)
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        made = self._known[id(schema)] = _Known(schema, text, record_name(avro), avro)
        return made

    # --- reading

    def to_connect(self, topic: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return None, None
        with told_of(f"Failed to deserialize data for topic {topic} to Avro:"):
            id = schema_id(data)
            known = self._readers.get((topic, id)) or self._reader(topic, id)
            return known.schema, known.read(data, ID_END)

    def _reader(self, topic: str, id: int) -> _Reader:
        held, others = self._schemas.by_id(id)
        if held.kind != "AVRO":
            raise DataError(f"Schema {id} is {held.kind}, not Avro")
        avro = parse_avro(held.text, others.values())
        name = avro.name or avro.kind
        subject = self._how.subject(topic, name, is_key=self._is_key)
        schema = connect_schema(avro, self._options, self._schemas.version(subject, id))
        made = self._readers[topic, id] = _Reader(schema, avro_reader(avro, schema))
        return made


def _resolved(written: Any, latest: str, others: Mapping[str, str], data: bytes) -> bytes:
    """Bytes of one schema as those of another, by Avro's rules; DataError where it cannot be."""
    import fastavro

    names: dict[str, Any] = {}
    try:
        for one in others.values():
            fastavro.parse_schema(json.loads(one), named_schemas=names)
        reader = fastavro.parse_schema(json.loads(latest), named_schemas=names)
        writer = fastavro.parse_schema(written)
        value = fastavro.schemaless_reader(io.BytesIO(data), writer, reader)
        out = io.BytesIO()
        fastavro.schemaless_writer(out, reader, value)
    except Exception as error:  # fastavro's own kinds, and Python's
        raise DataError(f"The record does not fit the registered schema: {error}") from None
    return out.getvalue()
