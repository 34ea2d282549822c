"""Connect's schemas as columns of Spark's, and back, for connectors within applications. Pure.

Times of day are text in Spark; timestamps keep their milliseconds.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from ottla.connect.converters.avro_names import PRECISION
from ottla.connect.data import (
    DATE,
    DATE_SCHEMA,
    DECIMAL,
    TIME,
    TIMESTAMP,
    TIMESTAMP_SCHEMA,
    Field,
    Schema,
    Type,
    decimal_schema,
    optional,
)
from ottla.connect.logical import scale_of

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_PRECISION_MAX = 38
_PLAIN = {
    Type.INT8: "TINYINT",
    Type.INT16: "SMALLINT",
    Type.INT32: "INT",
    Type.INT64: "BIGINT",
    Type.FLOAT32: "FLOAT",
    Type.FLOAT64: "DOUBLE",
    Type.BOOLEAN: "BOOLEAN",
    Type.STRING: "STRING",
    Type.BYTES: "BINARY",
}
_LOGICAL = {DATE: "DATE", TIME: "STRING", TIMESTAMP: "TIMESTAMP"}


class Column(NamedTuple):
    name: str
    type: str  # Spark's
    required: bool


def columns_of(schema: Schema) -> tuple[Column, ...]:
    """Of a struct."""
    return tuple(
        Column(one.name, spark_type(one.schema), not one.schema.optional) for one in schema.fields
    )


def spark_type(schema: Schema) -> str:
    if schema.name in _LOGICAL:
        return _LOGICAL[schema.name]
    if schema.name == DECIMAL:
        said = (schema.parameters or {}).get(PRECISION, "")
        scale = min(max(scale_of(schema), 0), _PRECISION_MAX)
        precision = int(said) if said.isdigit() else _PRECISION_MAX
        return f"DECIMAL({min(precision, _PRECISION_MAX)}, {scale})"
    match schema.type:
        case Type.STRUCT:
            fields = (f"`{one.name}`: {spark_type(one.schema)}" for one in schema.fields)
            return f"STRUCT<{', '.join(fields)}>"
        case Type.ARRAY:
            return f"ARRAY<{_inner(schema.value_schema)}>"
        case Type.MAP:
            return f"MAP<STRING, {_inner(schema.value_schema)}>"
    return _PLAIN[schema.type]


def _inner(schema: Schema | None) -> str:
    return "STRING" if schema is None else spark_type(schema)


def schema_of(rows: "StructType") -> Schema:
    """Of columns that may be null, but for those that Spark knows never are."""
    schemas = ((one, _schema(one.dataType)) for one in rows)
    fields = (Field(one.name, optional(it) if one.nullable else it) for one, it in schemas)
    return Schema(type=Type.STRUCT, fields=tuple(fields))


def _schema(kind: Any) -> Schema:
    from pyspark.sql import types as t

    plain: dict[Any, Type] = {
        t.ByteType: Type.INT8,
        t.ShortType: Type.INT16,
        t.IntegerType: Type.INT32,
        t.LongType: Type.INT64,
        t.FloatType: Type.FLOAT32,
        t.DoubleType: Type.FLOAT64,
        t.BooleanType: Type.BOOLEAN,
        t.BinaryType: Type.BYTES,
    }
    match kind:
        case t.DecimalType():
            return decimal_schema(kind.scale)
        case t.DateType():
            return DATE_SCHEMA
        case t.TimestampType() | t.TimestampNTZType():
            return TIMESTAMP_SCHEMA
        case t.ArrayType():
            inner = optional(_schema(kind.elementType))
            return Schema(type=Type.ARRAY, value_schema=inner)
        case t.MapType():
            keys, values = Schema(type=Type.STRING), optional(_schema(kind.valueType))
            return Schema(type=Type.MAP, key_schema=keys, value_schema=values)
        case t.StructType():
            return schema_of(kind)
    return Schema(type=plain.get(type(kind), Type.STRING))
