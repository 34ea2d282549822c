"""A column's DEFAULT as its schema's default, where Debezium reads one out of it. Pure."""

import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

from ottla.connect.connectors.mysql_cdc.binlog import Moment
from ottla.connect.connectors.mysql_cdc.stored_texts import (
    date_of,
    microseconds,
    moment_of,
    timestamp_of,
)
from ottla.connect.connectors.mysql_cdc.tables import Column, JdbcType
from ottla.connect.connectors.mysql_cdc.types import ColumnMapping
from ottla.connect.data import Struct, Type

_NUMBERS: Final = frozenset(
    [
        JdbcType.BIT,
        JdbcType.SMALLINT,
        JdbcType.INTEGER,
        JdbcType.BIGINT,
        JdbcType.FLOAT,
        JdbcType.REAL,
        JdbcType.DOUBLE,
        JdbcType.NUMERIC,
        JdbcType.DECIMAL,
    ]
)
_TRIMMED: Final = _NUMBERS | {
    JdbcType.DATE,
    JdbcType.TIMESTAMP,
    JdbcType.TIMESTAMP_WITH_TIMEZONE,
    JdbcType.TIME,
    JdbcType.BOOLEAN,
}
_ZERO_DAY: Final = r"(\d{4}-\d{2}-00|\d{4}-00-\d{2}|0000-\d{2}-\d{2})"
_ZERO_DATE: Final = re.compile(rf"{_ZERO_DAY}( 00:00:00(\.\d{{1,6}})?)?|0")
_EPOCH: Final = "1970-01-01 00:00:00"
_WIDE: Final = Context(prec=100)


def default(column: Column, mapping: ColumnMapping) -> Any:
    """None: the schema has none."""
    text = column.default
    if text is None:
        return None
    if column.jdbc_type in _TRIMMED:
        text = text.strip()
    try:
        stored = _stored(column, mapping, text)
        value = None if stored is None else mapping.convert(stored)
    except (ValueError, ArithmeticError):
        return None
    return None if isinstance(value, Struct) else value


def _stored(column: Column, mapping: ColumnMapping, text: str) -> Any:
    """What the binlog would hold; None: no default."""
    kind = column.jdbc_type
    if kind in _NUMBERS and text.lower() in ("true", "false"):
        text = "1" if text.lower() == "true" else "0"
    if column.type_name.split()[0] == "YEAR":
        return int(text)
    match kind:
        case JdbcType.DATE:
            return _date(column, text)
        case JdbcType.TIMESTAMP:
            return _datetime(column, text)
        case JdbcType.TIMESTAMP_WITH_TIMEZONE:
            if _ZERO_DATE.fullmatch(text) or text == _EPOCH:
                return None if column.optional else 0
            return timestamp_of(text.encode())
        case JdbcType.TIME:
            return microseconds(text.partition(" ")[2].encode() or text.encode())
        case JdbcType.BOOLEAN:
            return int(text) if text.isdigit() else text.lower() == "true"
        case JdbcType.BIT:
            return _bits(column, text)
        case JdbcType.NUMERIC | JdbcType.DECIMAL:
            unit = Decimal((0, (1,), -(column.scale or 0)))
            return Decimal(text).quantize(unit, ROUND_HALF_UP, _WIDE)
        case JdbcType.FLOAT | JdbcType.REAL | JdbcType.DOUBLE:
            return float(text)
        case JdbcType.SMALLINT | JdbcType.INTEGER | JdbcType.BIGINT:
            exact = mapping.schema.type is not Type.INT64 and re.fullmatch(r"[+-]?\d+", text)
            return int(text) if exact else _rounded(text)
    return text


def _rounded(text: str) -> int:
    """Through a double and into 64 bits, as Debezium has defaults of BIGINT."""
    value = float(text)
    whole = int(value) if abs(value) >= 1 << 52 else math.floor(value + 0.5)
    return max(-(1 << 63), min(whole, (1 << 63) - 1))


def _date(column: Column, text: str) -> Moment | None:
    if _ZERO_DATE.fullmatch(text):
        return None if column.optional else Moment(1970, 1, 1, 0)
    return date_of(text.encode())


def _datetime(column: Column, text: str) -> Moment | None:
    if _ZERO_DATE.fullmatch(text):
        return None if column.optional else Moment(1970, 1, 1, 0)
    return moment_of(text.encode())


def _bits(column: Column, text: str) -> bytes:
    if (column.length or 1) == 1:
        return bytes([text not in ("0", "false")])
    return int(text, 2).to_bytes((len(text) + 7) // 8, "big")
