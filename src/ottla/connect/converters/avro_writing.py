"""Values of Connect as Avro's bytes, in the shape that `avro_schemas` gives their schema. Pure.

What a schema asks is worked out once and remembered as a function. So bytes are made straight from
a record's values, and a union's branch is known from the schema, never guessed from the value.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any

from ottla.connect.converters.avro_names import (
    FIXED_SIZE,
    is_enum,
    is_fixed,
    is_text_map,
    is_union,
)
from ottla.connect.converters.avro_options import AvroOptions
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
from ottla.connect.logical import days, decimal_bytes, epoch_ms, time_ms

Write = Callable[[bytearray, Any], None]
_REMEMBERED = 4096
_FLOAT, _DOUBLE = struct.Struct("<f").pack, struct.Struct("<d").pack
_DATES: dict[str, Callable[[Any], int]] = {DATE: days, TIME: time_ms, TIMESTAMP: epoch_ms}


class AvroWriting:
    def __init__(self, options: AvroOptions) -> None:
        self._options = options
        self._known: dict[int, tuple[Schema, Write]] = {}  # by identity; the schema keeps its id

    def data(self, schema: Schema | None, value: Any) -> bytes:
        """A value that is not null; bytes alone stand there without their length."""
        out = bytearray()
        if schema is None:
            write_anything(out, value)
        elif schema.type is Type.BYTES and not schema.optional and not is_fixed(schema):
            self.writer(schema)(out, value)
            return bytes(out[_length_size(out) :])
        else:
            self.writer(schema)(out, value)
        return bytes(out)

    def writer(self, schema: Schema | None) -> Write:
        if schema is None:
            return write_anything
        known = self._known.get(id(schema))
        if known is not None:
            return known[1]
        made = self._optional(schema)
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[id(schema)] = (schema, made)
        return made

    def _optional(self, schema: Schema) -> Write:
        if is_union(schema):
            return self._union(schema)
        write = self._checked(schema, self._plain(schema))
        after = schema.default is not None and schema.type is not Type.STRUCT
        null, there = (2, 0) if after else (0, 2)
        if schema.type is Type.STRING and not (self._options.enhanced and is_enum(schema)):
            return _short_text(schema.optional, null, there, write)
        if not schema.optional:
            return write

        def maybe(out: bytearray, value: Any) -> None:
            if value is None:
                out.append(null)
            else:
                out.append(there)
                write(out, value)

        return maybe

    def _checked(self, schema: Schema, write: Write) -> Write:
        kind = value_class(schema)

        if kind is None and schema.type in INTEGER_BITS:
            return _integer(schema)

        def checked(out: bytearray, value: Any) -> None:
            if type(value) is not kind and not (value is not None and fits(schema, value)):
                raise _wrong(schema, value)
            write(out, value)

        return checked

    def _plain(self, schema: Schema) -> Write:
        if schema.name in _DATES:
            number = _DATES[schema.name]
            return lambda out, value: write_long(out, number(value))
        if schema.type in INTEGER_BITS:
            return write_long
        match schema.type:
            case Type.BOOLEAN:
                return lambda out, value: out.append(1 if value else 0)
            case Type.FLOAT32:
                return lambda out, value: out.extend(_FLOAT(value))
            case Type.FLOAT64:
                return lambda out, value: out.extend(_DOUBLE(value))
            case Type.STRING:
                return self._text(schema)
            case Type.BYTES:
                return self._bytes(schema)
            case Type.ARRAY:
                return self._array(schema)
            case Type.MAP:
                return self._map(schema)
        return self._struct(schema)

    def _text(self, schema: Schema) -> Write:
        if not (self._options.enhanced and is_enum(schema)):
            return write_text
        prefix = "io.confluent.connect.avro.Enum."
        symbols = [one for one in schema.parameters or () if one.startswith(prefix)]
        numbers = {one.removeprefix(prefix): at for at, one in enumerate(symbols)}

        def write(out: bytearray, value: str) -> None:
            if value not in numbers:
                raise DataError(f"{value} is no symbol of the enum {schema.name}")
            write_long(out, numbers[value])

        return write

    def _bytes(self, schema: Schema) -> Write:
        if not is_fixed(schema):
            if schema.name == DECIMAL:
                return lambda out, value: write_bytes(out, decimal_bytes(schema, value))
            return write_bytes
        size = int((schema.parameters or {})[FIXED_SIZE])

        def write(out: bytearray, value: Any) -> None:
            held = _padded(decimal_bytes(schema, value), size) if schema.name == DECIMAL else value
            if len(held) != size:
                raise DataError(f"{len(held)} bytes are not the {size} of {schema.name}")
            out.extend(held)

        return write

    def _array(self, schema: Schema) -> Write:
        inner = self.writer(schema.value_schema)

        def write(out: bytearray, value: Sequence[Any]) -> None:
            if value:
                write_long(out, len(value))
                for one in value:
                    inner(out, one)
            out.append(0)

        return write

    def _map(self, schema: Schema) -> Write:
        is_text = is_text_map(schema, self._options.optional_map_keys)
        key = write_text if is_text else self.writer(schema.key_schema)
        inner = self.writer(schema.value_schema)

        def write(out: bytearray, value: dict[Any, Any]) -> None:
            if value:
                write_long(out, len(value))
                for name, one in value.items():
                    if is_text and not isinstance(name, str):
                        raise DataError(f"The key of a map is {name!r}, and no text")
                    key(out, name)
                    inner(out, one)
            out.append(0)

        return write

    def _struct(self, schema: Schema) -> Write:
        ignore = self._options.ignore_defaults
        fields = tuple(
            (one.name, None if ignore else one.schema.default, self.writer(one.schema))
            for one in schema.fields
        )

        def write(out: bytearray, value: Struct) -> None:
            if value.schema is not schema and value.schema != schema:
                raise DataError("Mismatching struct schema")
            get = value.values.get
            for name, default, inner in fields:
                held = get(name)
                inner(out, default if held is None else held)

        return write

    def _union(self, schema: Schema) -> Write:
        """The first field that is there is the branch."""
        first = 1 if schema.optional else 0
        branches = [
            (one.name, self._checked(one.schema, self._plain(one.schema))) for one in schema.fields
        ]

        def write(out: bytearray, value: Struct | None) -> None:
            if value is not None and not isinstance(value, Struct):
                raise _wrong(schema, value)
            held = {} if value is None else value.values
            for at, (name, inner) in enumerate(branches):
                if held.get(name) is not None:
                    write_long(out, first + at)
                    return inner(out, held[name])
            if not schema.optional:
                raise DataError("Found null value for non-optional schema")
            out.append(0)
            return None

        return write


def _integer(schema: Schema) -> Write:
    half = 1 << (INTEGER_BITS[schema.type] - 1)

    def write(out: bytearray, value: Any) -> None:
        if type(value) is not int and not (value is not None and fits(schema, value)):
            raise _wrong(schema, value)
        if not -half <= value < half:
            raise _wrong(schema, value)
        rest = (value << 1) ^ (value >> 63)
        while rest > 0x7F:
            out.append(rest & 0x7F | 0x80)
            rest >>= 7
        out.append(rest)

    return write


def _short_text(optional: bool, null: int, there: int, otherwise: Write) -> Write:
    """Most values are texts, and most of them short: their length is one byte."""

    def write(out: bytearray, value: Any) -> None:
        if type(value) is str:
            data = value.encode("utf-8", "replace")
            if optional:
                out.append(there)
            if len(data) < 64:
                out.append(len(data) << 1)
            else:
                write_long(out, len(data))
            out += data
        elif value is None and optional:
            out.append(null)
        else:
            if optional:
                out.append(there)
            otherwise(out, value)

    return write


# --- Avro's own forms


def write_long(out: bytearray, value: int) -> None:
    value = (value << 1) ^ (value >> 63)
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def write_bytes(out: bytearray, value: bytes) -> None:
    write_long(out, len(value))
    out.extend(value)


def write_text(out: bytearray, value: str) -> None:
    write_bytes(out, value.encode("utf-8", "replace"))


def _length_size(out: bytearray) -> int:
    return next(at for at, one in enumerate(out) if one < 0x80) + 1


def _padded(data: bytes, size: int) -> bytes:
    sign = b"\xff" if data[0] & 0x80 else b"\0"
    return sign * (size - len(data)) + data


# --- without a schema: one of nine optional fields


_ANYTHING = ("boolean", "bytes", "double", "float", "int", "long", "string", "array", "map")
_PLACES = {
    Type.BOOLEAN: "boolean",
    Type.BYTES: "bytes",
    Type.FLOAT64: "double",
    Type.FLOAT32: "float",
    Type.INT8: "int",
    Type.INT16: "int",
    Type.INT32: "int",
    Type.INT64: "long",
    Type.STRING: "string",
    Type.ARRAY: "array",
    Type.MAP: "map",
}


def write_anything(out: bytearray, value: Any) -> None:
    kind = None if value is None else schemaless_type(value)
    place = None if kind is None else _PLACES.get(kind)
    if value is not None and (place is None or kind is Type.BYTES):
        raise DataError(f"Unknown Java type for schemaless data: class {java_class(value)}")
    for one in _ANYTHING:
        if one != place:
            out.append(0)
            continue
        out.append(2)
        match one:
            case "boolean":
                out.append(1 if value else 0)
            case "double":
                out.extend(_DOUBLE(value))
            case "float":
                out.extend(_FLOAT(value))
            case "string":
                write_text(out, value)
            case "array":
                _write_block(out, value)
            case "map":
                _write_block(out, [part for entry in value.items() for part in entry], 2)
            case _:
                write_long(out, value)


def _write_block(out: bytearray, values: Sequence[Any], size: int = 1) -> None:
    if values:
        write_long(out, len(values) // size)
        for one in values:
            write_anything(out, one)
    out.append(0)


def _wrong(schema: Schema, value: Any) -> DataError:
    if value is None:
        return DataError("Found null value for non-optional schema")
    return DataError(f"Invalid type for {schema.type.name}: class {java_class(value)}")
