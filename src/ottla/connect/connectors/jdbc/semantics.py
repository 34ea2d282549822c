"""What a field means to a database: Connect's logical types and Debezium's, as one word each.

Debezium's times are numbers with a name; here they become Python's. Pure.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, auto
from typing import Any, Final

from ottla.connect.connectors.jdbc.reading import DATE, DECIMAL, TIME, TIMESTAMP
from ottla.connect.data import Schema, Struct, Type


class Meaning(Enum):
    INT8 = auto()
    INT16 = auto()
    INT32 = auto()
    INT64 = auto()
    FLOAT32 = auto()
    FLOAT64 = auto()
    BOOLEAN = auto()
    STRING = auto()
    BYTES = auto()
    DECIMAL = auto()  # decimal.Decimal
    DATE = auto()  # datetime.date
    TIME = auto()  # datetime.time
    INSTANT = auto()  # datetime in UTC: shown to the database in its time zone
    LOCAL_TIMESTAMP = auto()  # datetime without a zone: it stands as it is
    ZONED_TIMESTAMP = auto()  # text
    ZONED_TIME = auto()  # text
    INTERVAL = auto()  # text, ISO 8601
    JSON = auto()  # text
    UUID = auto()  # text
    XML = auto()  # text
    BITS = auto()  # text, of 0 and 1
    ARRAY = auto()


Convert = Callable[[Any], Any]
_EPOCH = datetime(1970, 1, 1)  # of a wall clock
_DAY = date(1970, 1, 1)


def meaning(schema: Schema) -> Meaning:
    """ValueError: no column can hold it."""
    found = _NAMED.get(schema.name or "")
    if found is not None:
        return found[0]
    try:
        return _PLAIN[schema.type]
    except KeyError:
        raise ValueError(f"no column holds a value of type {schema.type.name}") from None


def conversion(schema: Schema) -> Convert | None:
    """From a field's value to what its meaning says; None: it is that already."""
    found = _NAMED.get(schema.name or "")
    return None if found is None else found[1]


def _local(unit_us: float) -> Convert:
    return lambda value: _EPOCH + timedelta(microseconds=value * unit_us)


def _nanoseconds(value: int) -> datetime:
    return _EPOCH + timedelta(microseconds=value // 1000)


def _clock(per_us: int, times_us: int) -> Convert:
    def convert(value: int) -> time:
        return (_EPOCH + timedelta(microseconds=value * times_us // per_us)).time()

    return convert


def _duration(value: int) -> str:

    seconds, rest = divmod(abs(value), 1_000_000)
    return f"PT{'-' if value < 0 else ''}{seconds}.{rest:06d}S"


def _variable_scale(value: Struct) -> Decimal:
    unscaled = int.from_bytes(value.values["value"], "big", signed=True)
    return Decimal(unscaled).scaleb(-int(value.values["scale"]))


def _bits(value: bytes) -> str:
    return format(int.from_bytes(value, "little"), f"0{len(value) * 8}b")


def _instant(value: datetime) -> datetime:
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def _iso(kind: type[date] | type[time]) -> Convert:
    return lambda value: kind.fromisoformat(value.rstrip("Z"))


_PLAIN: Final = {
    Type.INT8: Meaning.INT8,
    Type.INT16: Meaning.INT16,
    Type.INT32: Meaning.INT32,
    Type.INT64: Meaning.INT64,
    Type.FLOAT32: Meaning.FLOAT32,
    Type.FLOAT64: Meaning.FLOAT64,
    Type.BOOLEAN: Meaning.BOOLEAN,
    Type.STRING: Meaning.STRING,
    Type.BYTES: Meaning.BYTES,
    Type.ARRAY: Meaning.ARRAY,
}
_NAMED: Final[dict[str, tuple[Meaning, Convert | None]]] = {
    DECIMAL: (Meaning.DECIMAL, None),
    DATE: (Meaning.DATE, None),
    TIME: (Meaning.TIME, None),
    TIMESTAMP: (Meaning.INSTANT, _instant),
    "io.debezium.time.Date": (Meaning.DATE, lambda value: _DAY + timedelta(days=value)),
    "io.debezium.time.Time": (Meaning.TIME, _clock(1, 1000)),
    "io.debezium.time.MicroTime": (Meaning.TIME, _clock(1, 1)),
    "io.debezium.time.NanoTime": (Meaning.TIME, _clock(1000, 1)),
    "io.debezium.time.Timestamp": (Meaning.LOCAL_TIMESTAMP, _local(1000)),
    "io.debezium.time.MicroTimestamp": (Meaning.LOCAL_TIMESTAMP, _local(1)),
    "io.debezium.time.NanoTimestamp": (Meaning.LOCAL_TIMESTAMP, _nanoseconds),
    "io.debezium.time.IsoDate": (Meaning.DATE, _iso(date)),
    "io.debezium.time.IsoTime": (Meaning.TIME, _iso(time)),
    "io.debezium.time.IsoTimestamp": (Meaning.LOCAL_TIMESTAMP, _iso(datetime)),
    "io.debezium.time.ZonedTimestamp": (Meaning.ZONED_TIMESTAMP, None),
    "io.debezium.time.ZonedTime": (Meaning.ZONED_TIME, None),
    "io.debezium.time.Year": (Meaning.INT32, None),
    "io.debezium.time.MicroDuration": (Meaning.INTERVAL, _duration),
    "io.debezium.time.Interval": (Meaning.INTERVAL, None),
    "io.debezium.data.Json": (Meaning.JSON, None),
    "io.debezium.data.Uuid": (Meaning.UUID, None),
    "io.debezium.data.Xml": (Meaning.XML, None),
    "io.debezium.data.Bits": (Meaning.BITS, _bits),
    "io.debezium.data.VariableScaleDecimal": (Meaning.DECIMAL, _variable_scale),
}
