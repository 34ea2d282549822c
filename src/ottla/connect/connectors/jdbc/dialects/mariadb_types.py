"""MariaDB's types as Connect's schemas and the other way round."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from pymysql.constants import FIELD_TYPE, FLAG

from ottla.connect.connector import ConnectError
from ottla.connect.connectors.jdbc import reading
from ottla.connect.connectors.jdbc.dialects.dialect import Column
from ottla.connect.connectors.jdbc.reading import SCALE_UNKNOWN, Read, plain, temporal
from ottla.connect.connectors.jdbc.semantics import Meaning, conversion, meaning
from ottla.connect.data import Schema, Type

COLUMNS = """
SELECT column_name, data_type, is_nullable, coalesce(numeric_precision, datetime_precision),
  numeric_scale, column_type, extra, column_key, column_default
FROM information_schema.columns WHERE table_schema = \0 AND table_name = \0
ORDER BY ordinal_position"""
_SIGNED = {
    "tinyint": Type.INT8,
    "smallint": Type.INT16,
    "mediumint": Type.INT32,
    "int": Type.INT32,
    "bigint": Type.INT64,
}
_UNSIGNED = _SIGNED | {"tinyint": Type.INT16, "smallint": Type.INT32, "int": Type.INT64}
_BYTES = {
    "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "geometry", "point",
    "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection",
}  # fmt: skip
_TIMES = {
    "date": reading.DATE,
    "year": reading.DATE,  # its first day, as the Java drivers have it
    "time": reading.TIME,
    "datetime": reading.TIMESTAMP,
    "timestamp": reading.TIMESTAMP,
}
_DESCRIBED = {
    FIELD_TYPE.TINY: "tinyint",
    FIELD_TYPE.SHORT: "smallint",
    FIELD_TYPE.INT24: "mediumint",
    FIELD_TYPE.LONG: "int",
    FIELD_TYPE.LONGLONG: "bigint",
    FIELD_TYPE.FLOAT: "float",
    FIELD_TYPE.DOUBLE: "double",
    FIELD_TYPE.DECIMAL: "decimal",
    FIELD_TYPE.NEWDECIMAL: "decimal",
    FIELD_TYPE.BIT: "bit",
    FIELD_TYPE.YEAR: "year",
    FIELD_TYPE.DATE: "date",
    FIELD_TYPE.NEWDATE: "date",
    FIELD_TYPE.TIME: "time",
    FIELD_TYPE.DATETIME: "datetime",
    FIELD_TYPE.TIMESTAMP: "timestamp",
    FIELD_TYPE.GEOMETRY: "geometry",
}
_BINARY = 63  # the character set of what has none
_TYPES = {
    Meaning.INT8: "TINYINT",
    Meaning.INT16: "SMALLINT",
    Meaning.INT32: "INT",
    Meaning.INT64: "BIGINT",
    Meaning.FLOAT32: "FLOAT",
    Meaning.FLOAT64: "DOUBLE",
    Meaning.BOOLEAN: "TINYINT",
    Meaning.BYTES: "VARBINARY(1024)",
    Meaning.DATE: "DATE",
    Meaning.TIME: "TIME(3)",
    Meaning.INSTANT: "DATETIME(3)",
    Meaning.LOCAL_TIMESTAMP: "DATETIME(6)",
    Meaning.ZONED_TIMESTAMP: "DATETIME(6)",
    Meaning.ZONED_TIME: "TIME(6)",
    Meaning.JSON: "JSON",
}
PRECISION_MAX, SCALE_MAX = 65, 38


def column(row: tuple[Any, ...]) -> Column:
    name, kind, nullable, precision, scale, declared, extra, key, default = row
    return Column(
        name=name,
        type=kind.lower(),
        nullable=nullable == "YES",
        precision=precision,
        scale=scale,
        unsigned="unsigned" in declared,
        auto_increment="auto_increment" in extra,
        key=key == "PRI",
        has_default=default is not None or "auto_increment" in extra,
        declared=declared,
    )


def described(one: Any) -> Column:
    """A column of a query, by what the protocol tells of it."""
    kind = _DESCRIBED.get(one.type_code)
    if kind is None:
        kind = "blob" if one.charsetnr == _BINARY else "text"
    precision = one.length
    if kind in _TIMES:
        precision = one.scale if one.scale <= 6 else 6
    if kind == "decimal":  # the length counts the sign and the point
        precision -= (0 if one.flags & FLAG.UNSIGNED else 1) + (1 if one.scale else 0)
    return Column(
        name=one.name,
        type=kind,
        nullable=not one.flags & FLAG.NOT_NULL,
        precision=precision,
        scale=one.scale,
        unsigned=bool(one.flags & FLAG.UNSIGNED),
    )


def schema(column: Column, mapping: str) -> Schema:
    integers = _UNSIGNED if column.unsigned else _SIGNED
    if column.type in integers:
        return plain(integers[column.type], column.nullable)
    if column.type in _TIMES:
        return temporal(_TIMES[column.type], column.nullable)
    if column.type == "decimal":
        return reading.numeric(column.precision, column.scale, mapping, column.nullable)
    if column.type == "bit":
        return _bits(column)
    if column.type in ("float", "double"):
        kind = Type.FLOAT32 if column.type == "float" else Type.FLOAT64
        return plain(kind, column.nullable)
    return plain(Type.BYTES if column.type in _BYTES else Type.STRING, column.nullable)


def _bits(column: Column) -> Schema:
    """As the smallest integer that holds them."""
    bits = column.precision or 1
    for kind, held in ((Type.INT8, 7), (Type.INT16, 15), (Type.INT32, 31), (Type.INT64, 63)):
        if bits <= held:
            return plain(kind, column.nullable)
    return reading.decimals(0, column.nullable)


def reader(column: Column, schema: Schema, zone: ZoneInfo) -> Read:
    if column.type == "bit":
        return lambda value: int.from_bytes(value, "big")
    if column.type == "year":
        return lambda value: date(int(value) or 1, 1, 1)
    as_schema = reading.reader(column.name, schema, zone_of(column, zone))
    if column.type in _TIMES:
        return _unless_zero(column, as_schema)
    if schema.type is Type.STRING:
        return lambda value: value.decode() if isinstance(value, bytes) else str(value)
    return as_schema


def _unless_zero(column: Column, read: Read) -> Read:
    def checked(value: Any) -> Any:
        if isinstance(value, str):  # the driver has no date for 0000-00-00
            if column.nullable:
                return None
            raise ConnectError(f"Column {column.name} holds {value}, which is no date")
        return read(value)

    return checked


def zone_of(column: Column, zone: ZoneInfo) -> ZoneInfo:
    """TIMESTAMP is kept in UTC, and so is this session; DATETIME stands as it was written."""
    return ZoneInfo("UTC") if column.type == "timestamp" else zone


def column_type(schema: Schema, key: bool) -> str:
    kind = meaning(schema)
    if kind is Meaning.ARRAY:
        raise ValueError("no column of MariaDB's holds an array")
    if kind is Meaning.DECIMAL:
        scale = int((schema.parameters or {}).get("scale", SCALE_UNKNOWN))
        return f"DECIMAL({PRECISION_MAX},{min(max(scale, 0), SCALE_MAX)})"
    if kind is Meaning.BYTES and key:
        return "VARBINARY(256)"
    return _TYPES.get(kind) or ("VARCHAR(256)" if key else "TEXT")


def writer(schema: Schema, column: Column, zone: ZoneInfo) -> Read | None:
    kind, convert = meaning(schema), conversion(schema)
    finish = _finish(kind, zone_of(column, zone))
    if convert is None or finish is None:
        return convert or finish
    first, then = convert, finish
    return lambda value: then(first(value))


def _finish(kind: Meaning, zone: ZoneInfo) -> Callable[[Any], Any] | None:
    if kind is Meaning.INSTANT:
        return lambda value: value.astimezone(zone).replace(tzinfo=None)
    if kind is Meaning.ZONED_TIMESTAMP:
        return lambda value: _zoned(value).astimezone(zone).replace(tzinfo=None)
    if kind is Meaning.ZONED_TIME:
        return lambda value: value.rstrip("Z").partition("+")[0]
    return None


def _zoned(value: str) -> datetime:
    parsed = datetime.fromisoformat(value)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
