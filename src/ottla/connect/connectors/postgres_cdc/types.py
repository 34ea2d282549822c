"""Columns of PostgreSQL's types as Connect's schemas and values, the way Debezium maps them. Pure.

The server writes every value as text, in a stream and in a snapshot alike, so there is one way from
a text to a value. A type that Debezium has no schema for leaves its column out.
"""

import base64
import datetime as dt
import hashlib
import json
import struct
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from typing import Any, Final

from ottla.connect.connector import ConnectError
from ottla.connect.connectors.debezium.days import iso_date, iso_time, iso_timestamp
from ottla.connect.connectors.postgres_cdc import literals, temporal
from ottla.connect.connectors.postgres_cdc.tables import Column, PgType
from ottla.connect.data import Field, Schema, Struct, Type


@dataclass(frozen=True, slots=True, kw_only=True)
class Modes:
    """The keys that choose among representations."""

    decimal: str = "precise"
    time_precision: str = "adaptive"
    interval: str = "numeric"
    binary: str = "bytes"
    hstore: str = "json"
    unknown_types: bool = False
    placeholder: str = "__debezium_unavailable_value"
    money_digits: int = 2


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """How one column's values look. `unchanged` stands for a TOASTed value that was not sent."""

    schema: Schema
    convert: Callable[[str], Any]
    fallback: Any  # in place of a null where the column has none, as in a delete's other columns
    unchanged: Any = None


def _named(type_: Type, name: str) -> Schema:
    return Schema(type=type_, name=name, version=1)


_STRING: Final = Schema(type=Type.STRING)
_INT16, _INT32, _INT64 = (Schema(type=one) for one in (Type.INT16, Type.INT32, Type.INT64))
_FLOAT32, _FLOAT64 = Schema(type=Type.FLOAT32), Schema(type=Type.FLOAT64)
_BOOLEAN, _BYTES = Schema(type=Type.BOOLEAN), Schema(type=Type.BYTES)
_JSON: Final = _named(Type.STRING, "io.debezium.data.Json")
_HSTORE_MAP: Final = Schema(
    type=Type.MAP, key_schema=_STRING, value_schema=replace(_STRING, optional=True)
)
_POINT: Final = Schema(
    type=Type.STRUCT,
    name="io.debezium.data.geometry.Point",
    version=1,
    doc="Geometry (POINT)",
    fields=(
        Field("x", _FLOAT64),
        Field("y", _FLOAT64),
        Field("wkb", replace(_BYTES, optional=True)),
        Field("srid", replace(_INT32, optional=True)),
    ),
)
_VARIABLE_SCALE: Final = Schema(
    type=Type.STRUCT,
    name="io.debezium.data.VariableScaleDecimal",
    version=1,
    doc="Variable scaled decimal",
    fields=(Field("scale", _INT32), Field("value", _BYTES)),
)
_WIDE: Final = Context(
    prec=300_000
)  # PostgreSQL's numeric has up to 131,072 digits before the point

_TEXTS: Final = dict.fromkeys(
    [
        "text",
        "varchar",
        "bpchar",
        "char",
        "name",
        "citext",
        "inet",
        "cidr",
        "macaddr",
        "macaddr8",
        "int4range",
        "int8range",
        "numrange",
        "tsrange",
        "tstzrange",
        "daterange",
        "isbn",
    ],
    _STRING,
) | {
    "json": _JSON,
    "jsonb": _JSON,
    "uuid": _named(Type.STRING, "io.debezium.data.Uuid"),
    "xml": _named(Type.STRING, "io.debezium.data.Xml"),
    "tsvector": _named(Type.STRING, "io.debezium.data.Tsvector"),
    "ltree": _named(Type.STRING, "io.debezium.data.Ltree"),
}
_NUMBERS: Final[Mapping[str, tuple[Schema, Callable[[str], Any], Any]]] = {
    "bool": (_BOOLEAN, lambda text: text == "t", False),
    "int2": (_INT16, int, 0),
    "int4": (_INT32, int, 0),
    "int8": (_INT64, int, 0),
    "oid": (_INT64, int, 0),
    "float4": (_FLOAT32, float, 0.0),
    "float8": (_FLOAT64, float, 0.0),
}
_WITHOUT_ARRAYS: Final = frozenset(
    ["money", "name", "interval", "varbit", "xml", "point", "refcursor"]
)


def mapping(column: Column, modes: Modes) -> ColumnMapping | None:
    """None: the column is left out."""
    if column.type.element is not None:
        return _array(column, column.type.element, modes)
    found = _scalar(column, modes)
    if found is None and modes.unknown_types:
        return binary(modes, str.encode)
    return found


def _scalar(column: Column, modes: Modes) -> ColumnMapping | None:
    name = column.type.name
    if column.type.labels:
        allowed = {"allowed": ",".join(column.type.labels)}
        schema = replace(_named(Type.STRING, "io.debezium.data.Enum"), parameters=allowed)
        return ColumnMapping(schema, str, "", modes.placeholder)
    if name in _TEXTS:
        return ColumnMapping(_TEXTS[name], str, "", modes.placeholder)
    if name in _NUMBERS:
        return ColumnMapping(*_NUMBERS[name])
    make = _MAKERS.get(name)
    return make(column, modes) if make else None


def binary(modes: Modes, to_bytes: Callable[[str], bytes]) -> ColumnMapping:
    raw = modes.placeholder.encode()
    match modes.binary:
        case "base64":
            return ColumnMapping(
                _STRING, lambda text: base64.b64encode(to_bytes(text)).decode(), ""
            )
        case "base64-url-safe":
            encode = base64.urlsafe_b64encode
            return ColumnMapping(_STRING, lambda text: encode(to_bytes(text)).decode(), "")
        case "hex":
            return ColumnMapping(_STRING, lambda text: to_bytes(text).hex(), "", modes.placeholder)
    return ColumnMapping(_BYTES, to_bytes, b"", raw)


def _bytea(_column: Column, modes: Modes) -> ColumnMapping:
    return binary(modes, literals.bytea)


def _bits(column: Column, _modes: Modes) -> ColumnMapping:
    length = 2**31 - 1 if column.length is None else column.length
    if length == 1:
        return ColumnMapping(_BOOLEAN, lambda text: text == "1", False)
    named = _named(Type.BYTES, "io.debezium.data.Bits")
    return ColumnMapping(replace(named, parameters={"length": str(length)}), literals.bits, b"")


def java_integer(number: int) -> bytes:
    """As BigInteger.toByteArray: big-endian, as short as its sign allows."""
    return number.to_bytes(((number + (number < 0)).bit_length() + 8) // 8, "big", signed=True)


def _decimal_schema(scale: int, precision: int | None) -> Schema:
    parameters = {"scale": str(scale)}
    if precision is not None:
        parameters["connect.decimal.precision"] = str(precision)
    named = _named(Type.BYTES, "org.apache.kafka.connect.data.Decimal")
    return replace(named, parameters=parameters)


def _numeric(column: Column, modes: Modes) -> ColumnMapping:
    if modes.decimal == "double":
        return ColumnMapping(_FLOAT64, float, 0.0)
    scale = column.scale
    if modes.decimal == "string":
        return _numeric_text(scale)
    if scale is None:
        return _variable_scale(replace(_VARIABLE_SCALE, optional=column.nullable))
    unit = Decimal((0, (1,), -scale))

    def exact(text: str) -> Decimal:
        value = Decimal(text)
        if value.same_quantum(unit):  # as the server writes what a column of this scale holds
            return value
        return _finite(text).quantize(unit, context=_WIDE)

    return ColumnMapping(_decimal_schema(scale, column.length), exact, exact("0"))


_SPECIAL: Final = {
    "NaN": "NAN",
    "Infinity": "POSITIVE_INFINITY",
    "-Infinity": "NEGATIVE_INFINITY",
}


def _numeric_text(scale: int | None) -> ColumnMapping:
    unit = Decimal((0, (1,), -(scale or 0)))

    def convert(text: str) -> str:
        special = _SPECIAL.get(text)
        if special is not None or scale is None:
            return special or text
        return f"{Decimal(text).quantize(unit, context=_WIDE):f}"

    return ColumnMapping(_STRING, convert, convert("0"))


def _finite(text: str) -> Decimal:
    value = Decimal(text)
    if not value.is_finite():
        raise ConnectError(
            f"A numeric column holds {text}, which decimal.handling.mode=precise cannot express: "
            "set it to string or double."
        )
    return value


def _variable_scale(schema: Schema) -> ColumnMapping:
    def convert(text: str) -> Struct:
        sign, digits, exponent = _finite(text).as_tuple()
        number, scale = int("".join(map(str, digits))), -int(exponent)
        while scale > 0 and number % 10 == 0:
            number, scale = number // 10, scale - 1
        if scale < 0:
            number, scale = number * 10**-scale, 0
        value = java_integer(-number if sign else number)
        return Struct(schema, {"scale": scale, "value": value})

    return ColumnMapping(schema, convert, convert("0"))


def _money(_column: Column, modes: Modes) -> ColumnMapping:
    unit = Decimal((0, (1,), -modes.money_digits))

    def exact(text: str) -> Decimal:
        return literals.money(text).quantize(unit)

    match modes.decimal:
        case "double":
            return ColumnMapping(_FLOAT64, lambda text: float(literals.money(text)), 0.0)
        case "string":
            return ColumnMapping(_STRING, lambda text: str(literals.money(text)), str(exact("0")))
    return ColumnMapping(_decimal_schema(modes.money_digits, None), exact, exact("0"))


def _date(_column: Column, modes: Modes) -> ColumnMapping:
    def days(text: str) -> int:
        infinite = temporal.INFINITE_DAYS.get(text)
        return temporal.date_days(text) if infinite is None else infinite

    match modes.time_precision:
        case "connect":
            schema = _named(Type.INT32, "org.apache.kafka.connect.data.Date")
            return ColumnMapping(schema, lambda text: _connect_day(days(text)), _connect_day(0))
        case "isostring":
            schema = _named(Type.STRING, "io.debezium.time.IsoDate")
            return ColumnMapping(schema, lambda text: f"{iso_date(days(text))}Z", "1970-01-01Z")
    return ColumnMapping(_named(Type.INT32, "io.debezium.time.Date"), days, 0)


def _connect_day(days: int) -> dt.date:
    try:
        return dt.date(1970, 1, 1) + dt.timedelta(days)
    except OverflowError:
        raise _beyond_connect() from None


def _beyond_connect() -> ConnectError:
    return ConnectError(
        "A date lies outside the years 1 to 9999, which time.precision.mode=connect cannot"
        " express: set it to adaptive."
    )


def _time(column: Column, modes: Modes) -> ColumnMapping:
    coarse = column.scale is not None and column.scale <= 3
    match modes.time_precision:
        case "connect":
            schema = _named(Type.INT32, "org.apache.kafka.connect.data.Time")
            return ColumnMapping(schema, _connect_time, dt.time())
        case "isostring":
            schema = _named(Type.STRING, "io.debezium.time.IsoTime")
            return ColumnMapping(schema, lambda text: iso_time(temporal.time_us(text)), "00:00:00Z")
        case "nanoseconds":
            schema = _named(Type.INT64, "io.debezium.time.NanoTime")
            return ColumnMapping(schema, lambda text: temporal.time_us(text) * 1000, 0)
        case "adaptive" if coarse:
            schema = _named(Type.INT32, "io.debezium.time.Time")
            return ColumnMapping(schema, lambda text: temporal.time_us(text) // 1000, 0)
    return ColumnMapping(_named(Type.INT64, "io.debezium.time.MicroTime"), temporal.time_us, 0)


def _connect_time(text: str) -> dt.time:
    ms = temporal.time_us(text) // 1000 % 86_400_000
    return (dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=ms)).time()


def _timestamp(column: Column, modes: Modes) -> ColumnMapping:
    coarse = column.scale is not None and column.scale <= 3

    def us(text: str) -> int:
        infinite = temporal.INFINITE_US.get(text)
        return temporal.timestamp_us(text) if infinite is None else infinite

    match modes.time_precision:
        case "connect":
            schema = _named(Type.INT64, "org.apache.kafka.connect.data.Timestamp")
            return ColumnMapping(schema, lambda text: _connect_moment(us(text)), _connect_moment(0))
        case "isostring":
            schema = _named(Type.STRING, "io.debezium.time.IsoTimestamp")
            return ColumnMapping(schema, lambda text: iso_timestamp(us(text), 0), _EPOCH)
        case "nanoseconds":
            schema = _named(Type.INT64, "io.debezium.time.NanoTimestamp")
            return ColumnMapping(schema, lambda text: _clamped(us(text) * 1000), 0)
        case "adaptive" | "adaptive_time_microseconds" if coarse:
            schema = _named(Type.INT64, "io.debezium.time.Timestamp")
            return ColumnMapping(schema, lambda text: us(text) // 1000, 0)
    return ColumnMapping(_named(Type.INT64, "io.debezium.time.MicroTimestamp"), us, 0)


_EPOCH: Final = "1970-01-01T00:00:00Z"


def _clamped(number: int) -> int:
    return max(-(2**63), min(2**63 - 1, number))


def _connect_moment(us: int) -> dt.datetime:
    try:
        return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=us // 1000)
    except OverflowError:
        raise _beyond_connect() from None


def _timestamptz(column: Column, _modes: Modes) -> ColumnMapping:
    digits = 6 if column.scale is None else column.scale
    schema = _named(Type.STRING, "io.debezium.time.ZonedTimestamp")
    return ColumnMapping(schema, lambda text: temporal.zoned_timestamp(text, digits), _EPOCH)


def _timetz(_column: Column, _modes: Modes) -> ColumnMapping:
    schema = _named(Type.STRING, "io.debezium.time.ZonedTime")
    return ColumnMapping(schema, temporal.zoned_time, "00:00:00Z")


def _interval(_column: Column, modes: Modes) -> ColumnMapping:
    if modes.interval == "string":
        schema = _named(Type.STRING, "io.debezium.time.Interval")
        return ColumnMapping(
            schema, lambda text: temporal.interval_iso(temporal.interval(text)), "P0Y0M0DT0H0M0S"
        )
    schema = _named(Type.INT64, "io.debezium.time.MicroDuration")
    return ColumnMapping(schema, lambda text: temporal.interval_us(temporal.interval(text)), 0)


def _point(column: Column, _modes: Modes) -> ColumnMapping:
    schema = replace(_POINT, optional=column.nullable)

    def convert(text: str) -> Struct:
        x, y = (float(one) for one in text.strip("()").split(","))
        wkb = b"\x01\x01\0\0\0" + struct.pack("<dd", x, y)
        return Struct(schema, {"x": x, "y": y, "wkb": wkb, "srid": None})

    return ColumnMapping(schema, convert, convert("(0,0)"))


def _hstore(_column: Column, modes: Modes) -> ColumnMapping:
    unchanged = {modes.placeholder: modes.placeholder}
    if modes.hstore == "map":
        return ColumnMapping(_HSTORE_MAP, literals.hstore, {}, unchanged)
    return ColumnMapping(
        _JSON, lambda text: _java_json(literals.hstore(text)), "{}", _java_json(unchanged)
    )


def _java_json(pairs: Mapping[str, str | None]) -> str:
    """Fields in the order in which a HashMap gives them."""
    size = 16
    while len(pairs) > size * 3 // 4:
        size *= 2
    ordered = sorted(pairs, key=lambda key: _java_hash(key) & (size - 1))
    return json.dumps(
        {key: pairs[key] for key in ordered}, ensure_ascii=False, separators=(",", ":")
    )


def _java_hash(text: str) -> int:
    units = text.encode("utf-16-be")
    value = 0
    for at in range(0, len(units), 2):
        value = (value * 31 + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
    return value ^ (value >> 16)


_MAKERS: Final[Mapping[str, Callable[[Column, Modes], ColumnMapping]]] = {
    "bytea": _bytea,
    "bit": _bits,
    "varbit": _bits,
    "numeric": _numeric,
    "money": _money,
    "date": _date,
    "time": _time,
    "timestamp": _timestamp,
    "timestamptz": _timestamptz,
    "timetz": _timetz,
    "interval": _interval,
    "point": _point,
    "hstore": _hstore,
}


def _array(column: Column, element: PgType, modes: Modes) -> ColumnMapping | None:
    if element.name == "bit":  # Debezium has a bit's own schema for them, and no values
        alone = _bits(replace(column, type=element), modes)
        return ColumnMapping(alone.schema, lambda _text: None, alone.fallback)
    if element.name in _WITHOUT_ARRAYS:
        return None
    required = bool(element.labels) or element.name == "tsvector"
    alike = replace(column, type=element, nullable=not required)
    one = None if element.domain else _scalar(alike, modes)
    if one is None:
        if not modes.unknown_types:
            return None
        one, required = replace(binary(modes, str.encode), unchanged=None), True
    schema = Schema(type=Type.ARRAY, value_schema=replace(one.schema, optional=not required))
    convert = one.convert
    if element.name == "date":
        convert = _days_in_array if one.schema.type is Type.INT32 else _without_era(one.convert)

    def convert_all(text: str) -> list[Any]:
        return [
            convert(value) if isinstance(value, str) else None for value in literals.array(text)
        ]

    return ColumnMapping(schema, convert_all, [], _unchanged_array(element, one.schema, modes))


def _days_in_array(text: str) -> int:
    """Within arrays Debezium loses the era, and has other numbers for infinities."""
    infinite = temporal.INFINITE_DAYS_IN_ARRAYS.get(text)
    return temporal.date_days(text.removesuffix(" BC")) if infinite is None else infinite


def _without_era(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: convert(text.removesuffix(" BC"))


def _unchanged_array(element: PgType, schema: Schema, modes: Modes) -> list[Any] | None:
    raw = modes.placeholder.encode()
    match element.name:
        case "text" | "varchar" | "bpchar" | "json" | "jsonb":
            return [modes.placeholder]
        case "bytea" if schema.type is Type.BYTES:
            return [raw]
        case "int4" | "int8" | "date" if schema.type in (Type.INT32, Type.INT64):
            return list(raw)
        case "uuid":
            digest = hashlib.md5(raw, usedforsecurity=False).digest()
            return [str(uuid.UUID(bytes=digest, version=3))]
    return None
