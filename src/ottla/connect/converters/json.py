"""JsonConverter: JSON with its schema beside it (`schemas.enable`), or without.

`json_schemas` has the schemas' own form, `json_reading` and `json_writing` the values'.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ottla.connect.converters.converter import TYPE, DataConverter, SchemaAndValue
from ottla.connect.converters.json_nodes import (
    NotJson,
    envelope_beginning,
    read_enveloped,
    read_tree,
)
from ottla.connect.converters.json_reading import Read, Reading, is_logical
from ottla.connect.converters.json_schemas import SchemaReader, SchemaWriter
from ottla.connect.converters.json_writing import Writing
from ottla.connect.data import DataError, Schema, Type
from ottla.connect.definitions import Definitions, Key, Kind
from ottla.connect.validators import one_of

_DEFINITIONS = TYPE | Definitions(
    (
        Key(
            name="schemas.enable",
            kind=Kind.BOOLEAN,
            default=True,
            importance="HIGH",
            doc="Write a schema beside each key and value, and expect one when reading.",
            group="Schemas",
            order=0,
            width="MEDIUM",
            display_name="Enable Schemas",
        ),
        Key(
            name="schemas.cache.size",
            kind=Kind.INT,
            default=1000,
            importance="HIGH",
            doc="Taken for compatibility: recent schemas are remembered in any case.",
            group="Schemas",
            order=1,
            width="MEDIUM",
            display_name="Schema Cache Size",
        ),
        Key(
            name="schema.content",
            kind=Kind.STRING,
            default=None,
            importance="HIGH",
            doc="The schema of everything that is read, which then comes without an envelope.",
            group="Schemas",
            order=2,
            width="MEDIUM",
            display_name="Schema Content",
        ),
        Key(
            name="decimal.format",
            kind=Kind.STRING,
            default="BASE64",
            importance="LOW",
            doc="How decimals are written: BASE64 of their bytes, or NUMERIC.",
            group="Serialization",
            order=0,
            width="MEDIUM",
            display_name="Decimal Format",
            validator=one_of("BASE64", "NUMERIC", any_case=True),
        ),
        Key(
            name="replace.null.with.default",
            kind=Kind.BOOLEAN,
            default=True,
            importance="LOW",
            doc="Whether a null of a field with a default becomes the default.",
            group="Serialization",
            order=1,
            width="MEDIUM",
            display_name="Replace null with default",
        ),
    )
)
_ENVELOPE = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain '
    "additional fields. If you are trying to deserialize plain JSON data, set schemas.enable=false "
    "in your converter configuration."
)
_BEGINNINGS = 16  # remembered


class JsonConverter(DataConverter):
    DEFINITIONS = _DEFINITIONS

    def __init__(self, settings: Mapping[str, str]) -> None:
        values = self.DEFINITIONS.parse(settings)
        self._envelope: bool = values["schemas.enable"]
        defaults: bool = values["replace.null.with.default"]
        self._reading = Reading(defaults)
        self._writing = Writing(defaults, values["decimal.format"].upper() == "NUMERIC")
        self._schema_reader = SchemaReader(self._reading)
        self._beginnings: dict[bytes, tuple[Schema, Read]] = {}
        self._schema = self._said_schema(values["schema.content"])
        self._encode = msgspec.json.Encoder(decimal_format="number").encode
        self._schema_writer = SchemaWriter(self._writing, self._encode)

    def _said_schema(self, content: str | None) -> Schema | None:
        if not content:
            return None
        try:
            return self._schema_reader.schema(read_tree(content.encode(), exact=True))
        except NotJson as error:
            raise DataError(
                f"Failed to parse schema in converter config due to serialization error: {error}"
            ) from None

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is None and value is None:
            return None
        tree = self._writing.node(schema, value)
        try:
            if not self._envelope:
                return self._encode(tree)
            said = self._schema_writer.text(schema)
            return b"".join((b'{"schema":', said, b',"payload":', self._encode(tree), b"}"))
        except (UnicodeEncodeError, RecursionError) as error:
            raise DataError(
                "Converting Kafka Connect data to byte[] failed due to serialization error: "
            ) from error

    def payload(self, schema: Schema) -> Callable[[Any], bytes]:
        """What `from_connect` writes of values of this schema, without the envelope."""
        write, encode = self._writing.writer(schema), self._encode
        return lambda value: encode(write(value))

    def around(self, schema: Schema) -> tuple[bytes, bytes]:
        """What `from_connect` writes before and behind that."""
        if not self._envelope:
            return b"", b""
        return b'{"schema":' + self._schema_writer.text(schema) + b',"payload":', b"}"

    def around_text(self, like: bytes) -> tuple[bytes, bytes] | None:
        """What stands before and behind texts that come as this one does; None: it is no text."""
        if not self._envelope:
            return b"", b""
        beginning = envelope_beginning(like)
        if beginning is None or self._schema is not None:
            return None
        schema, _ = self.to_connect("", like)
        is_text = schema is not None and schema.type is Type.STRING and not is_logical(schema)
        return (beginning, b"}") if is_text else None

    def beginning(self, like: bytes) -> tuple[bytes, Schema] | None:
        """What stands before the payload of values that come as this one does, and their schema.

        None: it is not known without reading each. DataError: this one cannot be read.
        """
        beginning = envelope_beginning(like) if self._envelope and self._schema is None else None
        if beginning is None:
            return None
        schema, _ = self.to_connect("", like)
        return None if schema is None else (beginning, schema)

    def reader(self, schema: Schema) -> Read:
        """What `to_connect` makes of a node of this schema."""
        return self._reading.reader(schema)

    @property
    def numeric_decimals(self) -> bool:
        return self._writing.numeric

    def to_connect(self, topic: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return None, None
        known = read_enveloped(data, self._beginnings) if self._beginnings else None
        if known is not None:
            (like_before, read), node = known
            return like_before, read(node)
        try:
            tree = read_tree(data, exact=self._envelope)
        except NotJson as error:
            raise DataError(
                "Converting byte[] to Kafka Connect data failed due to serialization error: "
            ) from error
        if not self._envelope:
            return None, self._reading.schemaless(tree)
        if self._schema is not None:
            return self._schema, self._reading.value(self._schema, tree)
        if type(tree) is not dict or len(tree) != 2 or "schema" not in tree:
            raise DataError(_ENVELOPE)
        if "payload" not in tree:
            raise DataError(_ENVELOPE)
        schema = self._schema_reader.schema(tree["schema"])
        payload = tree["payload"]
        if schema is None:
            return None, self._reading.schemaless(payload)
        self._remember(data, schema)
        return schema, self._reading.value(schema, payload)

    def _remember(self, data: bytes, schema: Schema) -> None:
        """Records of a topic begin alike, with their schema: it is not read again."""
        beginning = envelope_beginning(data)
        if beginning is not None:
            if len(self._beginnings) >= _BEGINNINGS:
                self._beginnings.clear()
            self._beginnings[beginning] = schema, self._reading.reader(schema)
