"""Rows for PostgreSQL as one array for each column: a statement writes thousands of rows at once.

A value becomes the text of an array's element here; the database reads it as its column's type, so
a field fits whatever column takes its text. Columns are texts, of which arrays or lines are made.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from ottla.connect.connectors.jdbc.dialects.dialect import MARK, Column, Read
from ottla.connect.connectors.jdbc.semantics import Meaning, conversion, meaning
from ottla.connect.data import Schema
from ottla.connect.runs.fields import FieldColumn

if TYPE_CHECKING:
    import pyarrow

_TYPES = {
    Meaning.INT8: "SMALLINT",
    Meaning.INT16: "SMALLINT",
    Meaning.INT32: "INT",
    Meaning.INT64: "BIGINT",
    Meaning.FLOAT32: "REAL",
    Meaning.FLOAT64: "DOUBLE PRECISION",
    Meaning.BOOLEAN: "BOOLEAN",
    Meaning.STRING: "TEXT",
    Meaning.BYTES: "BYTEA",
    Meaning.DECIMAL: "DECIMAL",
    Meaning.DATE: "DATE",
    Meaning.TIME: "TIME",
    Meaning.INSTANT: "TIMESTAMP",
    Meaning.LOCAL_TIMESTAMP: "TIMESTAMP",
    Meaning.ZONED_TIMESTAMP: "TIMESTAMP WITH TIME ZONE",
    Meaning.ZONED_TIME: "TIME WITH TIME ZONE",
    Meaning.INTERVAL: "INTERVAL",
    Meaning.JSON: "JSON",
    Meaning.UUID: "UUID",
    Meaning.XML: "XML",
    Meaning.BITS: "BIT VARYING",
}

# COPY knows no rules and no policies, and writes numbers that only the table may give.
MAY_COPY = """
SELECT c.relkind IN ('r', 'p') AND NOT c.relhasrules AND NOT c.relrowsecurity
  AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attidentity = 'a')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = \0 AND c.relname = \0"""


def column_type(schema: Schema) -> str:
    kind = meaning(schema)
    if kind is Meaning.ARRAY:
        if schema.value_schema is None or meaning(schema.value_schema) is Meaning.ARRAY:
            raise ValueError("no column holds arrays of arrays")
        return column_type(schema.value_schema) + "[]"
    return _TYPES[kind]


def writer(schema: Schema, column: Column, zone: ZoneInfo) -> Read:
    """Gives the text of an array's element."""
    to_text = _to_text(schema, column, zone)
    if meaning(schema) in _BARE:
        return to_text
    return _quoted if to_text is str else lambda value: _quoted(to_text(value))


def _to_text(schema: Schema, column: Column, zone: ZoneInfo) -> Read:
    kind, convert = meaning(schema), conversion(schema)
    if kind is Meaning.ARRAY:
        assert schema.value_schema is not None
        return _array(writer(schema.value_schema, column, zone))
    if kind is Meaning.BITS and column.type in ("bit", "varbit") and column.precision:
        length = column.precision
        return lambda value: _bits(value).rjust(length, "0")
    to_text = _instant(zone) if kind is Meaning.INSTANT else _TEXTS.get(kind, str)
    if convert is None:
        return to_text
    return lambda value: to_text(convert(value))


def arrays(rows: Sequence[tuple[Any, ...]]) -> list[str]:
    """One for each column."""
    return [
        "{" + ",".join(["NULL" if one is None else one for one in values]) + "}"
        for values in zip(*rows, strict=True)
    ]


def texts(field: FieldColumn, column: Column, zone: ZoneInfo) -> "pyarrow.Array":
    """Of a column's values; null stays null."""
    import pyarrow

    plain = field.read is None and conversion(field.schema) is None
    if plain and meaning(field.schema) in _NODES:
        return field.nodes.cast(pyarrow.string())
    write = _to_text(field.schema, column, zone)
    found = [None if one is None else write(one) for one in field.values()]
    return pyarrow.array(found, pyarrow.string())


def array(texts: "pyarrow.Array") -> str:
    import pyarrow.compute

    quoted = _escaped(texts, {"\\": "\\\\", '"': '\\"'})
    elements = pyarrow.compute.binary_join_element_wise('"', quoted, '"', "")
    return "{" + _joined(elements.fill_null("NULL"), ",") + "}"


def lines(columns: "Sequence[pyarrow.Array]") -> str:
    """As COPY takes them."""
    import pyarrow.compute

    escapes = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
    cells = [_escaped(one, escapes).fill_null("\\N") for one in columns]
    return _joined(pyarrow.compute.binary_join_element_wise(*cells, "\t"), "\n") + "\n"


def _escaped(texts: "pyarrow.Array", escapes: Mapping[str, str]) -> "pyarrow.Array":
    import pyarrow.compute

    compute = pyarrow.compute
    for sign, escape in escapes.items():
        if compute.any(compute.match_substring(texts, sign)).as_py():
            texts = compute.replace_substring(texts, sign, escape)
    return texts


def _joined(texts: "pyarrow.Array", between: str) -> str:
    import pyarrow
    import pyarrow.compute

    ends = pyarrow.array([0, len(texts)], pyarrow.int32())
    joined = pyarrow.compute.binary_join(pyarrow.ListArray.from_arrays(ends, texts), between)
    said: str = joined[0].as_py()
    return said


def unnested(columns: Sequence[Column]) -> str:
    """A SELECT of rows from as many arrays, its columns named c0, c1, …"""
    casts = [one.declared or "text" for one in columns]
    names = ", ".join(f"c{at}" for at in range(len(columns)))
    # Arrays of arrays would be taken apart: these travel as text.
    taken = ", ".join(
        f"c{at}::{cast} AS c{at}" if cast.endswith("[]") else f"c{at}"
        for at, cast in enumerate(casts)
    )
    given = ", ".join(MARK + ("::text[]" if one.endswith("[]") else f"::{one}[]") for one in casts)
    return f"SELECT {taken} FROM unnest({given}) AS u({names})"


def _quoted(value: Any) -> str:
    text = str(value)
    if "\\" in text or '"' in text:
        text = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _float(value: float) -> str:
    return repr(value).replace("inf", "Infinity").replace("nan", "NaN")


def _bytes(value: bytes) -> str:
    return "\\x" + bytes(value).hex()


def _decimal(value: Decimal) -> str:
    return format(value, "f")


def _moment(value: datetime | date) -> str:
    return value.isoformat()


def _bits(value: bytes) -> str:
    return format(int.from_bytes(value, "little"), "b")


def _instant(zone: ZoneInfo) -> Read:
    """With its distance to UTC: a column without a zone takes the wall clock, one with it both."""
    return lambda value: value.astimezone(zone).isoformat()


def _array(element: Read) -> Read:
    def text(values: list[Any]) -> str:
        inner = ",".join("NULL" if one is None else element(one) for one in values)
        return "{" + inner + "}"

    return text


_TEXTS: dict[Meaning, Read] = {
    Meaning.FLOAT32: _float,
    Meaning.FLOAT64: _float,
    Meaning.BYTES: _bytes,
    Meaning.DECIMAL: _decimal,
    Meaning.DATE: _moment,
    Meaning.TIME: _moment,
    Meaning.LOCAL_TIMESTAMP: _moment,
}
_INTEGERS = (Meaning.INT8, Meaning.INT16, Meaning.INT32, Meaning.INT64)
# In an array their texts need no quotes.
_BARE = (*_INTEGERS, Meaning.FLOAT32, Meaning.FLOAT64, Meaning.BOOLEAN, Meaning.DECIMAL)
# Their values' texts are what JSON has.
_NODES = (
    *_INTEGERS,
    Meaning.STRING,
    Meaning.JSON,
    Meaning.UUID,
    Meaning.XML,
    Meaning.INTERVAL,
    Meaning.ZONED_TIME,
    Meaning.ZONED_TIMESTAMP,
)
