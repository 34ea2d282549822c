"""A record as Kafka Connect has it: values with their schemas, or without any.

Values are plain Python: int for the four integers, float, bool, str, bytes, list, dict (maps, and
structs without a schema), `Struct` for structs. The four logical types are `decimal.Decimal`,
`datetime.date`, `datetime.time` and `datetime.datetime` (UTC, milliseconds). Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Type(Enum):
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float"  # as JsonConverter's envelope names them
    FLOAT64 = "double"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    schema: "Schema"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """What Java's ConnectSchema holds."""

    type: Type
    optional: bool = False
    default: Any = None
    name: str | None = None  # of logical types and structs
    version: int | None = None
    doc: str | None = None
    parameters: Mapping[str, str] | None = None
    fields: tuple[Field, ...] = ()  # of a struct, in their order
    key_schema: "Schema | None" = None  # of a map
    value_schema: "Schema | None" = None  # of a map's values or an array's elements


@dataclass(slots=True)
class Struct:
    """Values by field; a field that is not there has its default, or null."""

    schema: Schema
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Header:
    name: str
    schema: Schema | None
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Without a schema (None), a value is what JSON without an envelope gives."""

    topic: str
    partition: int | None = None  # None: the producer's partitioner decides
    key_schema: Schema | None = None
    key: Any = None
    value_schema: Schema | None = None
    value: Any = None
    timestamp: int | None = None  # milliseconds
    headers: tuple[Header, ...] = ()
    offset: int | None = None  # in Kafka; of sinks only
    original: tuple[str, int, int] | None = None  # topic, partition, offset before transforms
