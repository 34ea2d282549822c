"""A column's DEFAULT as its schema's default, where Debezium reads one out of it. Pure."""

import re
from typing import Any, Final

from ottla.connect.connectors.postgres_cdc.tables import Column
from ottla.connect.connectors.postgres_cdc.types import ColumnMapping
from ottla.connect.data import Struct

_LITERAL: Final = re.compile(r"'([^']*(?:''[^']*)*)'")
_FUNCTION: Final = re.compile(r"[(]?[A-Za-z0-9_.]+\((?:.+)?\)")
_NOW: Final = frozenset(
    ["current_timestamp", "current_time", "current_date", "localtime", "localtimestamp"]
)
# In place of what a function computes; types that are not here have no defaults.
_COMPUTED: Final = {
    "bit": "00",
    "varbit": "0",
    "bool": "false",
    "bpchar": "",
    "varchar": "",
    "text": "",
    "numeric": "0.0",
    "float4": "0.0",
    "float8": "0.0",
    "int2": "0",
    "int4": "0",
    "int8": "0",
    "json": "{}",
    "jsonb": "{}",
    "xml": "",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "date": "1970-01-01",
    "time": "00:00:00",
    "timestamp": "1970-01-01 00:00:00",
    "timestamptz": "1970-01-01 00:00:00+00",
    "interval": "00:00:00",
}


def default(column: Column, mapping: ColumnMapping) -> Any:
    """None: the schema has none."""
    expression = column.default
    if expression is None or column.type.domain or column.type.element:
        return None
    text = _enum(expression) if column.type.labels else _text(column.type.name, expression)
    if text is None:
        return None
    try:
        value = mapping.convert(text)
    except (ValueError, ArithmeticError):
        return None
    return None if isinstance(value, Struct) else value


def _enum(expression: str) -> str | None:
    literal, cast, _type = expression.rpartition("::")
    quoted = cast and literal.startswith("'") and literal.endswith("'")
    return literal[1:-1] if quoted else None


def _text(name: str, expression: str) -> str | None:
    computed = _COMPUTED.get(name)
    if computed is None or expression.startswith("NULL::"):
        return None
    if _FUNCTION.match(expression) or expression.lower() in _NOW:
        return computed
    if "'" in expression:
        literal = _LITERAL.search(expression)
        found = literal[1].replace("''", "'") if literal else None
    else:
        found = expression
    if name == "bool" and found is not None:
        return "t" if found.lower() == "true" else "f"
    return found
