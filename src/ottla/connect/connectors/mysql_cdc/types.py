"""Columns of MariaDB's and MySQL's types as Connect's schemas and values, as Debezium's. Pure.

A change has values as they are stored (`binlog`), a snapshot has texts in the column's character
set. `parse` makes of a text what would be stored, and `convert` of either what a record has.
"""

import base64
import datetime as dt
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from ottla.connect.connector import ConnectError
from ottla.connect.connectors.debezium.days import (
    DAY_US,
    days_since_epoch,
    iso_date,
    iso_time,
    iso_timestamp,
)
from ottla.connect.connectors.mysql_cdc.binlog import Moment
from ottla.connect.connectors.mysql_cdc.charsets import codec
from ottla.connect.connectors.mysql_cdc.stored_texts import (
    date_of,
    microseconds,
    moment_of,
    timestamp_of,
)
from ottla.connect.connectors.mysql_cdc.tables import TEXTS, Column, JdbcType
from ottla.connect.data import Field, Schema, Struct, Type


@dataclass(frozen=True, slots=True, kw_only=True)
class Modes:
    """The keys that choose among representations."""

    decimal: str = "precise"
    time_precision: str = "adaptive_time_microseconds"
    bigint_unsigned: str = "long"
    binary: str = "bytes"
    adjusts_years: bool = True  # enable.time.adjuster: years of two digits


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """How one column's values look."""

    schema: Schema
    convert: Callable[[Any], Any]  # None: a value that no record can have
    parse: Callable[[bytes], Any]
    fallback: Any  # in place of a null where the column has none


def _named(type_: Type, name: str) -> Schema:
    return Schema(type=type_, name=name, version=1)


_STRING: Final = Schema(type=Type.STRING)
_INT16, _INT32, _INT64 = (Schema(type=one) for one in (Type.INT16, Type.INT32, Type.INT64))
_FLOAT32, _FLOAT64 = Schema(type=Type.FLOAT32), Schema(type=Type.FLOAT64)
_BOOLEAN, _BYTES = Schema(type=Type.BOOLEAN), Schema(type=Type.BYTES)
_OPTIONAL_BYTES, _OPTIONAL_INT32 = replace(_BYTES, optional=True), replace(_INT32, optional=True)
_POINT: Final = Schema(
    type=Type.STRUCT,
    name="io.debezium.data.geometry.Point",
    version=1,
    doc="Geometry (POINT)",
    fields=(
        Field("x", _FLOAT64),
        Field("y", _FLOAT64),
        Field("wkb", _OPTIONAL_BYTES),
        Field("srid", _OPTIONAL_INT32),
    ),
)
_GEOMETRY: Final = Schema(
    type=Type.STRUCT,
    name="io.debezium.data.geometry.Geometry",
    version=1,
    doc="Geometry",
    fields=(Field("wkb", _BYTES), Field("srid", _OPTIONAL_INT32)),
)
_GEOMETRIES: Final = frozenset(
    [
        "GEOMETRY",
        "LINESTRING",
        "POLYGON",
        "MULTIPOINT",
        "MULTILINESTRING",
        "MULTIPOLYGON",
        "GEOMETRYCOLLECTION",
        "GEOMCOLLECTION",
    ]
)
_NOTHING_THERE: Final = bytes([1, 7, 0, 0, 0, 0, 0, 0, 0])  # GEOMETRYCOLLECTION EMPTY
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def mapping(column: Column, modes: Modes) -> ColumnMapping | None:
    """None: Debezium has no schema for the type, and the column is left out."""
    word = column.type_name.split()[0]
    by_name = _BY_NAME.get(word)
    if by_name is not None:
        return by_name(column, modes)
    if column.jdbc_type in TEXTS:
        return _text(column)
    make = _BY_JDBC_TYPE.get(column.jdbc_type)
    return make(column, modes) if make else None


def _text(column: Column) -> ColumnMapping:
    name = codec(column.charset)

    def convert(value: bytes | str) -> str:
        return value if isinstance(value, str) else value.decode(name, "replace")

    return ColumnMapping(_STRING, convert, bytes, "")


# Numbers


def _integer(bits: int, schema: Schema, unsigned_schema: Schema) -> "_Make":
    span = 1 << bits

    def make(column: Column, modes: Modes) -> ColumnMapping:
        if not column.unsigned:
            return ColumnMapping(schema, int, int, 0)

        def convert(value: int) -> int:
            return value + span if value < 0 else value

        return ColumnMapping(unsigned_schema, convert, int, 0)

    return make


def _bigint(column: Column, modes: Modes) -> ColumnMapping:
    def signed(value: int) -> int:
        return value - (1 << 64) if value >= 1 << 63 else value

    if not column.unsigned or modes.bigint_unsigned == "long":
        return ColumnMapping(_INT64, signed, int, 0)

    def exact(value: int) -> Decimal:
        return Decimal(value + (1 << 64) if value < 0 else value)

    return ColumnMapping(_decimal_schema(20, 0), exact, int, Decimal(0))


def _float(column: Column, modes: Modes) -> ColumnMapping:
    narrow = column.scale is None and (column.length or 0) <= 24
    return ColumnMapping(_FLOAT32 if narrow else _FLOAT64, _single, float, 0.0)


def _single(value: float) -> float:
    """To the precision that a FLOAT is stored with."""
    import struct

    single: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return single


def _double(column: Column, modes: Modes) -> ColumnMapping:
    return ColumnMapping(_FLOAT64, float, float, 0.0)


def _real(column: Column, modes: Modes) -> ColumnMapping:
    return ColumnMapping(_FLOAT32, _single, float, 0.0)


def _decimal_schema(precision: int, scale: int) -> Schema:
    parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
    named = _named(Type.BYTES, "org.apache.kafka.connect.data.Decimal")
    return replace(named, parameters=parameters)


def _decimal(column: Column, modes: Modes) -> ColumnMapping:
    def parse(text: bytes) -> Decimal:
        return Decimal(text.decode())

    scale = column.scale or 0
    zero = Decimal((0, (0,), -scale))
    match modes.decimal:
        case "double":
            return ColumnMapping(_FLOAT64, float, parse, 0.0)
        case "string":
            return ColumnMapping(_STRING, lambda value: f"{value:f}", parse, f"{zero:f}")
    schema = _decimal_schema(10 if column.length is None else column.length, scale)
    return ColumnMapping(schema, Decimal, parse, zero)


def _bit(column: Column, modes: Modes) -> ColumnMapping:
    length = column.length or 1
    if length == 1:
        return ColumnMapping(_BOOLEAN, lambda value: any(value), bytes, False)
    named = _named(Type.BYTES, "io.debezium.data.Bits")
    schema = replace(named, parameters={"length": str(length)})

    def convert(value: bytes) -> bytes:
        """Little-endian, in as many bytes as the column needs."""
        return value[::-1].ljust((length + 7) // 8, b"\0")

    return ColumnMapping(schema, convert, bytes, b"")


def _boolean(column: Column, modes: Modes) -> ColumnMapping:
    return ColumnMapping(_BOOLEAN, bool, int, False)


# Bytes


def _binary(column: Column, modes: Modes) -> ColumnMapping:
    width = (column.length or 1) if column.jdbc_type == JdbcType.BINARY else 0

    def padded(value: bytes | str) -> bytes:
        raw = value.encode() if isinstance(value, str) else value
        return raw.ljust(width, b"\0")

    match modes.binary:
        case "base64":
            return ColumnMapping(
                _STRING, lambda value: base64.b64encode(padded(value)).decode(), bytes, ""
            )
        case "base64-url-safe":
            encode = base64.urlsafe_b64encode
            return ColumnMapping(_STRING, lambda value: encode(padded(value)).decode(), bytes, "")
        case "hex":
            return ColumnMapping(_STRING, lambda value: padded(value).hex(), bytes, "")
    return ColumnMapping(_BYTES, padded, bytes, b"")


def _uuid(column: Column, modes: Modes) -> ColumnMapping:
    def convert(value: bytes | str) -> str:
        if isinstance(value, str):
            return value
        return str(uuid.UUID(bytes=value.ljust(16, b"\0")))  # binlogs leave zeros at the end out

    schema = _named(Type.STRING, "io.debezium.data.Uuid")
    return ColumnMapping(schema, convert, lambda text: text.decode(), "")


# Dates and times


def _adjusted(year: int, modes: Modes) -> int:
    if not modes.adjusts_years or not 0 <= year <= 99:
        return year
    return year + (2000 if year <= 69 else 1900)


def _date(column: Column, modes: Modes) -> ColumnMapping:
    def days(value: Moment) -> int | None:
        if not value.month or not value.day:
            return None
        return days_since_epoch(_adjusted(value.year, modes), value.month, value.day)

    match modes.time_precision:
        case "connect":
            schema = _named(Type.INT32, "org.apache.kafka.connect.data.Date")
            return ColumnMapping(schema, _or_none(days, _connect_day), date_of, _EPOCH.date())
        case "isostring":
            schema = _named(Type.STRING, "io.debezium.time.IsoDate")
            shown = _or_none(days, lambda day: f"{iso_date(day)}Z")
            return ColumnMapping(schema, shown, date_of, "1970-01-01Z")
    return ColumnMapping(_named(Type.INT32, "io.debezium.time.Date"), days, date_of, 0)


def _or_none(
    first: Callable[[Any], Any | None], second: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    def both(value: Any) -> Any:
        found = first(value)
        return None if found is None else second(found)

    return both


def _connect_day(days: int) -> dt.date:
    try:
        return _EPOCH.date() + dt.timedelta(days)
    except OverflowError:
        raise _beyond_connect() from None


def _beyond_connect() -> ConnectError:
    return ConnectError(
        "A date lies outside the years 1 to 9999, which time.precision.mode=connect cannot"
        " express: set it to adaptive_time_microseconds."
    )


def _time(column: Column, modes: Modes) -> ColumnMapping:
    """Durations; but times of day in two modes, where a value that is none goes as null."""

    def of_day(value: int) -> int | None:
        return value if 0 <= value <= DAY_US else None

    match modes.time_precision:
        case "connect":
            schema = _named(Type.INT32, "org.apache.kafka.connect.data.Time")
            return ColumnMapping(schema, _or_none(of_day, _connect_time), microseconds, dt.time())
        case "isostring":
            schema = _named(Type.STRING, "io.debezium.time.IsoTime")
            return ColumnMapping(schema, _or_none(of_day, iso_time), microseconds, "00:00:00Z")
        case "nanoseconds":
            schema = _named(Type.INT64, "io.debezium.time.NanoTime")
            return ColumnMapping(schema, lambda us: us * 1000, microseconds, 0)
    return ColumnMapping(_named(Type.INT64, "io.debezium.time.MicroTime"), int, microseconds, 0)


def _connect_time(us: int) -> dt.time:
    return (_EPOCH + dt.timedelta(milliseconds=us // 1000 % 86_400_000)).time()


def _datetime(column: Column, modes: Modes) -> ColumnMapping:
    coarse = (column.length or 0) <= 3

    def us(value: Moment) -> int | None:
        if not value.month or not value.day:
            return None
        days = days_since_epoch(_adjusted(value.year, modes), value.month, value.day)
        return days * DAY_US + value.us

    match modes.time_precision:
        case "connect":
            schema = _named(Type.INT64, "org.apache.kafka.connect.data.Timestamp")
            return ColumnMapping(schema, _or_none(us, _connect_timestamp), moment_of, _EPOCH)
        case "isostring":
            schema = _named(Type.STRING, "io.debezium.time.IsoTimestamp")
            shown = _or_none(us, lambda value: iso_timestamp(value, 0))
            return ColumnMapping(schema, shown, moment_of, "1970-01-01T00:00:00Z")
        case "nanoseconds":
            schema = _named(Type.INT64, "io.debezium.time.NanoTimestamp")
            return ColumnMapping(schema, _or_none(us, _nanoseconds), moment_of, 0)
        case "adaptive_time_microseconds" if coarse:
            schema = _named(Type.INT64, "io.debezium.time.Timestamp")
            return ColumnMapping(schema, _or_none(us, lambda value: value // 1000), moment_of, 0)
    return ColumnMapping(_named(Type.INT64, "io.debezium.time.MicroTimestamp"), us, moment_of, 0)


def _nanoseconds(us: int) -> int:
    """Those past what a Java long holds begin anew at its other end."""
    return (us * 1000 + (1 << 63)) % (1 << 64) - (1 << 63)


def _connect_timestamp(us: int) -> dt.datetime:
    try:
        return _EPOCH + dt.timedelta(milliseconds=us // 1000)
    except OverflowError:
        raise _beyond_connect() from None


def _timestamp(column: Column, modes: Modes) -> ColumnMapping:
    """A stream's have the column's digits, a snapshot's no zeros at the end: as Debezium's."""
    digits = column.length or 0

    def convert(value: int | str) -> str:
        return value if isinstance(value, str) else iso_timestamp(value, digits)

    def parse(text: bytes) -> str:
        return iso_timestamp(timestamp_of(text), 0)

    schema = _named(Type.STRING, "io.debezium.time.ZonedTimestamp")
    return ColumnMapping(schema, convert, parse, "1970-01-01T00:00:00Z")


def _year(column: Column, modes: Modes) -> ColumnMapping:
    schema = _named(Type.INT32, "io.debezium.time.Year")
    return ColumnMapping(schema, lambda year: _adjusted(int(year), modes), int, 0)


# Choices, documents, shapes


def options(column: Column) -> list[str]:
    """Of ENUM and SET, with commas escaped as Debezium has them in schemas and values."""
    return [
        one[1:-1].replace(",", "\\,").replace("\\'", "'").replace("''", "'")
        for one in column.options
    ]


def _enum(column: Column, modes: Modes) -> ColumnMapping:
    allowed = options(column)
    named = _named(Type.STRING, "io.debezium.data.Enum")
    schema = replace(named, parameters={"allowed": ",".join(allowed)})

    def convert(value: int | str) -> str:
        if isinstance(value, str):
            return value
        return allowed[value - 1] if 0 < value <= len(allowed) else ""

    return ColumnMapping(schema, convert, _text(column).convert, "")


def _set(column: Column, modes: Modes) -> ColumnMapping:
    allowed = options(column)
    named = _named(Type.STRING, "io.debezium.data.EnumSet")
    schema = replace(named, parameters={"allowed": ",".join(allowed)})

    def convert(value: int | str) -> str:
        if isinstance(value, str):
            return value
        return ",".join(one for n, one in enumerate(allowed) if value >> n & 1)

    return ColumnMapping(schema, convert, _text(column).convert, "")


def _json(column: Column, modes: Modes) -> ColumnMapping:
    """MariaDB has texts for documents; MySQL's are binary."""

    def convert(value: bytes | str) -> str:
        return value if isinstance(value, str) else value.decode("utf-8", "replace")

    schema = _named(Type.STRING, "io.debezium.data.Json")
    return ColumnMapping(schema, convert, lambda text: text.decode(), "{}")


def _shape(column: Column, modes: Modes) -> ColumnMapping:
    schema = replace(_GEOMETRY, optional=column.optional)

    def convert(value: bytes) -> Struct:
        return Struct(schema, {"wkb": value[4:], "srid": _srid(value)})

    return ColumnMapping(schema, convert, bytes, Struct(schema, {"wkb": _NOTHING_THERE}))


def _srid(value: bytes) -> int | None:
    return int.from_bytes(value[:4], "little") or None


def _point(column: Column, modes: Modes) -> ColumnMapping:
    import struct

    schema = replace(_POINT, optional=column.optional)

    def convert(value: bytes) -> Struct:
        x, y = struct.unpack_from("<dd", value, 9)
        return Struct(schema, {"x": x, "y": y, "wkb": value[4:], "srid": _srid(value)})

    return ColumnMapping(schema, convert, bytes, Struct(schema, {"wkb": _NOTHING_THERE}))


_Make = Callable[[Column, Modes], ColumnMapping]
_BY_NAME: Final[Mapping[str, _Make]] = {
    "JSON": _json,
    "POINT": _point,
    **dict.fromkeys(_GEOMETRIES, _shape),
    "YEAR": _year,
    "ENUM": _enum,
    "SET": _set,
    "UUID": _uuid,
    **dict.fromkeys(["TINYINT", "INT1"], _integer(8, _INT16, _INT16)),
    **dict.fromkeys(["SMALLINT", "INT2"], _integer(16, _INT16, _INT32)),
    **dict.fromkeys(["MEDIUMINT", "INT3", "MIDDLEINT"], _integer(24, _INT32, _INT32)),
    **dict.fromkeys(["INT", "INTEGER", "INT4"], _integer(32, _INT32, _INT64)),
    **dict.fromkeys(["BIGINT", "INT8"], _bigint),
}
_BY_JDBC_TYPE: Final[Mapping[int, _Make]] = {
    JdbcType.FLOAT: _float,
    JdbcType.DOUBLE: _double,
    JdbcType.REAL: _real,
    JdbcType.DECIMAL: _decimal,
    JdbcType.NUMERIC: _decimal,
    JdbcType.BIT: _bit,
    JdbcType.BOOLEAN: _boolean,
    JdbcType.BINARY: _binary,
    JdbcType.VARBINARY: _binary,
    JdbcType.BLOB: _binary,
    JdbcType.DATE: _date,
    JdbcType.TIME: _time,
    JdbcType.TIMESTAMP: _datetime,
    JdbcType.TIMESTAMP_WITH_TIMEZONE: _timestamp,
}
