"""Spark's DDL as its types, without Spark: a worker checks configurations before it has a session.

Absent: types that only Spark's own parser knows (intervals, collations, variants).
"""

from typing import TYPE_CHECKING, Any

from ottla.connect.definitions import InvalidConfig

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType


def columns_of(ddl: str) -> "StructType":
    """InvalidConfig, under `schema`, for what is none."""
    import sqlglot
    from pyspark.sql.types import StructField, StructType
    from sqlglot import exp

    try:
        table = sqlglot.parse_one(f"CREATE TABLE t ({ddl})", dialect="spark")
        columns = table.this.expressions
        fields = [StructField(one.name, _type(one.kind), not _is_required(one)) for one in columns]
        assert all(isinstance(one, exp.ColumnDef) for one in columns)
    except (sqlglot.errors.SqlglotError, AssertionError, AttributeError, KeyError):
        said = f"{ddl!r} is no schema; write it like 'customer STRING, amount DOUBLE'"
        raise InvalidConfig({"schema": [said]}) from None
    return StructType(fields)


def _is_required(column: Any) -> bool:
    from sqlglot import exp

    return any(isinstance(one.kind, exp.NotNullColumnConstraint) for one in column.constraints)


def _type(said: Any) -> "DataType":
    from pyspark.sql import types as t
    from sqlglot import exp

    kinds = exp.DataType.Type
    plain: dict[Any, Any] = {
        kinds.TINYINT: t.ByteType,
        kinds.SMALLINT: t.ShortType,
        kinds.INT: t.IntegerType,
        kinds.BIGINT: t.LongType,
        kinds.FLOAT: t.FloatType,
        kinds.DOUBLE: t.DoubleType,
        kinds.BOOLEAN: t.BooleanType,
        kinds.TEXT: t.StringType,
        kinds.VARCHAR: t.StringType,
        kinds.BINARY: t.BinaryType,
        kinds.VARBINARY: t.BinaryType,
        kinds.DATE: t.DateType,
        kinds.TIMESTAMP: t.TimestampType,
        kinds.TIMESTAMPTZ: t.TimestampType,
        kinds.TIMESTAMPLTZ: t.TimestampType,
        kinds.TIMESTAMPNTZ: t.TimestampNTZType,
    }
    inner = said.expressions
    match said.this:
        case kinds.DECIMAL:
            numbers = [int(one.this.this) for one in inner]
            return t.DecimalType(*(numbers or (10, 0)))
        case kinds.ARRAY:
            return t.ArrayType(_type(inner[0]))
        case kinds.MAP:
            return t.MapType(_type(inner[0]), _type(inner[1]))
        case kinds.STRUCT:
            return t.StructType([t.StructField(one.name, _type(one.kind)) for one in inner])
    made: DataType = plain[said.this]()
    return made
