"""Rows of Spark's as Connect's structs, and back; `row_types` has their types. Pure."""

import datetime
import decimal
from typing import TYPE_CHECKING, Any

from ottla.connect.data import DECIMAL, TIMESTAMP, DataError, Schema, Struct, Type
from ottla.connect.logical import scale_of

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_EXACT = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


def connect_row(schema: Schema, row: Any) -> Struct:
    """Of a tuple in the columns' order, a Row, or a dictionary."""
    if hasattr(row, "__fields__"):
        row = row.asDict()
    if isinstance(row, dict):
        held = [row.get(one.name) for one in schema.fields]
    else:
        held = list(row)
        if len(held) != len(schema.fields):
            raise DataError(f"A row of {len(held)} values has not {len(schema.fields)} columns")
    pairs = zip(schema.fields, held, strict=True)
    return Struct(schema, {one.name: _connect(one.schema, value) for one, value in pairs})


def _connect(schema: Schema, value: Any) -> Any:
    if value is None:
        return None
    if schema.name == DECIMAL:
        unit = decimal.Decimal(1).scaleb(-scale_of(schema))
        return _EXACT.quantize(decimal.Decimal(value), unit)
    if schema.name == TIMESTAMP and isinstance(value, datetime.datetime):
        at = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
        at = at.astimezone(datetime.UTC)
        return at.replace(microsecond=at.microsecond // 1000 * 1000)
    match schema.type:
        case Type.STRUCT:
            return connect_row(schema, value)
        case Type.ARRAY:
            assert schema.value_schema is not None
            return [_connect(schema.value_schema, one) for one in value]
        case Type.MAP:
            assert schema.value_schema is not None
            entries = value.items() if isinstance(value, dict) else value
            return {str(key): _connect(schema.value_schema, one) for key, one in entries}
        case Type.BYTES:
            return bytes(value)
        case Type.FLOAT32 | Type.FLOAT64:
            return float(value)
        case Type.STRING:
            return str(value)
    return value


def spark_row(columns: "StructType", value: Any) -> Any:
    """A Row of these columns; what a value lacks is null, what it has besides is left out."""
    from pyspark.sql import Row

    if not isinstance(value, Struct | dict):
        if len(columns) != 1:
            raise DataError("A value that is no struct cannot be a row of several columns")
        value = {columns[0].name: value}
    held = value.values if isinstance(value, Struct) else value
    made = Row(*(one.name for one in columns))
    return made(*(_spark(held.get(one.name)) for one in columns))


def _spark(value: Any) -> Any:
    match value:
        case Struct():
            return {name: _spark(one) for name, one in value.values.items()}
        case list():
            return [_spark(one) for one in value]
        case dict():
            return {key: _spark(one) for key, one in value.items()}
    return value
