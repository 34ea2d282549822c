"""PostgreSQL's types as Connect's schemas, and how their values are asked for."""

from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from ottla.connect.connector import ConnectError
from ottla.connect.connectors.jdbc import reading
from ottla.connect.connectors.jdbc.dialects.dialect import Column
from ottla.connect.connectors.jdbc.reading import Read, plain, temporal
from ottla.connect.data import Schema, Type

# A domain counts as what it is made of. Declared: to what a literal is cast before it is assigned,
# without a length (a cast would cut what an assignment refuses).
COLUMNS = """
SELECT a.attname, b.typname, NOT (a.attnotnull OR t.typnotnull),
  CASE WHEN b.typname = 'numeric' AND m.typmod > 0 THEN ((m.typmod - 4) >> 16) & 65535
       WHEN b.typname IN ('bit', 'varbit') AND m.typmod > 0
         OR b.typname IN ('timestamp', 'timestamptz') AND m.typmod >= 0 THEN m.typmod END,
  CASE WHEN b.typname = 'numeric' AND m.typmod > 0 THEN (((m.typmod - 4) & 2047) # 1024) - 1024 END,
  a.attidentity <> '' OR coalesce(pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%', false),
  coalesce(a.attnum = ANY (i.indkey), false), d.adbin IS NOT NULL OR a.attidentity <> '',
  CASE WHEN b.typname IN ('bpchar', 'varchar') THEN 'text' WHEN b.typname = 'bit' THEN 'varbit'
       ELSE format_type(b.oid, NULL) END
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_type t ON t.oid = a.atttypid
JOIN pg_type b ON b.oid = CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END
CROSS JOIN LATERAL (SELECT CASE t.typtype WHEN 'd' THEN t.typtypmod ELSE a.atttypmod END) m(typmod)
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.attgenerated = ''
LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
WHERE n.nspname = \0 AND c.relname = \0 AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum"""
TYPE_NAMES = "SELECT oid, typname FROM pg_type WHERE oid = ANY(\0::oid[])"

_PLAIN = {
    "bool": Type.BOOLEAN,
    "int2": Type.INT16,
    "int4": Type.INT32,
    "int8": Type.INT64,
    "oid": Type.INT64,
    "float4": Type.FLOAT32,
    "float8": Type.FLOAT64,
    "money": Type.FLOAT64,
    "bytea": Type.BYTES,
}
_TIMES = {
    "date": reading.DATE,
    "time": reading.TIME,
    "timetz": reading.TIME,
    "timestamp": reading.TIMESTAMP,
    "timestamptz": reading.TIMESTAMP,
}
_TEXTS = {"text", "varchar", "bpchar", "name", "char"}


def column(row: tuple[Any, ...]) -> Column:
    name, type_name, nullable, precision, scale, counted, key, has_default, declared = row
    return Column(
        name=name,
        type=type_name,
        nullable=nullable,
        precision=precision,
        scale=scale,
        auto_increment=counted,
        key=key,
        has_default=has_default,
        declared=declared,
    )


def described(one: Any, type_name: str) -> Column:
    """A column of a query: whether it may be null is not known, so it may."""
    precision, scale = one.precision, one.scale
    if type_name != "numeric" or precision == 65535:  # said of numbers without any
        precision, scale = (one.internal_size if type_name == "bit" else None), None
    return Column(name=one.name, type=type_name, precision=precision, scale=scale)


def schema(column: Column, mapping: str) -> Schema:
    if column.type.startswith("_"):
        element = Column(name=column.name, type=column.type[1:])
        return Schema(
            type=Type.ARRAY, optional=column.nullable, value_schema=schema(element, "best_fit")
        )
    if column.type in _PLAIN:
        return plain(_PLAIN[column.type], column.nullable)
    if column.type in _TIMES:
        return temporal(_TIMES[column.type], column.nullable)
    if column.type == "numeric":
        return reading.numeric(column.precision, column.scale, mapping, column.nullable)
    if column.type == "bit" and column.precision is not None and column.precision < 8:
        kind = Type.BOOLEAN if column.precision == 1 else Type.INT8
        return plain(kind, column.nullable)
    return plain(Type.STRING, column.nullable)


def expression(column: Column, quoted: str) -> str:
    if column.type == "money":
        return f"{quoted}::numeric"
    if column.type.startswith("_"):
        element = column.type[1:]
        is_plain = element in _PLAIN or element in _TIMES or element == "numeric"
        return quoted if is_plain and element != "money" else f"{quoted}::text[]"
    if column.type in _PLAIN or column.type in _TIMES or column.type in {"numeric", *_TEXTS}:
        return quoted
    return f"{quoted}::text"


def reader(column: Column, schema: Schema, zone: ZoneInfo) -> Read:
    if schema.type is Type.ARRAY:
        return _elements(column, schema, zone)
    if column.type == "bit" and schema.type is Type.BOOLEAN:
        return lambda value: value == "1"
    if column.type == "bit" and schema.type is Type.INT8:
        return lambda value: int(value, 2)
    return reading.reader(column.name, schema, zone)


def _elements(column: Column, schema: Schema, zone: ZoneInfo) -> Read:
    assert schema.value_schema is not None
    element = reader(Column(name=column.name, type=column.type[1:]), schema.value_schema, zone)

    def read(value: list[Any]) -> list[Any]:
        if any(isinstance(one, list) for one in value):
            raise ConnectError(f"Column {column.name} holds an array of several dimensions")
        return [None if one is None else element(one) for one in value]

    return read


def midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)
