"""A record as Kafka Connect has it: values with their schemas, or without any.

Values are plain Python: int for the four integers, float, bool, str, bytes, list, dict (maps, and
structs without a schema), `Struct` for structs. The four logical types are `decimal.Decimal`,
`datetime.date`, `datetime.time` and `datetime.datetime` (UTC, milliseconds). Pure.

Without a schema an int is Java's Long and a float its Double; what Java would hold narrower is an
`Int8`, `Int16`, `Int32` or `Float32`, and a `java.util.Date` of whatever meaning a datetime.
"""

import datetime
import decimal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final


class DataError(Exception):
    """Java's DataException: a value and its schema, or a value and what is asked of it, differ."""


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


class Int8(int):
    """A Byte without a schema."""


class Int16(int):
    """A Short without a schema."""


class Int32(int):
    """An Integer without a schema."""


class Float32(float):
    """A Float without a schema."""


DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
DATE: Final = "org.apache.kafka.connect.data.Date"
TIME: Final = "org.apache.kafka.connect.data.Time"
TIMESTAMP: Final = "org.apache.kafka.connect.data.Timestamp"
SCALE: Final = "scale"  # a Decimal schema's parameter


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

    def field(self, name: str) -> Field | None:
        for one in self.fields:
            if one.name == name:
                return one
        return None

    def __str__(self) -> str:
        said = self.type.name if self.name is None else f"{self.name}:{self.type.name}"
        return f"Schema{{{said}}}"


STRING_SCHEMA: Final = Schema(type=Type.STRING)
BYTES_SCHEMA: Final = Schema(type=Type.BYTES)
OPTIONAL_STRING: Final = Schema(type=Type.STRING, optional=True)
OPTIONAL_BYTES: Final = Schema(type=Type.BYTES, optional=True)
OPTIONAL_BOOLEAN: Final = Schema(type=Type.BOOLEAN, optional=True)
DATE_SCHEMA: Final = Schema(type=Type.INT32, name=DATE, version=1)
TIME_SCHEMA: Final = Schema(type=Type.INT32, name=TIME, version=1)
TIMESTAMP_SCHEMA: Final = Schema(type=Type.INT64, name=TIMESTAMP, version=1)


def optional(schema: Schema) -> Schema:
    return replace(schema, optional=True)


def decimal_schema(scale: int) -> Schema:
    return Schema(type=Type.BYTES, name=DECIMAL, version=1, parameters={SCALE: str(scale)})


@dataclass(slots=True, eq=False)
class Struct:
    """Values by field; a field that is not there has its default, or null."""

    schema: Schema
    values: dict[str, Any] = field(default_factory=dict)

    def get(self, name: str) -> Any:
        """The value, or the field's default where it is null."""
        value = self.without_default(name)
        if value is not None:
            return value
        found = self.schema.field(name)
        return None if found is None else found.schema.default

    def without_default(self, name: str) -> Any:
        value = self.values.get(name)
        if value is None and self.schema.field(name) is None:
            raise DataError(f"{name} is not a valid field name")
        return value

    def put(self, name: str, value: Any) -> "Struct":
        found = self.schema.field(name)
        if found is None:
            raise DataError(f"{name} is not a valid field name")
        check_value(found.schema, value, f'field: "{name}"')
        self.values[name] = value
        return self

    def check(self) -> None:
        for one in self.schema.fields:
            value = self.values.get(one.name)
            if value is None and (one.schema.optional or one.schema.default is not None):
                continue
            check_value(one.schema, value, f'field: "{one.name}"')

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct) or self.schema != other.schema:
            return False
        names = [one.name for one in self.schema.fields]
        return all(self.values.get(name) == other.values.get(name) for name in names)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Header:
    name: str
    schema: Schema | None
    value: Any


@dataclass(slots=True, kw_only=True)
class Record:
    """Without a schema (None), a value is what JSON without an envelope gives.

    To be left as it was made; not frozen, which costs more than all else that making one does.
    """

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


_LOGICAL: Final[Mapping[str, type]] = {
    DECIMAL: decimal.Decimal,
    DATE: datetime.date,
    TIME: datetime.time,
    TIMESTAMP: datetime.datetime,
}
_PLAIN: Final[Mapping[Type, type]] = {
    Type.FLOAT32: float,
    Type.FLOAT64: float,
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.BYTES: bytes,
    Type.ARRAY: list,
    Type.MAP: dict,
    Type.STRUCT: Struct,
}
INTEGER_BITS: Final[Mapping[Type, int]] = {
    Type.INT8: 8,
    Type.INT16: 16,
    Type.INT32: 32,
    Type.INT64: 64,
}
_JAVA_CLASSES: Final[Mapping[type, str]] = {
    bool: "java.lang.Boolean",
    Int8: "java.lang.Byte",
    Int16: "java.lang.Short",
    Int32: "java.lang.Integer",
    int: "java.lang.Long",
    Float32: "java.lang.Float",
    float: "java.lang.Double",
    str: "java.lang.String",
    bytes: "[B",
    list: "java.util.ArrayList",
    dict: "java.util.HashMap",
    Struct: "org.apache.kafka.connect.data.Struct",
    decimal.Decimal: "java.math.BigDecimal",
    datetime.date: "java.util.Date",
    datetime.time: "java.util.Date",
    datetime.datetime: "java.util.Date",
}


def java_class(value: Any) -> str:
    """What Java would say to a value's class, without its schema: for sentences."""
    return _JAVA_CLASSES.get(type(value), f"{type(value).__module__}.{type(value).__qualname__}")


def schemaless_type(value: Any) -> Type | None:
    """The type that Java sees in a value that came without a schema."""
    return _SCHEMALESS.get(type(value))


_SCHEMALESS: Final[Mapping[type, Type]] = {
    Int8: Type.INT8,
    Int16: Type.INT16,
    Int32: Type.INT32,
    int: Type.INT64,
    Float32: Type.FLOAT32,
    float: Type.FLOAT64,
    bool: Type.BOOLEAN,
    str: Type.STRING,
    bytes: Type.BYTES,
    list: Type.ARRAY,
    dict: Type.MAP,
    Struct: Type.STRUCT,
}


def value_class(schema: Schema) -> type | None:
    """Of a schema's values; None: they are integers, which fit by their size."""
    logical = None if schema.name is None else _LOGICAL.get(schema.name)
    return _PLAIN.get(schema.type) if logical is None else logical


def fits(schema: Schema, value: Any) -> bool:
    """Whether a value, itself, is of its schema's type; what it holds is not looked at."""
    logical = None if schema.name is None else _LOGICAL.get(schema.name)
    if logical is not None:
        return type(value) is logical  # a datetime is a date for isinstance
    bits = INTEGER_BITS.get(schema.type)
    if bits is None:
        return isinstance(value, _PLAIN[schema.type])
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return -(1 << (bits - 1)) <= value < 1 << (bits - 1)


def check_value(schema: Schema, value: Any, location: str = "value") -> None:
    """DataError unless a value, and all that it holds, is what the schema says."""
    if value is None:
        if not schema.optional:
            raise DataError(
                f"Invalid value: null used for required {location}, schema type: {schema.type.name}"
            )
        return
    if not fits(schema, value):
        named = "" if schema.name is None else f' "{schema.name}"'
        raise DataError(
            f"Invalid Java object for schema{named} with type {schema.type.name}: "
            f"class {java_class(value)} for {location}"
        )
    match schema.type:
        case Type.STRUCT:
            if value.schema is not schema and value.schema != schema:
                raise DataError("Struct schemas do not match.")
            value.check()
        case Type.ARRAY:
            within = _known(schema.value_schema, f"element of array {location}")
            for one in value:
                check_value(within, one, f"element of array {location}")
        case Type.MAP:
            keys = _known(schema.key_schema, f"key of map {location}")
            values = _known(schema.value_schema, f"value of map {location}")
            for key, one in value.items():
                check_value(keys, key, f"key of map {location}")
                check_value(values, one, f"value of map {location}")


def _known(schema: Schema | None, location: str) -> Schema:
    if schema is None:
        raise DataError(f"No schema defined for {location}")
    return schema
