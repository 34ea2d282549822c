"""Values out of JSON: what a schema makes of a node, and what a node is without one."""

import base64
import binascii
import decimal
from collections.abc import Callable
from typing import Any

from ottla.connect.data import (
    DATE,
    DECIMAL,
    TIME,
    TIMESTAMP,
    DataError,
    Schema,
    Struct,
    Type,
    check_value,
)
from ottla.connect.java_text import single
from ottla.connect.logical import date_of, decimal_of, time_of, timestamp_of


def node_type(node: Any) -> str:
    """As Jackson names kinds of nodes."""
    match node:
        case None:
            return "NULL"
        case bool():
            return "BOOLEAN"
        case int() | float() | decimal.Decimal():
            return "NUMBER"
        case str():
            return "STRING"
        case list():
            return "ARRAY"
        case dict():
            return "OBJECT"
    return "MISSING"


def wrapped(number: Any, bits: int) -> int:
    """The low bits, with their sign, as Java narrows numbers."""
    whole = int(number) & ((1 << bits) - 1)
    return whole - (1 << bits) if whole >> (bits - 1) else whole


def _is_number(node: Any) -> bool:
    return isinstance(node, (int, float, decimal.Decimal)) and not isinstance(node, bool)


def _integer(bits: int) -> Callable[[Any], int]:
    def read(node: Any) -> int:
        if not _is_number(node):
            return 0
        if bits == 64:
            return wrapped(node, 64)
        return wrapped(wrapped(node, 32), bits)

    return read


def _bytes(node: Any) -> bytes | None:
    if not isinstance(node, str):
        return None
    try:
        return base64_bytes(node)
    except ValueError:
        raise DataError("Invalid bytes field") from None


def base64_bytes(said: str) -> bytes:
    try:
        return base64.b64decode(said, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


_PLAIN: dict[Type, Callable[[Any], Any]] = {
    Type.BOOLEAN: lambda node: node is True,
    Type.INT8: _integer(8),
    Type.INT16: _integer(16),
    Type.INT32: _integer(32),
    Type.INT64: _integer(64),
    Type.FLOAT32: lambda node: single(float(node)) if _is_number(node) else 0.0,
    Type.FLOAT64: lambda node: float(node) if _is_number(node) else 0.0,
    Type.BYTES: _bytes,
    Type.STRING: lambda node: node if isinstance(node, str) else None,
}


def _decimal(schema: Schema, node: Any) -> decimal.Decimal:
    if _is_number(node):
        return decimal.Decimal(node)
    if isinstance(node, str):
        try:
            return decimal_of(schema, base64_bytes(node))
        except (ValueError, DataError):
            raise DataError("Invalid bytes for Decimal field") from None
    raise DataError(
        "Invalid type for Decimal, underlying representation should be numeric or bytes but was "
        f"{node_type(node)}"
    )


def _int32(name: str, node: Any) -> int:
    if type(node) is not int or not -(1 << 31) <= node < 1 << 31:
        raise DataError(
            f"Invalid type for {name}, underlying representation should be integer but was "
            f"{node_type(node)}"
        )
    return node


def _timestamp(schema: Schema, node: Any) -> Any:
    if type(node) is not int:
        raise DataError(
            "Invalid type for Timestamp, underlying representation should be integral but was "
            f"{node_type(node)}"
        )
    return timestamp_of(wrapped(node, 64))


_LOGICAL: dict[str, Callable[[Schema, Any], Any]] = {
    DECIMAL: _decimal,
    DATE: lambda schema, node: date_of(_int32("Date", node)),
    TIME: lambda schema, node: time_of(_int32("Time", node)),
    TIMESTAMP: _timestamp,
}


_HOLDERS = (Type.ARRAY, Type.MAP)


class Reading:
    def __init__(self, replace_null_with_default: bool) -> None:
        self._defaults = replace_null_with_default

    def schemaless(self, node: Any) -> Any:
        match node:
            case bool() | str() | float() | None:
                return node
            case int():
                return node if -(1 << 63) <= node < 1 << 63 else wrapped(node, 64)
            case decimal.Decimal():
                return float(node)
            case list():
                return [self.schemaless(one) for one in node]
            case dict():
                return {name: self.schemaless(one) for name, one in node.items()}
        return None

    def value(self, schema: Schema | None, node: Any) -> Any:
        if schema is None:
            return self.schemaless(node)
        if node is None:
            if schema.default is not None and self._defaults:
                return schema.default
            if schema.optional:
                return None
            raise DataError(f"Invalid null value for required {schema.type.name} field")
        if schema.name is not None:
            logical = _LOGICAL.get(schema.name)
            if logical is not None:
                return logical(schema, node)
        plain = _PLAIN.get(schema.type)
        if plain is not None:
            return plain(node)
        match schema.type:
            case Type.ARRAY:
                return [self.value(schema.value_schema, one) for one in _elements(node)]
            case Type.MAP:
                return self._map(schema, node)
        return self._struct(schema, node)

    def _map(self, schema: Schema, node: Any) -> dict[Any, Any]:
        keys, values = schema.key_schema, schema.value_schema
        if keys is not None and keys.type is Type.STRING:
            if not isinstance(node, dict):
                raise DataError(
                    "Maps with string fields should be encoded as JSON objects, but found "
                    f"{node_type(node)}"
                )
            return {name: self.value(values, one) for name, one in node.items()}
        if not isinstance(node, list):
            raise DataError(
                "Maps with non-string fields should be encoded as JSON array of tuples, but found "
                f"{node_type(node)}"
            )
        found: dict[Any, Any] = {}
        for entry in node:
            if not isinstance(entry, list):
                raise DataError(
                    f"Found invalid map entry instead of array tuple: {node_type(entry)}"
                )
            if len(entry) != 2:
                raise DataError(
                    f"Found invalid map entry, expected length 2 but found :{len(entry)}"
                )
            found[self.value(keys, entry[0])] = self.value(values, entry[1])
        return found

    def _struct(self, schema: Schema, node: Any) -> Struct:
        if not isinstance(node, dict):
            raise DataError(
                f"Structs should be encoded as JSON objects, but found {node_type(node)}"
            )
        held: dict[str, Any] = {}
        for one in schema.fields:
            name, within = one.name, one.schema
            held[name] = value = self.value(within, node.get(name))
            # What was read fits, but for a null, which may also be within a list or a map.
            if value is None or within.type in _HOLDERS:
                check_value(within, value, f'field: "{name}"')
        return Struct(schema, held)


def _elements(node: Any) -> list[Any]:
    """What Jackson iterates over: an object's values, and nothing in a plain node."""
    if isinstance(node, dict):
        return list(node.values())
    return node if isinstance(node, list) else []
