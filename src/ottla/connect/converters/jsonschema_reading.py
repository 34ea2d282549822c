"""JSON as values of schemas that JSON Schema gave, as Confluent's converter reads it. Pure."""

import base64
import binascii
import decimal
from collections.abc import Callable
from typing import Any

from ottla.connect.converters.jsonschema_options import ONE_OF
from ottla.connect.data import (
    DATE,
    DECIMAL,
    INTEGER_BITS,
    TIME,
    TIMESTAMP,
    DataError,
    Schema,
    Struct,
    Type,
)
from ottla.connect.java_text import single
from ottla.connect.logical import date_of, decimal_of, time_of, timestamp_of

_DATES: dict[str, tuple[str, Callable[[int], Any]]] = {
    DATE: ("Date", date_of),
    TIME: ("Time", time_of),
    TIMESTAMP: ("Timestamp", timestamp_of),
}


def read_value(schema: Schema, node: Any) -> Any:
    """`node` as `msgspec` decodes it, fractions as decimals. None: absent, or null."""
    if node is None:
        if schema.default is not None or schema.optional:
            return schema.default
        raise DataError(f"Invalid null value for required {schema.type.name} field")
    if schema.name in _DATES:
        shown, make = _DATES[schema.name]
        if not _is_integer(node):
            raise DataError(
                f"Invalid type for {shown}, underlying representation should be integer but was "
                f"{_kind(node)}"
            )
        return make(node)
    if schema.name == DECIMAL:
        return _decimal(schema, node)
    match schema.type:
        case Type.STRING:
            return node if isinstance(node, str) else None
        case Type.BOOLEAN:
            return node is True
        case Type.BYTES:
            return _bytes(node)
        case Type.FLOAT32:
            return single(float(node)) if _is_number(node) else 0.0
        case Type.FLOAT64:
            return float(node) if _is_number(node) else 0.0
        case Type.ARRAY:
            return [read_value(_known(schema.value_schema), one) for one in _of(node, list)]
        case Type.MAP:
            return _map(schema, node)
        case Type.STRUCT:
            return _union(schema, node) if schema.name == ONE_OF else _struct(schema, node)
    return _wrapped(int(node), INTEGER_BITS[schema.type]) if _is_number(node) else 0


def _struct(schema: Schema, node: Any) -> Struct:
    if not isinstance(node, dict):
        raise DataError(f"Structs should be encoded as JSON objects, but found {_kind(node)}")
    held = {}
    for one in schema.fields:
        there = one.name in node
        value = read_value(one.schema, node[one.name]) if there else one.schema.default
        if value is not None:
            held[one.name] = value
    return Struct(schema, held)


def _union(schema: Schema, node: Any) -> Struct:
    """The first simple type that fits, else the struct that has most of the properties."""
    best, most = None, 0
    for one in schema.fields:
        if _fits(one.schema, node):
            return Struct(schema, {one.name: read_value(one.schema, node)})
        matching = _matching(one.schema, node)
        if matching > most:
            best, most = one, matching
    if best is None:
        raise DataError("Did not find matching oneof field for data")
    return Struct(schema, {best.name: read_value(best.schema, node)})


def _fits(schema: Schema, node: Any) -> bool:
    match schema.type:
        case Type.BOOLEAN:
            return isinstance(node, bool)
        case Type.STRING:
            return isinstance(node, str)
        case Type.BYTES:
            return isinstance(node, decimal.Decimal)
        case Type.FLOAT32 | Type.FLOAT64:
            return _is_number(node)
        case Type.ARRAY:
            return isinstance(node, list)
        case Type.MAP:
            return isinstance(node, dict | list)
        case Type.STRUCT:
            return False
    return _is_integer(node)


def _matching(schema: Schema, node: Any) -> int:
    if schema.type is not Type.STRUCT or not isinstance(node, dict):
        return 0
    common = [one for one in schema.fields if one.name in node]
    return len(common) + sum(_matching(one.schema, node[one.name]) for one in common)


def _map(schema: Schema, node: Any) -> dict[Any, Any]:
    keys, values = _known(schema.key_schema), _known(schema.value_schema)
    if keys.type is Type.STRING and not keys.optional:
        if not isinstance(node, dict):
            raise DataError(
                "Maps with string fields should be encoded as JSON objects, but found "
                f"{_kind(node)}"
            )
        return {name: read_value(values, one) for name, one in node.items()}
    if not isinstance(node, list):
        raise DataError(
            "Maps with non-string fields should be encoded as JSON array of objects, but found "
            f"{_kind(node)}"
        )
    made = {}
    for entry in node:
        if not isinstance(entry, dict):
            raise DataError(f"Found invalid map entry instead of object: {_kind(entry)}")
        if len(entry) != 2:
            raise DataError(f"Found invalid map entry, expected length 2 but found :{len(entry)}")
        made[read_value(keys, entry.get("key"))] = read_value(values, entry.get("value"))
    return made


def _decimal(schema: Schema, node: Any) -> decimal.Decimal:
    if _is_number(node):
        return decimal.Decimal(node)
    if isinstance(node, str):
        return decimal_of(schema, _bytes(node))
    raise DataError(
        "Invalid type for Decimal, underlying representation should be numeric or bytes but was "
        f"{_kind(node)}"
    )


def _bytes(node: Any) -> bytes:
    try:
        return base64.b64decode(_of(node, str), validate=True)
    except binascii.Error:
        raise DataError("Invalid bytes field") from None


def _of(node: Any, kind: type) -> Any:
    if not isinstance(node, kind):
        raise DataError(f"{_kind(node)} is not what the schema says")
    return node


def _wrapped(number: int, bits: int) -> int:
    """As Java narrows."""
    half = 1 << (bits - 1)
    return (number + half) % (1 << bits) - half


def _is_integer(node: Any) -> bool:
    return isinstance(node, int) and not isinstance(node, bool)


def _is_number(node: Any) -> bool:
    return _is_integer(node) or isinstance(node, float | decimal.Decimal)


def _kind(node: Any) -> str:
    match node:
        case None:
            return "NULL"
        case bool():
            return "BOOLEAN"
        case str():
            return "STRING"
        case list():
            return "ARRAY"
        case dict():
            return "OBJECT"
    return "NUMBER"


def _known(schema: Schema | None) -> Schema:
    if schema is None:
        raise DataError("A schema within another cannot be null.")
    return schema
