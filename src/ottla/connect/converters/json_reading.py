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
from ottla.connect.logical import EXACT, date_of, decimal_of, scale_of, time_of, timestamp_of


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
    low, end = -(1 << (bits - 1)), 1 << (bits - 1)

    def read(node: Any) -> int:
        if type(node) is int and low <= node < end:
            return node
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


def _double(node: Any) -> float:
    """Java reads a decimal first, which has no zero with a sign."""
    return float(node) if _is_number(node) and node else 0.0


_PLAIN: dict[Type, Callable[[Any], Any]] = {
    Type.BOOLEAN: lambda node: node is True,
    Type.INT8: _integer(8),
    Type.INT16: _integer(16),
    Type.INT32: _integer(32),
    Type.INT64: _integer(64),
    Type.FLOAT32: lambda node: single(_double(node)),
    Type.FLOAT64: _double,
    Type.BYTES: _bytes,
    Type.STRING: lambda node: node if isinstance(node, str) else None,
}


def _decimal(schema: Schema, node: Any) -> decimal.Decimal:
    if _is_number(node):
        return decimal.Decimal(node) if node else decimal.Decimal(node).copy_abs()
    if isinstance(node, str):
        try:
            return decimal_of(schema, base64_bytes(node))
        except (ValueError, DataError):
            raise DataError("Invalid bytes for Decimal field") from None
    raise DataError(
        "Invalid type for Decimal, underlying representation should be numeric or bytes but was "
        f"{node_type(node)}"
    )


def _decimals(schema: Schema) -> Callable[[Any], decimal.Decimal]:
    """`_decimal` with the schema's scale read once."""
    try:
        exponent = -scale_of(schema)
    except (ValueError, DataError):
        return lambda node: _decimal(schema, node)
    from_bytes, made, shifted = int.from_bytes, decimal.Decimal, EXACT.scaleb

    def read(node: Any) -> decimal.Decimal:
        if type(node) is str:
            try:
                data = binascii.a2b_base64(node, strict_mode=True)
            except ValueError:
                raise DataError("Invalid bytes for Decimal field") from None
            if data:
                return shifted(made(from_bytes(data, "big", signed=True)), exponent)
        return _decimal(schema, node)

    return read


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
_AS_THEY_ARE = {Type.STRING: str, Type.BOOLEAN: bool}
_REMEMBERED = 4096  # schemas, those within others among them
Read = Callable[[Any], Any]


class Reading:
    def __init__(self, replace_null_with_default: bool) -> None:
        self._defaults = replace_null_with_default
        self._known: dict[int, tuple[Schema, Read]] = {}  # by identity; the schema keeps its id

    def schemaless(self, node: Any) -> Any:
        match node:
            case bool() | str() | float() | None:
                return node
            case int():
                return node if -(1 << 63) <= node < 1 << 63 else wrapped(node, 64)
            case decimal.Decimal():
                return _double(node)
            case list():
                return [self.schemaless(one) for one in node]
            case dict():
                return {name: self.schemaless(one) for name, one in node.items()}
        return None

    def value(self, schema: Schema | None, node: Any) -> Any:
        return self.reader(schema)(node)

    def reader(self, schema: Schema | None) -> Read:
        """What a schema asks of a node is worked out once."""
        if schema is None:
            return self.schemaless
        known = self._known.get(id(schema))
        if known is not None:
            return known[1]
        made = self._made(schema)
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[id(schema)] = (schema, made)
        return made

    def _made(self, schema: Schema) -> Read:
        within = self._within(schema)

        def read(node: Any) -> Any:
            return self._null(schema) if node is None else within(node)

        return read

    def _null(self, schema: Schema) -> Any:
        if schema.default is not None and self._defaults:
            return schema.default
        if schema.optional:
            return None
        raise DataError(f"Invalid null value for required {schema.type.name} field")

    def _within(self, schema: Schema) -> Read:
        """Of nodes that are not null."""
        if schema.name == DECIMAL:
            return _decimals(schema)
        logical = _LOGICAL.get(schema.name or "")
        if logical is not None:
            return lambda node: logical(schema, node)
        plain = _PLAIN.get(schema.type)
        if plain is not None:
            return plain
        match schema.type:
            case Type.ARRAY:
                element = self.reader(schema.value_schema)
                return lambda node: [element(one) for one in _elements(node)]
            case Type.MAP:
                return lambda node: self._map(schema, node)
        return self._struct(schema)

    def _map(self, schema: Schema, node: Any) -> dict[Any, Any]:
        keys, values = schema.key_schema, self.reader(schema.value_schema)
        if keys is not None and keys.type is Type.STRING:
            if not isinstance(node, dict):
                raise DataError(
                    "Maps with string fields should be encoded as JSON objects, but found "
                    f"{node_type(node)}"
                )
            return {name: values(one) for name, one in node.items()}
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
            key = self.value(keys, entry[0])
            found[key] = values(entry[1])
        return found

    def _struct(self, schema: Schema) -> Read:
        fields = tuple(
            (one.name, _as_it_is(one.schema), self.reader(one.schema), one.schema)
            for one in schema.fields
        )

        def read(node: Any) -> Struct:
            if not isinstance(node, dict):
                raise DataError(
                    f"Structs should be encoded as JSON objects, but found {node_type(node)}"
                )
            get = node.get
            held: dict[str, Any] = {}
            for name, plain, within, asked in fields:
                found = get(name)
                if type(found) is plain:
                    held[name] = found
                    continue
                held[name] = value = within(found)
                # What was read fits, but for a null, which may also be within a list or a map.
                if value is None or asked.type in _HOLDERS:
                    check_value(asked, value, f'field: "{name}"')
            return Struct(schema, held)

        return read


def _as_it_is(schema: Schema) -> type | None:
    """Nodes of this class are the value."""
    return None if is_logical(schema) else _AS_THEY_ARE.get(schema.type)


def is_logical(schema: Schema) -> bool:
    return schema.name in _LOGICAL


def _elements(node: Any) -> list[Any]:
    """What Jackson iterates over: an object's values, and nothing in a plain node."""
    if isinstance(node, dict):
        return list(node.values())
    return node if isinstance(node, list) else []
