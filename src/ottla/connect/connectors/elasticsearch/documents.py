"""What becomes of a record: an id, a version, a document, or nothing; and a mapping. Pure."""

import datetime
import decimal
from dataclasses import dataclass
from typing import Any

import msgspec

from ottla.connect.connectors.elasticsearch.keys import Options
from ottla.connect.converters.json_writing import Writing
from ottla.connect.data import (
    DATE,
    DECIMAL,
    TIME,
    TIMESTAMP,
    DataError,
    Field,
    Record,
    Schema,
    Struct,
    Type,
)
from ottla.connect.java_text import text
from ottla.connect.logical import epoch_ms

_WRITING = Writing(replace_null_with_default=True, numeric_decimals=True)
_FLOAT = Schema(type=Type.FLOAT64, optional=True)
_TEXT = Schema(type=Type.STRING)
_ID_TYPES = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.STRING)


@dataclass(frozen=True, slots=True)
class Document:
    """An item of a bulk request: its action, its lines."""

    record: Record
    action: str  # index, create, update or delete
    index: str
    id: str | None
    version: int | None  # external
    source: Any = None

    def lines(self) -> list[bytes]:
        about: dict[str, Any] = {"_index": self.index}
        if self.id is not None:
            about["_id"] = self.id
        if self.version is not None:
            about |= {"version": self.version, "version_type": "external"}
        if self.action == "update":
            about["retry_on_conflict"] = 5
        first = msgspec.json.encode({self.action: about})
        if self.action == "delete":
            return [first]
        body = self.source
        if self.action == "update":
            body = {"doc": body, "doc_as_upsert": True}
        return [first, _ENCODE(body)]


_ENCODE = msgspec.json.Encoder(decimal_format="number").encode


def document(record: Record, options: Options) -> Document | None:
    """None: there is nothing to be done. DataError: no document can be made."""
    if record.original is None:
        raise DataError("A record without an offset cannot become a document")
    topic, partition, offset = record.original
    index = options.index(record.topic)
    if record.value is None:
        return _without_value(record, options, index)
    source = body(record, options)
    if options.stream_type is not None:
        return Document(record, "create", index, f"{topic}+{partition}+{offset}", None, source)
    if options.ignores_key(record.topic):
        at = f"{topic}+{partition}+{offset}"
        return Document(record, "update" if options.upsert else "index", index, at, None, source)
    if options.upsert:
        return Document(record, "update", index, document_id(record), None, source)
    return Document(record, "index", index, document_id(record), _version(record, options), source)


def _without_value(record: Record, options: Options, index: str) -> Document | None:
    match options.on_null:
        case "ignore":
            return None
        case "fail":
            at = record.original
            raise DataError(
                f"The record at {at} has no value, and behavior.on.null.values is fail."
            )
    if record.key is None or options.ignores_key(record.topic):
        return None
    return Document(record, "delete", index, document_id(record), _version(record, options))


def document_id(record: Record) -> str:
    """The key's text: a number, or a text."""
    if record.key is None:
        raise DataError("Key is used as document id and can not be null.")
    schema = record.key_schema
    plain = isinstance(record.key, (int, str)) and not isinstance(record.key, bool)
    if not plain or (schema is not None and schema.type not in _ID_TYPES):
        shown = type(record.key).__name__ if schema is None else schema.type.name
        raise DataError(f"{shown} is not supported as the document id.")
    return text(record.key)


def _version(record: Record, options: Options) -> int:
    if not options.version_header:
        assert record.original is not None
        return record.original[2]
    for one in record.headers:
        if one.name == options.version_header:
            try:
                return int(one.value)
            except (TypeError, ValueError):
                break
    raise DataError(f"The header {options.version_header} has no number for a version.")


def body(record: Record, options: Options) -> Any:
    node = _node(record.value_schema, record.value, options.compact_maps)
    if not isinstance(node, dict):
        raise DataError("A document is made of a struct or a map, not of a single value.")
    if options.stream_type is not None:
        return _stamped(node, record, options)
    return node


def _stamped(node: dict[str, Any], record: Record, options: Options) -> dict[str, Any]:
    for name in options.timestamp_fields:
        if node.get(name) is not None:
            return node | {"@timestamp": node[name]}
    if "@timestamp" in node:
        return node
    return node | {"@timestamp": record.timestamp or 0}


def _node(schema: Schema | None, value: Any, compact: bool) -> Any:
    """JSON, with decimals as doubles, and maps as objects only where their keys are text."""
    if value is None and schema is not None:
        value = schema.default
    match value:
        case None:
            return None
        case decimal.Decimal():
            return _WRITING.node(_FLOAT, float(value))
        case datetime.datetime() if schema is None:
            return epoch_ms(value)
        case list():
            inner = None if schema is None else schema.value_schema
            return [_node(inner, one, compact) for one in value]
        case dict():
            return _map(schema, value, compact)
        case Struct():
            return {
                one.name: _node(one.schema, value.values.get(one.name), compact)
                for one in value.schema.fields
            }
    return _WRITING.node(schema, value)


def _map(schema: Schema | None, value: dict[Any, Any], compact: bool) -> Any:
    keys = None if schema is None else schema.key_schema
    values = None if schema is None else schema.value_schema
    if keys is None:
        by_text = all(isinstance(key, str) for key in value)
    else:
        by_text = keys.type is Type.STRING
    written = {key: _node(values, one, compact) for key, one in value.items()}
    if by_text and (compact or schema is None):
        return written
    return [{"key": _node(keys, key, compact), "value": one} for key, one in written.items()]


# --- mappings

_TYPES = {
    Type.INT8: "byte",
    Type.INT16: "short",
    Type.INT32: "integer",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
    Type.BYTES: "binary",
}


def mapping(schema: Schema, compact: bool) -> dict[str, Any]:
    """The fields' types, as the first record's schema tells them."""
    if schema.name in (DATE, TIME, TIMESTAMP):
        return {"type": "date"}
    if schema.name == DECIMAL:
        return {"type": "double"}
    match schema.type:
        case Type.STRING:
            return {
                "type": "text",
                "fields": {"keyword": {"type": "keyword", "ignore_above": 256}},
            }
        case Type.STRUCT:
            return {"properties": {one.name: _of_field(one, compact) for one in schema.fields}}
        case Type.ARRAY:
            return mapping(schema.value_schema or _TEXT, compact)
        case Type.MAP:
            keys, values = schema.key_schema or _TEXT, schema.value_schema or _TEXT
            if compact and keys.type is Type.STRING:
                return {"type": "object"}
            parts = {"key": mapping(keys, compact), "value": mapping(values, compact)}
            return {"properties": parts}
    return {"type": _TYPES[schema.type]}


def _of_field(field: Field, compact: bool) -> dict[str, Any]:
    return mapping(field.schema, compact)
