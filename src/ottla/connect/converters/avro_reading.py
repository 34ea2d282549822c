"""Avro's bytes as Connect's values. Pure.

A schema of Avro and the one that Connect has for it are gone through once, side by side: what comes
of it is a function that reads.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ottla.connect.converters.avro_connect_schemas import is_map_entry, optional_branch
from ottla.connect.converters.avro_types import AvroType
from ottla.connect.data import (
    DATE,
    DECIMAL,
    TIME,
    TIMESTAMP,
    DataError,
    Float32,
    Int32,
    Schema,
    Struct,
)
from ottla.connect.logical import date_of, decimal_of, time_of, timestamp_of

_FLOAT, _DOUBLE = struct.Struct("<f").unpack_from, struct.Struct("<d").unpack_from
_DATES: dict[str | None, Callable[[int], Any]] = {
    DATE: date_of,
    TIME: time_of,
    TIMESTAMP: timestamp_of,
}


@dataclass(slots=True)
class Cursor:
    data: bytes
    at: int


Read = Callable[[Cursor], Any]


def avro_reader(avro: AvroType, schema: Schema | None) -> Callable[[bytes, int], Any]:
    """From bytes, and where in them the value begins."""
    if avro.kind == "bytes" and schema is not None:  # alone, they stand without their length
        if schema.name == DECIMAL:
            return lambda data, at: decimal_of(schema, data[at:])
        return lambda data, at: data[at:]
    inner = _reader(avro, schema)

    def read(data: bytes, at: int) -> Any:
        try:
            return inner(Cursor(data, at))
        except (IndexError, struct.error):
            raise DataError("The record ends before its value does") from None

    return read


def _reader(avro: AvroType, schema: Schema | None) -> Read:
    if schema is None:
        return read_anything
    match avro.kind:
        case "int" | "long":
            if schema.name in _DATES:
                make = _DATES[schema.name]
                return lambda cursor: make(read_long(cursor))
            return read_long
        case "bytes" | "fixed":
            return _bytes(avro, schema)
        case "enum":
            symbols = avro.symbols
            return lambda cursor: symbols[_index(cursor, len(symbols))]
        case "array":
            return _array(avro, schema)
        case "map":
            inner = _inner(avro.inner, schema.value_schema)
            return lambda cursor: dict(_pairs(cursor, read_text, inner))
        case "record":
            return _struct(avro, schema)
        case "union":
            return _union(avro, schema)
    return _PRIMITIVES[avro.kind]


def _inner(avro: AvroType | None, schema: Schema | None) -> Read:
    assert avro is not None
    return _reader(avro, schema)


def _bytes(avro: AvroType, schema: Schema) -> Read:
    size = avro.size
    plain: Read = read_bytes if avro.kind == "bytes" else (lambda cursor: _taken(cursor, size))
    if schema.name != DECIMAL:
        return plain
    return lambda cursor: decimal_of(schema, plain(cursor))


def _array(avro: AvroType, schema: Schema) -> Read:
    assert avro.inner is not None
    if not is_map_entry(avro.inner):
        inner = _inner(avro.inner, schema.value_schema)
        return lambda cursor: [inner(cursor) for _ in _counted(cursor)]
    schemas = {"key": schema.key_schema, "value": schema.value_schema}
    first, second = (_reader(one.type, schemas[one.name]) for one in avro.inner.fields)
    if avro.inner.fields[0].name == "key":
        return lambda cursor: dict(_pairs(cursor, first, second))
    return lambda cursor: {key: one for one, key in _pairs(cursor, first, second)}


def _struct(avro: AvroType, schema: Schema) -> Read:
    fields = [
        (one.name, _reader(one.type, within.schema))
        for one, within in zip(avro.fields, schema.fields, strict=True)
    ]
    return lambda cursor: Struct(schema, {name: read(cursor) for name, read in fields})


def _union(avro: AvroType, schema: Schema) -> Read:
    there = optional_branch(avro)
    if there is not None:
        return _optional(_reader(there, schema), avro.branches.index(there))
    if len(avro.branches) == 1:
        inner = _reader(avro.branches[0], schema)
        return lambda cursor: (_index(cursor, 1), inner(cursor))[1]
    fields = iter(schema.fields)
    branches: list[tuple[str, Read] | None] = []
    for one in avro.branches:
        if one.kind == "null":
            branches.append(None)
        else:
            field = next(fields)
            branches.append((field.name, _reader(one, field.schema)))

    def read(cursor: Cursor) -> Struct | None:
        branch = branches[_index(cursor, len(branches))]
        return None if branch is None else Struct(schema, {branch[0]: branch[1](cursor)})

    return read


def _optional(inner: Read, there: int) -> Read:
    wanted = there << 1  # as the branch's number is written, in one byte

    def read(cursor: Cursor) -> Any:
        branch = cursor.data[cursor.at]
        if branch not in (0, 2):
            raise DataError(f"{branch} is no branch of 2")
        cursor.at += 1
        return inner(cursor) if branch == wanted else None

    return read


# --- Avro's own forms


def read_long(cursor: Cursor) -> int:
    data, at = cursor.data, cursor.at
    byte = data[at]
    at += 1
    number, shift = byte & 0x7F, 7
    while byte & 0x80:
        if shift > 63:
            raise DataError("Invalid long encoding")
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
    cursor.at = at
    return (number >> 1) ^ -(number & 1)


def read_bytes(cursor: Cursor) -> bytes:
    return _taken(cursor, read_long(cursor))


def _taken(cursor: Cursor, size: int) -> bytes:
    begin = cursor.at
    end = begin + size
    if size < 0 or end > len(cursor.data):
        raise DataError("The record ends before its value does")
    cursor.at = end
    return bytes(cursor.data[begin:end])


def read_text(cursor: Cursor) -> str:
    data, at = cursor.data, cursor.at
    size = data[at]
    if size & 0x81:  # a length of more than a byte, or below zero
        return _taken(cursor, read_long(cursor)).decode("utf-8", "replace")
    begin = at + 1
    end = begin + (size >> 1)
    if end > len(data):
        raise DataError("The record ends before its value does")
    cursor.at = end
    return data[begin:end].decode("utf-8", "replace")


def read_boolean(cursor: Cursor) -> bool:
    return _taken(cursor, 1) == b"\1"


def read_float(cursor: Cursor) -> float:
    (found,) = _FLOAT(cursor.data, cursor.at)
    cursor.at += 4
    return float(found)


def read_double(cursor: Cursor) -> float:
    (found,) = _DOUBLE(cursor.data, cursor.at)
    cursor.at += 8
    return float(found)


_PRIMITIVES: dict[str, Read] = {
    "boolean": read_boolean,
    "float": read_float,
    "double": read_double,
    "string": read_text,
}


def _index(cursor: Cursor, size: int) -> int:
    found = read_long(cursor)
    if not 0 <= found < size:
        raise DataError(f"{found} is no branch of {size}")
    return found


def _counted(cursor: Cursor) -> Iterator[None]:
    """Once for each element of an array's or a map's blocks."""
    while count := read_long(cursor):
        if count < 0:
            count = -count
            read_long(cursor)  # the block's size
        if count > len(cursor.data):
            raise DataError(f"{count} elements do not stand in {len(cursor.data)} bytes")
        for _ in range(count):
            yield None


def _pairs(cursor: Cursor, first: Read, second: Read) -> Iterator[tuple[Any, Any]]:
    for _ in _counted(cursor):
        one = first(cursor)
        yield one, second(cursor)


# --- without a schema: one of nine optional fields

_ANYTHING: tuple[Read, ...] = (
    read_boolean,
    read_bytes,
    read_double,
    lambda cursor: Float32(read_float(cursor)),
    lambda cursor: Int32(read_long(cursor)),
    read_long,
    read_text,
    lambda cursor: [read_anything(cursor) for _ in _counted(cursor)],
    lambda cursor: dict(_pairs(cursor, read_anything, read_anything)),
)


def read_anything(cursor: Cursor) -> Any:
    found = None
    for read in _ANYTHING:
        if _index(cursor, 2):
            value = read(cursor)
            found = value if found is None else found
    return found
