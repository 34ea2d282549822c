"""Text and bytes as they are."""

import codecs
from collections.abc import Mapping
from typing import Any

from ottla.connect.converters.converter import TYPE, DataConverter, SchemaAndValue
from ottla.connect.data import OPTIONAL_BYTES, OPTIONAL_STRING, DataError, Schema, Type, java_class
from ottla.connect.definitions import Definitions, InvalidConfig, Key, Kind
from ottla.connect.java_text import text


class StringConverter(DataConverter):
    """Everything by its text; what is read is text."""

    DEFINITIONS = TYPE | Definitions(
        (
            Key(
                name="converter.encoding",
                kind=Kind.STRING,
                default="UTF-8",
                importance="HIGH",
                doc="The character set of the text.",
                width="MEDIUM",
                display_name="Encoding",
            ),
        )
    )

    def __init__(self, settings: Mapping[str, str]) -> None:
        said = self.DEFINITIONS.parse(settings)["converter.encoding"]
        try:
            self._encoding = codecs.lookup(said).name
        except LookupError:
            raise InvalidConfig({"converter.encoding": [f"Unsupported encoding {said}"]}) from None

    @property
    def is_utf8(self) -> bool:
        return self._encoding == "utf-8"

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        written = value if isinstance(value, str) else text(value, schema)
        return written.encode(self._encoding, "replace")

    def to_connect(self, topic: str, data: bytes | None) -> SchemaAndValue:
        return OPTIONAL_STRING, None if data is None else data.decode(self._encoding, "replace")


class ByteArrayConverter(DataConverter):
    DEFINITIONS = TYPE

    def __init__(self, settings: Mapping[str, str]) -> None:
        pass

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is not None and schema.type is not Type.BYTES:
            raise DataError(f"Invalid schema type for ByteArrayConverter: {schema.type.name}")
        if value is not None and not isinstance(value, bytes):
            raise DataError(
                "ByteArrayConverter is not compatible with objects of type "
                f"class {java_class(value)}"
            )
        return value

    def to_connect(self, topic: str, data: bytes | None) -> SchemaAndValue:
        return OPTIONAL_BYTES, data
