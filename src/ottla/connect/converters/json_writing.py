"""Values into JSON: the tree that is then encoded, with numbers as Java writes them.

What a schema asks of its values is worked out once and remembered as a function; so sources that
give their records the same schema objects are quick, and others are merely right.
"""

import binascii
from collections.abc import Callable
from types import NoneType
from typing import Any

import msgspec

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
    fits,
    java_class,
    schemaless_type,
    value_class,
)
from ottla.connect.java_text import float32_text, float_text
from ottla.connect.logical import days, decimal_bytes, epoch_ms, scale_of, time_ms, unscaled_bytes

Write = Callable[[Any], Any]

_REMEMBERED = 4096  # schemas, those within others among them


class Writing:
    def __init__(self, replace_null_with_default: bool, numeric_decimals: bool) -> None:
        self._defaults = replace_null_with_default
        self.numeric = numeric_decimals
        self._known: dict[int, tuple[Schema, Write]] = {}  # by identity; the schema keeps its id

    def node(self, schema: Schema | None, value: Any) -> Any:
        return self.writer(schema)(value)

    def writer(self, schema: Schema | None) -> Write:
        if schema is None:
            return self._schemaless
        known = self._known.get(id(schema))
        if known is not None:
            return known[1]
        made = self._made(schema)
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[id(schema)] = (schema, made)
        return made

    def _made(self, schema: Schema) -> Write:
        if schema.name in _LOGICAL:
            return self._checked(schema, self._logical(schema))
        bits = INTEGER_BITS.get(schema.type)
        if bits is not None:
            return _integer(bits, self._checked(schema, _as_it_is))
        match schema.type:
            case Type.FLOAT32:
                return self._checked(schema, _single)
            case Type.FLOAT64:
                return self._checked(schema, _double)
            case Type.BYTES:
                return self._checked(schema, _base64)
            case Type.ARRAY:
                return self._checked(schema, self._array(schema))
            case Type.MAP:
                return self._checked(schema, self._map(schema))
            case Type.STRUCT:
                return self._checked(schema, self._struct(schema))
        return self._checked(schema, _as_it_is)

    def _checked(self, schema: Schema, write: Write) -> Write:
        kind = value_class(schema)

        def checked(value: Any) -> Any:
            if type(value) is kind:
                return write(value)
            if value is None:
                return self._null(schema, write)
            if not fits(schema, value):
                raise _wrong(schema, value)
            return write(value)

        return checked

    def _null(self, schema: Schema, write: Write) -> Any:
        if schema.default is not None and self._defaults:
            if not fits(schema, schema.default):
                raise _wrong(schema, schema.default)
            return write(schema.default)
        if schema.optional:
            return None
        raise DataError(
            "Conversion error: null value for field that is required and has no default value"
        )

    def _passing(self, schema: Schema) -> tuple[type, ...]:
        """Classes of which every value is written as it is."""
        null = schema.optional and not (schema.default is not None and self._defaults)
        kind = value_class(schema)
        plain = (kind,) if kind is str or kind is bool else ()
        return (*plain, NoneType) if null else plain

    def _struct(self, schema: Schema) -> Write:
        fields = tuple(
            (one.name, self._passing(one.schema), self.writer(one.schema)) for one in schema.fields
        )

        def write(value: Struct) -> dict[str, Any]:
            if value.schema is not schema and value.schema != schema:
                raise DataError("Mismatching schema.")
            get = value.values.get
            made = {}
            for name, passing, within in fields:
                held = get(name)
                made[name] = held if type(held) in passing else within(held)
            return made

        return write

    def _array(self, schema: Schema) -> Write:
        within = self.writer(schema.value_schema)
        return lambda value: [within(one) for one in value]

    def _map(self, schema: Schema) -> Write:
        keys, values = self.writer(schema.key_schema), self.writer(schema.value_schema)
        if schema.key_schema is None or schema.key_schema.type is not Type.STRING:
            return lambda value: [[keys(key), values(one)] for key, one in value.items()]
        return lambda value: {_key(keys(key)): values(one) for key, one in value.items()}

    def _logical(self, schema: Schema) -> Write:
        if schema.name != DECIMAL:
            return _DATES[schema.name or ""]
        if self.numeric:
            return lambda value: msgspec.Raw(str(value).encode())
        try:
            scale = scale_of(schema)
        except DataError:  # said of each value, as Java does
            return lambda value: _base64(decimal_bytes(schema, value))
        return lambda value: _base64(unscaled_bytes(scale, value))

    def _schemaless(self, value: Any) -> Any:
        if value is None:
            return None
        match schemaless_type(value):
            case None:
                raise DataError(
                    f"Java class class {java_class(value)} does not have corresponding schema type."
                )
            case Type.FLOAT32:
                return _single(value)
            case Type.FLOAT64:
                return _double(value)
            case Type.INT8 | Type.INT16 | Type.INT32:
                return int(value)
            case Type.BYTES:
                return _base64(value)
            case Type.ARRAY:
                return [self._schemaless(one) for one in value]
            case Type.MAP:
                write = self._schemaless
                if all(isinstance(key, str) for key in value):
                    return {key: write(one) for key, one in value.items()}
                return [[write(key), write(one)] for key, one in value.items()]
            case Type.STRUCT:
                # Java compares the struct's schema with none at all.
                raise DataError("Mismatching schema.")
        return value


_LOGICAL = {
    DECIMAL: ("Decimal", "BigDecimal"),
    DATE: ("Date", "Date"),
    TIME: ("Time", "Date"),
    TIMESTAMP: ("Timestamp", "Date"),
}
_DATES: dict[str, Write] = {DATE: days, TIME: time_ms, TIMESTAMP: epoch_ms}


def _integer(bits: int, otherwise: Write) -> Write:
    low, end = -(1 << (bits - 1)), 1 << (bits - 1)

    def write(value: Any) -> Any:
        return value if type(value) is int and low <= value < end else otherwise(value)

    return write


def _as_it_is(value: Any) -> Any:
    return value


def _base64(value: bytes) -> str:
    return binascii.b2a_base64(value, newline=False).decode()


def _key(written: Any) -> str:
    """A null key is the text of Jackson's null node."""
    return "null" if written is None else str(written)


def _double(value: float) -> Any:
    # Within these bounds msgspec, too, writes the shortest digits, and no exponent.
    if type(value) is float and (1e-3 <= value < 1e7 or -1e7 < value <= -1e-3):
        return value
    return _text(float_text(value))


def _single(value: float) -> Any:
    return _text(float32_text(value))


def _text(shown: str) -> Any:
    return shown if shown in ("NaN", "Infinity", "-Infinity") else msgspec.Raw(shown.encode())


def _wrong(schema: Schema, value: Any) -> DataError:
    was = f"class {java_class(value)}"
    if schema.name in _LOGICAL:
        kind, expected = _LOGICAL[schema.name]
        return DataError(f"Invalid type for {kind}, expected {expected} but was {was}")
    if schema.type is Type.BYTES:
        return DataError(f"Invalid type for bytes type: {was}")
    return DataError(f"Invalid type for {schema.type.name}: {was}")
