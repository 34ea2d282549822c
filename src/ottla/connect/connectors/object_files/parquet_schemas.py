"""Connect's schemas and values in Arrow's form, of which Parquet files are made."""

from typing import TYPE_CHECKING, Any

from ottla.connect.data import DATE, DECIMAL, TIME, TIMESTAMP, Schema, Struct, Type
from ottla.connect.logical import scale_of

if TYPE_CHECKING:
    import pyarrow


def arrow_schema(schema: Schema) -> "pyarrow.Schema":
    import pyarrow

    return pyarrow.schema([_field(one.name, one.schema) for one in schema.fields])


def _field(name: str, schema: Schema) -> Any:
    import pyarrow

    return pyarrow.field(name, _type(schema), nullable=schema.optional)


def _type(schema: Schema) -> Any:
    import pyarrow

    logical = {
        DATE: pyarrow.date32(),
        TIME: pyarrow.time32("ms"),
        TIMESTAMP: pyarrow.timestamp("ms", tz="UTC"),
    }
    if schema.name in logical:
        return logical[schema.name]
    if schema.name == DECIMAL:
        return pyarrow.decimal128(38, scale_of(schema))
    match schema.type:
        case Type.STRUCT:
            return pyarrow.struct([_field(one.name, one.schema) for one in schema.fields])
        case Type.ARRAY:
            return pyarrow.list_(_field("element", _known(schema.value_schema)))
        case Type.MAP:
            return pyarrow.map_(
                _type(_known(schema.key_schema)), _field("value", _known(schema.value_schema))
            )
    return {
        Type.INT8: pyarrow.int8(),
        Type.INT16: pyarrow.int16(),
        Type.INT32: pyarrow.int32(),
        Type.INT64: pyarrow.int64(),
        Type.FLOAT32: pyarrow.float32(),
        Type.FLOAT64: pyarrow.float64(),
        Type.BOOLEAN: pyarrow.bool_(),
        Type.STRING: pyarrow.string(),
        Type.BYTES: pyarrow.binary(),
    }[schema.type]


def _known(schema: Schema | None) -> Schema:
    return schema or Schema(type=Type.STRING, optional=True)


def arrow_value(schema: Schema | None, value: Any) -> Any:
    if value is None and schema is not None:
        value = schema.default
    match value:
        case Struct():
            return {
                one.name: arrow_value(one.schema, value.values.get(one.name))
                for one in value.schema.fields
            }
        case list():
            return [arrow_value(None if schema is None else schema.value_schema, x) for x in value]
        case dict():
            values = None if schema is None else schema.value_schema
            return [(key, arrow_value(values, one)) for key, one in value.items()]
    return value
