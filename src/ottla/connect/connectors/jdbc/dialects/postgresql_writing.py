"""Rows for PostgreSQL as one array for each column: a statement writes thousands of rows at once.

A value becomes the text of an array's element here; the database reads it as its column's type, so
a field fits whatever column takes its text.
"""

from collections.abc import Sequence
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


_INTEGERS = (Meaning.INT8, Meaning.INT16, Meaning.INT32, Meaning.INT64)


def column_type(schema: Schema) -> str:
    kind = meaning(schema)
    if kind is Meaning.ARRAY:
        if schema.value_schema is None or meaning(schema.value_schema) is Meaning.ARRAY:
            raise ValueError("no column holds arrays of arrays")
        return column_type(schema.value_schema) + "[]"
    return _TYPES[kind]


def writer(schema: Schema, column: Column, zone: ZoneInfo) -> Read:
    """Gives the text of an array's element."""
    kind, convert = meaning(schema), conversion(schema)
    if kind is Meaning.ARRAY:
        assert schema.value_schema is not None
        return _array(writer(schema.value_schema, column, zone))
    if kind is Meaning.BITS and column.type in ("bit", "varbit") and column.precision:
        length = column.precision
        return lambda value: _quoted(_bits(value).rjust(length, "0"))
    to_text = _instant(zone) if kind is Meaning.INSTANT else _TO_TEXT.get(kind, str)
    if convert is None:
        return to_text
    return lambda value: to_text(convert(value))


def arrays(rows: Sequence[tuple[Any, ...]]) -> list[str]:
    """One for each column."""
    return [
        "{" + ",".join(["NULL" if one is None else one for one in values]) + "}"
        for values in zip(*rows, strict=True)
    ]


def array(field: FieldColumn, column: Column, zone: ZoneInfo) -> str:
    """The same of a column: as one piece where its nodes are what the database reads."""
    kind = meaning(field.schema)
    plain = field.read is None and conversion(field.schema) is None
    if plain and (kind in _INTEGERS or _TO_TEXT.get(kind) is _quoted):
        return _in_one_piece(field.nodes, quotes=kind not in _INTEGERS)
    write = writer(field.schema, column, zone)
    return "{" + ",".join(["NULL" if one is None else write(one) for one in field.values()]) + "}"


def _in_one_piece(nodes: "pyarrow.Array", *, quotes: bool) -> str:
    import pyarrow
    import pyarrow.compute

    compute = pyarrow.compute
    texts = nodes.cast(pyarrow.string())
    if quotes:
        for sign in ("\\", '"'):
            if compute.any(compute.match_substring(texts, sign)).as_py():
                texts = compute.replace_substring(texts, sign, "\\" + sign)
        texts = compute.binary_join_element_wise('"', texts, '"', "")
    if texts.null_count:
        texts = texts.fill_null("NULL")
    ends = pyarrow.array([0, len(texts)], pyarrow.int32())
    joined = compute.binary_join(pyarrow.ListArray.from_arrays(ends, texts), ",")
    return f"{{{joined[0].as_py()}}}"


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
    return '"\\\\x' + bytes(value).hex() + '"'


def _decimal(value: Decimal) -> str:
    return format(value, "f")


def _moment(value: datetime | date) -> str:
    return f'"{value.isoformat()}"'


def _bits(value: bytes) -> str:
    return format(int.from_bytes(value, "little"), "b")


def _instant(zone: ZoneInfo) -> Read:
    """With its distance to UTC: a column without a zone takes the wall clock, one with it both."""
    return lambda value: f'"{value.astimezone(zone).isoformat()}"'


def _array(element: Read) -> Read:
    def text(values: list[Any]) -> str:
        inner = ",".join("NULL" if one is None else element(one) for one in values)
        return _quoted("{" + inner + "}")

    return text


_TO_TEXT: dict[Meaning, Read] = {
    Meaning.FLOAT32: _float,
    Meaning.FLOAT64: _float,
    Meaning.BYTES: _bytes,
    Meaning.DECIMAL: _decimal,
    Meaning.DATE: _moment,
    Meaning.TIME: _moment,
    Meaning.LOCAL_TIMESTAMP: _moment,
    Meaning.STRING: _quoted,
    Meaning.JSON: _quoted,
    Meaning.UUID: _quoted,
    Meaning.XML: _quoted,
    Meaning.INTERVAL: _quoted,
    Meaning.ZONED_TIME: _quoted,
    Meaning.ZONED_TIMESTAMP: _quoted,
    Meaning.BITS: _quoted,
}
