"""Records that bear the id of a schema, as JSON for people, and JSON as such records.

The libraries of the three types are asked for when the first record of the type comes.
"""

import datetime
import json
import struct
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from io import BytesIO
from typing import Any
from uuid import UUID

from ottla.cli.avro_json import AvroValues
from ottla.client.protobuf_files import (
    NoSuchMessage,
    described,
    frame_indexes,
    indexes_of,
    message_at,
    message_of,
    read_indexes,
    version_path,
)
from ottla.client.schema_registry import AVRO, RegistryRefusal, SchemaRegistry, Stored, stored
from ottla.errors import OttlaError

JSON, PROTOBUF = "JSON", "PROTOBUF"
ID_HEADERS = {"key": "__key_schema_id", "value": "__value_schema_id"}
Decode = Callable[[bytes], Any]


class Frames:
    """Reads what any serializer of the registry wrote; each schema is fetched once."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self._decoders: dict[str, Decode] = {}

    def decode(self, data: bytes, header: bytes | None = None) -> Any:
        """As JSON has it; OttlaError for what bears no id, or does not fit its schema."""
        place, body = _split(data, header)
        if place not in self._decoders:
            self._decoders[place] = self._decoder(place, self._schema(place))
        try:
            return self._decoders[place](body)
        except OttlaError:
            raise
        except Exception as error:  # each library has its own, for bytes that do not fit
            raise OttlaError(f"The bytes do not fit the schema {place}: {error!r}.") from None

    def _schema(self, place: str) -> Stored:
        try:
            return stored(self._registry.ask("GET", f"/schemas/{place}"))
        except RegistryRefusal as refusal:
            raise OttlaError(f"The record bears an id that leads nowhere: {refusal}.") from None

    def _decoder(self, place: str, schema: Stored) -> Decode:
        if schema.kind == AVRO:
            return _avro_decoder(schema, self._registry.texts(schema.references))
        if schema.kind == JSON:
            return json.loads
        return _protobuf_decoder(f"/schemas/{place}", schema, self._registry)


def _split(data: bytes, header: bytes | None) -> tuple[str, bytes]:
    """Where the schema stands, and what comes after the id. Where a header bears it, the place of a
    message stands in the header as well."""
    frame = data if header is None else header
    if len(frame) >= 5 and frame[0] == 0:
        place, rest = f"ids/{int.from_bytes(frame[1:5], 'big', signed=True)}", frame[5:]
    elif len(frame) >= 17 and frame[0] == 1:
        place, rest = f"guids/{UUID(bytes=frame[1:17])}", frame[17:]
    else:
        raise OttlaError("The record bears no id of a schema.")
    return place, rest if header is None else rest + data


# --- Avro


def _fastavro() -> Any:
    try:
        import fastavro
    except ModuleNotFoundError:
        raise OttlaError("Avro needs fastavro: pip install 'ottla[registry]'.") from None
    return fastavro


def _avro_schema(text: str, references: Mapping[str, str]) -> tuple[Any, dict[str, Any]]:
    """Parsed, and the types that it names."""
    fastavro = _fastavro()
    names: dict[str, Any] = {}
    for one in references.values():
        fastavro.parse_schema(json.loads(one), named_schemas=names)
    return fastavro.parse_schema(json.loads(text), named_schemas=names), names


def _avro_decoder(schema: Stored, references: Mapping[str, str]) -> Decode:
    (parsed, _), fastavro = _avro_schema(schema.text, references), _fastavro()
    return lambda body: fastavro.schemaless_reader(BytesIO(body), parsed, None)


def shown(value: Any) -> Any:
    """What JSON has no word for, as text."""
    match value:
        case bytes():
            return value.decode("latin-1")  # as Avro's own JSON writes bytes
        case Decimal() | UUID():
            return str(value)
        case datetime.date() | datetime.time():
            return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no place in JSON")


# --- Protobuf


def _protobuf_decoder(path: str, schema: Stored, registry: SchemaRegistry) -> Decode:
    file = described(registry, path, schema.references)
    from google.protobuf import json_format, message_factory

    def decode(body: bytes) -> Any:
        indexes, rest = read_indexes(body)
        message = message_factory.GetMessageClass(message_at(file, indexes))()
        message.ParseFromString(rest)
        return json_format.MessageToDict(message, preserving_proto_field_name=True)

    return decode


# --- writing


def encoder(registry: SchemaRegistry, subject: str, kind: str) -> Callable[[bytes], bytes]:
    """JSON in the subject's latest schema, behind its id."""
    schema = registry.version(subject)
    if schema.kind != kind:
        raise OttlaError(f"The schema of {subject} is {schema.kind}, not {kind}.")
    head = struct.pack(">bi", 0, schema.id)
    if kind == JSON:
        check = _json_checker(schema)
        return lambda line: head + check(line)
    parsed, names = _avro_schema(schema.text, registry.texts(schema.references))
    fastavro = _fastavro()

    def fits(value: Any, one: Any) -> bool:
        named = names.get(one, one) if isinstance(one, str) else one
        return bool(fastavro.validate(value, named, raise_errors=False))

    typed = AvroValues(names, fits)

    def encode(line: bytes) -> bytes:
        body = BytesIO()
        body.write(head)
        try:
            fastavro.schemaless_writer(body, parsed, typed.of(_loaded(line), parsed))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise OttlaError(f"It does not fit the schema of {subject}: {error}.") from None
        return body.getvalue()

    return encode


def protobuf_encoder(
    registry: SchemaRegistry, subject: str, message: str | None
) -> Callable[[bytes], bytes]:
    """JSON as a message of the subject's latest schema, the first unless it is named."""
    schema = registry.version(subject)
    if schema.kind != PROTOBUF:
        raise OttlaError(f"The schema of {subject} is {schema.kind}, not {PROTOBUF}.")
    path = version_path(subject, schema.version)
    file = described(registry, path, schema.references)
    from google.protobuf import json_format, message_factory

    try:
        found = message_of(file, message)
    except NoSuchMessage as error:
        raise OttlaError(f"The schema of {subject}: {error}.") from None
    kind = message_factory.GetMessageClass(found)
    head = struct.pack(">bi", 0, schema.id) + frame_indexes(indexes_of(found))

    def encode(line: bytes) -> bytes:
        try:
            made = json_format.ParseDict(_loaded(line), kind(), descriptor_pool=file.pool)
        except json_format.ParseError as error:
            raise OttlaError(f"It does not fit the schema of {subject}: {error}.") from None
        return head + bytes(made.SerializeToString())

    return encode


def _loaded(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise OttlaError(f"It is not JSON: {error}.") from None


def _json_checker(schema: Stored) -> Callable[[bytes], bytes]:
    try:
        import jsonschema_rs
    except ModuleNotFoundError:
        raise OttlaError(
            "JSON Schema needs jsonschema-rs: pip install 'ottla[registry]'."
        ) from None
    validator = jsonschema_rs.validator_for(json.loads(schema.text))

    def check(line: bytes) -> bytes:
        found: Iterable[Any] = validator.iter_errors(_loaded(line))
        for error in found:
            raise OttlaError(f"It does not fit the schema of {schema.subject}: {error.message}.")
        return line

    return check
