"""Columns' values as Connect's: schemas of numbers and times, and what values become. Pure."""

import decimal
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from ottla.connect.connector import ConnectError
from ottla.connect.data import Schema, Type

DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
DATE: Final = "org.apache.kafka.connect.data.Date"
TIME: Final = "org.apache.kafka.connect.data.Time"
TIMESTAMP: Final = "org.apache.kafka.connect.data.Timestamp"
NUMERIC_MAPPINGS: Final = ("none", "precision_only", "best_fit", "best_fit_eager_double")
# Of a decimal whose column says none. As Confluent's, where the driver tells that it is unknown.
SCALE_UNKNOWN: Final = 127
_EXACT = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}

Read = Callable[[Any], Any]


def plain(kind: Type, nullable: bool) -> Schema:
    return Schema(type=kind, optional=nullable)


def decimals(scale: int, nullable: bool) -> Schema:
    return Schema(
        type=Type.BYTES,
        name=DECIMAL,
        version=1,
        optional=nullable,
        parameters={"scale": str(scale)},
    )


def temporal(name: str, nullable: bool) -> Schema:
    kind = Type.INT64 if name == TIMESTAMP else Type.INT32
    return Schema(type=kind, name=name, version=1, optional=nullable)


def numeric(precision: int | None, scale: int | None, mapping: str, nullable: bool) -> Schema:
    """`numeric.mapping`: when an exact number becomes a primitive one."""
    if precision is None or scale is None:
        if mapping in ("best_fit", "best_fit_eager_double"):
            return plain(Type.FLOAT64, nullable)
        return decimals(SCALE_UNKNOWN, nullable)
    whole = scale == 0 if mapping == "precision_only" else scale < 1
    if mapping != "none" and whole and precision < 19:
        return plain(_integer(precision), nullable)
    if scale > 0 and (
        mapping == "best_fit_eager_double" or (mapping == "best_fit" and precision < 19)
    ):
        return plain(Type.FLOAT64, nullable)
    return decimals(scale, nullable)


def _integer(digits: int) -> Type:
    if digits > 9:
        return Type.INT64
    if digits > 4:
        return Type.INT32
    return Type.INT16 if digits > 2 else Type.INT8


def reader(column: str, schema: Schema, zone: ZoneInfo | None) -> Read:
    """zone: what a time without one means; None: UTC. Values are never null."""
    match schema.name:
        case "org.apache.kafka.connect.data.Decimal":
            return _decimal(column, int((schema.parameters or {})["scale"]))
        case "org.apache.kafka.connect.data.Date":
            return _date
        case "org.apache.kafka.connect.data.Time":
            return _time(column)
        case "org.apache.kafka.connect.data.Timestamp":
            return lambda value: in_milliseconds(in_utc(value, zone))
    if schema.type in _BITS:
        return _whole(column, _BITS[schema.type])
    return _PLAIN.get(schema.type, lambda value: value)


def in_utc(value: datetime, zone: ZoneInfo | None) -> datetime:
    return (value if value.tzinfo else value.replace(tzinfo=zone or UTC)).astimezone(UTC)


def in_milliseconds(value: datetime) -> datetime:
    return value.replace(microsecond=value.microsecond // 1000 * 1000)


_PLAIN: dict[Type, Read] = {
    Type.BOOLEAN: bool,
    Type.FLOAT32: float,
    Type.FLOAT64: float,
    Type.STRING: str,
    Type.BYTES: bytes,
}


def _whole(column: str, bits: int) -> Read:
    least, beyond = -(1 << bits - 1), 1 << bits - 1

    def read(value: Any) -> int:
        number = int(value)
        if not least <= number < beyond:
            raise ConnectError(f"Column {column} holds {number}, too large for {bits} bits")
        return number

    return read


def _decimal(column: str, scale: int) -> Read:
    unit = decimal.Decimal(1).scaleb(-scale, _EXACT)

    def read(value: Any) -> decimal.Decimal:
        number = decimal.Decimal(value)
        if not number.is_finite():
            raise ConnectError(f"Column {column} holds {number}, which Connect's Decimal cannot")
        fitting = number.quantize(unit, context=_EXACT)
        if fitting != number:
            raise ConnectError(f"Column {column} holds {number}, beyond a scale of {scale}")
        return fitting

    return read


def _date(value: Any) -> date:
    return value.date() if isinstance(value, datetime) else value


def _time(column: str) -> Read:
    def read(value: Any) -> time:
        if isinstance(value, timedelta):
            if not timedelta() <= value < timedelta(days=1):
                raise ConnectError(f"Column {column} holds {value}, which is no time of a day")
            value = (datetime.min + value).time()
        if value.tzinfo:
            value = datetime.combine(date(1970, 1, 1), value).astimezone(UTC).time()
        cut: time = value.replace(microsecond=value.microsecond // 1000 * 1000)
        return cut

    return read
