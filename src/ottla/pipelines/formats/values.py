"""What keeps values as they are on their way through topics and Python: as SQL, by Spark's types.

Types come from the frames that Spark has analysed, never from a guess. What only we read travels as
Spark's own binary rows (`runtime/jvm/RowCodec.java`), as text where a state or a Python worker
wants text. What others read is JSON, in which a timestamp keeps its microseconds and a map's keys
are text.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType


def quoted(text: str) -> str:
    """The text as a literal of Spark's SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def name(column: str) -> str:
    return "`" + column.replace("`", "``") + "`"


def struct_of(columns: Iterable[str]) -> str:
    return f"struct({', '.join(map(name, columns))})"


def row_bytes(struct: str) -> str:
    """A struct as bytes that `struct_from_bytes` gives back."""
    return f"ottla_row({struct})"


def row_text(struct: str) -> str:
    """The same as text."""
    return f"base64({row_bytes(struct)})"


def struct_from_bytes(sql: str, type: "StructType", before: "Sequence[StructType]" = ()) -> str:
    """`before` are types that rows may have that were written by earlier runs."""
    types = ", ".join(quoted(one.json()) for one in (type, *before))
    return f"ottla_row_of({sql}, {types})"


def struct_from_text(sql: str, type: "StructType") -> str:
    """As before; JSON, which earlier versions kept their rows in, is read as well."""
    row = struct_from_bytes(f"unbase64({sql})", type)
    if not is_common(type):
        return row
    return f"if(startswith({sql}, '{{'), {struct_from_json(sql, type)}, {row})"


def struct_from_json(sql: str, type: "StructType") -> str:
    return f"from_json({sql}, {quoted(ddl(type))})"


def ddl(type: "StructType") -> str:
    return ", ".join(f"{name(field.name)} {field.dataType.simpleString()}" for field in type)


def json_of(type: "StructType", columns: Iterable[str] | None = None) -> str:
    """Columns of a frame of this type as the text of a JSON object; every field is there."""
    types = {field.name: field.dataType for field in type}
    chosen = list(types if columns is None else columns)
    parts = (f"{json_value(name(column), types[column])} AS {name(column)}" for column in chosen)
    return f"to_json(struct({', '.join(parts)}), map('ignoreNullFields', 'false'))"


def json_of_one(sql: str, type: "DataType") -> str:
    """A single value as JSON; what `to_json` takes are objects."""
    whole = f"to_json(named_struct('v', {json_value(sql, type)}), map('ignoreNullFields', 'false'))"
    return f"if({sql} IS NULL, NULL, regexp_extract({whole}, '(?s)^.{{5}}(.*).$', 1))"


def json_value(sql: str, type: "DataType", depth: int = 0) -> str:
    """The value in a form that to_json writes whole; most are, as they stand."""
    from pyspark.sql import types as t

    if not _needs_care(type):
        return sql
    match type:
        case t.TimestampType():
            return _time_text(sql, "XXX")
        case t.TimestampNTZType():
            return _time_text(sql, "")
        case t.ArrayType(elementType=element):
            one = f"e{depth}"
            return f"transform({sql}, {one} -> {json_value(one, element, depth + 1)})"
        case t.MapType(keyType=key, valueType=value):
            k, v = f"k{depth}", f"v{depth}"
            made = json_value(v, value, depth + 1)
            texts = f"transform_keys({sql}, ({k}, {v}) -> {_key_text(k, key)})"
            return f"transform_values({texts}, ({k}, {v}) -> {made})"
        case t.StructType(fields=fields):
            parts = ", ".join(
                f"{quoted(f.name)}, {json_value(f'{sql}.{name(f.name)}', f.dataType, depth)}"
                for f in fields
            )
            return f"if({sql} IS NULL, NULL, named_struct({parts}))"
    raise AssertionError(type)


def is_common(type: "DataType") -> bool:
    """Whether JSON, and Avro, in which Spark describes its states, have words for it: in both a
    map's keys are text. Then `from_json` gives back what `json_of` wrote."""
    from pyspark.sql import types as t

    match type:
        case t.ArrayType(elementType=element):
            return is_common(element)
        case t.MapType(keyType=key, valueType=value):
            return isinstance(key, t.StringType) and is_common(value)
        case t.StructType(fields=fields):
            return all(is_common(field.dataType) for field in fields)
    return isinstance(
        type,
        t.StringType | t.BinaryType | t.BooleanType | t.DateType | t.DecimalType | t.ByteType
        | t.ShortType | t.IntegerType | t.LongType | t.FloatType | t.DoubleType
        | t.TimestampType | t.TimestampNTZType,
    )  # fmt: skip


def _needs_care(type: "DataType") -> bool:
    from pyspark.sql import types as t

    match type:
        case t.ArrayType(elementType=element):
            return _needs_care(element)
        case t.MapType(keyType=key, valueType=value):
            return not isinstance(key, t.StringType) or _needs_care(value)
        case t.StructType(fields=fields):
            return any(_needs_care(field.dataType) for field in fields)
    return isinstance(type, t.TimestampType | t.TimestampNTZType)


def _time_text(sql: str, zone: str) -> str:
    short, long = (quoted(f"yyyy-MM-dd'T'HH:mm:ss.{digits}{zone}") for digits in ("SSS", "SSSSSS"))
    return (
        f"if(unix_micros({sql}) % 1000 = 0, date_format({sql}, {short}), "
        f"date_format({sql}, {long}))"
    )


def _key_text(sql: str, type: "DataType") -> str:
    from pyspark.sql import types as t

    match type:
        case t.TimestampType():
            return _time_text(sql, "XXX")
        case t.TimestampNTZType():
            return _time_text(sql, "")
        case t.BinaryType():
            return f"base64({sql})"
        case t.ArrayType() | t.StructType() | t.MapType():
            return f"to_json({sql})"
    return f"cast({sql} AS string)"
