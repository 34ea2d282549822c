"""ProtobufConverter: messages whose schemas are in a registry, as Confluent's converter has them.

`protobuf_files` and `protobuf_values` go one way, `protobuf_types` and `protobuf_values` the other.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ottla.client.protobuf_files import (
    RECORD,
    described,
    file_in_pool,
    frame_indexes,
    indexes_of,
    known_file,
    message_at,
    read_indexes,
)
from ottla.client.schema_registry import Stored
from ottla.connect.converters.converter import TYPE, SchemaAndValue
from ottla.connect.converters.protobuf_files import protobuf_file, wrapper_of
from ottla.connect.converters.protobuf_options import KEYS as PROTOBUF_KEYS
from ottla.connect.converters.protobuf_options import WRAPPERS_FILE, ProtobufOptions
from ottla.connect.converters.protobuf_text import protobuf_text
from ottla.connect.converters.protobuf_types import ConnectSchemas
from ottla.connect.converters.protobuf_values import ProtobufReading, ProtobufWriting
from ottla.connect.converters.registered import (
    ID_END,
    Registration,
    framed,
    refusals,
    registered_schemas,
    schema_id,
    told_of,
)
from ottla.connect.converters.registered_keys import KEYS, refused
from ottla.connect.data import DataError, Schema, Type

KIND = "PROTOBUF"
_REMEMBERED = 1024


class _Known(NamedTuple):
    schema: Schema  # kept, so that its identity stays its own
    text: str
    name: str
    message: Any  # its class
    indexes: bytes


class ProtobufConverter:
    DEFINITIONS = TYPE | KEYS | PROTOBUF_KEYS | refused("generalized.sum.type.support")

    def __init__(self, settings: Mapping[str, str]) -> None:
        values = self.DEFINITIONS.parse(settings)
        self._is_key = values["converter.type"] == "key"
        self._schemas = registered_schemas(values)
        self._how = Registration.of(values, is_key=self._is_key)
        self._options = ProtobufOptions.of(values)
        self._writing = ProtobufWriting(self._options)
        self._reading = ProtobufReading(self._options)
        self._known: dict[int, _Known] = {}  # by the identity of Connect's schema
        self._files: dict[int, Any] = {}  # by the registry's id
        self._read: dict[tuple[str, int, tuple[int, ...]], tuple[Schema, Any]] = {}

    # --- writing

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        with told_of(f"Failed to serialize Protobuf data from topic {topic}:"):
            if schema is None:
                raise DataError("a value without a schema has no message")
            known = self._known.get(id(schema)) or self._learnt(schema)
            subject = self._how.subject(topic, known.name, is_key=self._is_key)
            told = self._schemas.told(subject, self._how)
            if told is not None:
                return self._written_as(told, known, value)
            message = known.message()
            self._writing.fill(message, schema, value)
            body = {"schema": known.text, "schemaType": KIND}
            id_ = self._schemas.id_of(subject, body, self._how)
            return framed(id_, known.indexes + message.SerializeToString())

    def _learnt(self, schema: Schema) -> _Known:
        if schema.type is Type.STRUCT:
            file = protobuf_file(schema, self._options)
            name = file.message_type[0].name
        else:
            file, name = known_file(WRAPPERS_FILE), wrapper_of(schema)
        try:
            descriptor = file_in_pool(file, RECORD).message_types_by_name[name]
        except TypeError as error:
            raise DataError(f"Invalid protobuf schema definition: {error}") from None
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        indexes = frame_indexes(indexes_of(descriptor))
        made = _Known(
            schema, protobuf_text(file), descriptor.full_name, _class(descriptor), indexes
        )
        self._known[id(schema)] = made
        return made

    def _written_as(self, told: Stored, known: _Known, value: Any) -> bytes:
        """With the message of that name in a schema that was told, field by field."""
        file = self._file(told.id)
        wanted = known.name.rpartition(".")[2]
        descriptor = file.message_types_by_name.get(wanted)
        if descriptor is None:
            raise DataError(f"The registered schema has no message {wanted}")
        message = _class(descriptor)()
        try:
            self._writing.fill(message, known.schema, value)
        except (TypeError, ValueError, AttributeError) as error:
            raise DataError(f"The record does not fit the registered schema: {error}") from None
        return framed(told.id, frame_indexes(indexes_of(descriptor)) + message.SerializeToString())

    # --- reading

    def to_connect(self, topic: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return None, None
        with told_of(f"Failed to deserialize data for topic {topic} to Protobuf:"):
            id_ = schema_id(data)
            try:
                indexes, body = read_indexes(data[ID_END:])
            except IndexError:
                raise DataError("the record ends before its message does") from None
            found = self._read.get((topic, id_, tuple(indexes)))
            schema, kind = found or self._schema(topic, id_, indexes)
            message = kind()
            try:
                message.ParseFromString(body)
            except Exception as error:  # DecodeError, of Google's library
                raise DataError(f"it is no {kind.DESCRIPTOR.full_name}: {error}") from None
            return schema, self._reading.value(schema, message)

    def _schema(self, topic: str, id_: int, indexes: list[int]) -> tuple[Schema, Any]:
        try:
            descriptor = message_at(self._file(id_), indexes)
        except IndexError:
            raise DataError(f"Schema {id_} has no message at {indexes}") from None
        subject = self._how.subject(topic, descriptor.full_name, is_key=self._is_key)
        version = self._schemas.version(subject, id_)
        schema = ConnectSchemas(self._options).of_record(descriptor, version)
        made = self._read[topic, id_, tuple(indexes)] = (schema, _class(descriptor))
        return made

    def _file(self, id_: int) -> Any:
        if id_ not in self._files:
            held, _ = self._schemas.by_id(id_)
            if held.kind != KIND:
                raise DataError(f"Schema {id_} is {held.kind}, not Protobuf")
            with refusals():
                path = f"/schemas/ids/{id_}"
                self._files[id_] = described(self._schemas.registry, path, held.references)
        return self._files[id_]


def _class(descriptor: Any) -> Any:
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(descriptor)
