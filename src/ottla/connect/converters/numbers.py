"""Numbers of fixed width, big-endian, and booleans of one byte."""

import struct
from collections.abc import Mapping
from typing import Any, ClassVar

from ottla.connect.converters.converter import TYPE, DataConverter, SchemaAndValue
from ottla.connect.data import (
    OPTIONAL_BOOLEAN,
    DataError,
    Schema,
    Type,
    fits,
    java_class,
    schemaless_type,
)


class NumberConverter(DataConverter):
    DEFINITIONS = TYPE
    type: ClassVar[Type]
    word: ClassVar[str]
    layout: ClassVar[struct.Struct]

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._schema = Schema(type=self.type, optional=True)

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        if not self._takes(schema, value):
            raise DataError(f"Failed to serialize to {self.word} (was class {java_class(value)}): ")
        return self.layout.pack(value)

    def _takes(self, schema: Schema | None, value: Any) -> bool:
        """Java's class decides: a Long is no Integer, however small."""
        if schema is None:
            return schemaless_type(value) is self.type
        return schema.type is self.type and fits(self._schema, value)

    def to_connect(self, topic: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return self._schema, None
        if len(data) != self.layout.size:
            raise DataError(f"Failed to deserialize {self.word}: ")
        return self._schema, self.layout.unpack(data)[0]


class DoubleConverter(NumberConverter):
    type, word, layout = Type.FLOAT64, "double", struct.Struct(">d")


class FloatConverter(NumberConverter):
    type, word, layout = Type.FLOAT32, "float", struct.Struct(">f")


class IntegerConverter(NumberConverter):
    type, word, layout = Type.INT32, "integer", struct.Struct(">i")


class LongConverter(NumberConverter):
    type, word, layout = Type.INT64, "long", struct.Struct(">q")


class ShortConverter(NumberConverter):
    type, word, layout = Type.INT16, "short", struct.Struct(">h")


class BooleanConverter(DataConverter):
    DEFINITIONS = TYPE

    def __init__(self, settings: Mapping[str, str]) -> None:
        pass

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is not None and schema.type is not Type.BOOLEAN:
            raise DataError(f"Invalid schema type for BooleanConverter: {schema.type.name}")
        if value is None:
            return None
        if not isinstance(value, bool):
            raise DataError(
                f"BooleanConverter is not compatible with objects of type class {java_class(value)}"
            )
        return b"\x01" if value else b"\x00"

    def to_connect(self, topic: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return OPTIONAL_BOOLEAN, None
        if data not in (b"\x00", b"\x01"):
            raise DataError("Failed to deserialize boolean: ")
        return OPTIONAL_BOOLEAN, data == b"\x01"
