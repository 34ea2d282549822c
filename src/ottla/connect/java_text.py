"""Values as Java writes them (`toString`): floats, lists, maps, structs. Pure.

Absent: a time zone; Java's dates are written as a worker in UTC would.
"""

import datetime
import decimal
import struct
from collections.abc import Iterable
from typing import Any

from ottla.connect.data import Float32, Schema, Struct, Type


def java_split(said: str, by: str) -> list[str]:
    """`String.split`: empty parts at the end are not there."""
    parts = said.split(by)
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    if parts == [""] and said:
        return []
    return parts


def text(value: Any, schema: Schema | None = None) -> str:
    match value:
        case None:
            return "null"
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return int.__repr__(value)
        case float():
            return float_text(value, schema)
        case bytes():
            return "[B"
        case list():
            within = None if schema is None else schema.value_schema
            return f"[{', '.join(text(one, within) for one in value)}]"
        case dict():
            return f"{{{', '.join(_entries(value, schema))}}}"
        case Struct():
            return f"Struct{{{','.join(_fields(value))}}}"
        case decimal.Decimal():
            return str(value)
    return _date_text(value)


def float_text(value: float, schema: Schema | None = None) -> str:
    narrow = type(value) is Float32 or (schema is not None and schema.type is Type.FLOAT32)
    return float32_text(value) if narrow else double_text(value)


def double_text(value: float) -> str:
    """`Double.toString`: the shortest digits, with an exponent from 10^7 on and below 10^-3."""
    if 1e-3 <= value < 1e7 or -1e7 < value <= -1e-3:
        return float.__repr__(value)
    return _java_digits(value, float.__repr__(value))


def float32_text(value: float) -> str:
    """`Float.toString`: the shortest digits that are the same single-precision number."""
    narrow = single(value)
    for digits in range(1, 10):
        shown = f"{narrow:.{digits}g}"
        if single(float(shown)) == narrow:
            return _java_digits(narrow, shown)
    return _java_digits(narrow, float.__repr__(narrow))


def single(value: float) -> float:
    """To single precision; what is too large is infinite, as Java's cast has it."""
    try:
        narrow: float = struct.unpack(">f", struct.pack(">f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return narrow


def _java_digits(value: float, shown: str) -> str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if shown.startswith("-") else "0.0"
    sign, digits, exponent = decimal.Decimal(shown).as_tuple()
    assert isinstance(exponent, int)
    significant = "".join(map(str, digits)).rstrip("0")
    magnitude = len(digits) + exponent - 1
    minus = "-" if sign else ""
    if not -3 <= magnitude < 7:
        return f"{minus}{significant[0]}.{significant[1:] or '0'}E{magnitude}"
    if magnitude < 0:
        return f"{minus}0.{'0' * (-magnitude - 1)}{significant}"
    whole = significant[: magnitude + 1].ljust(magnitude + 1, "0")
    return f"{minus}{whole}.{significant[magnitude + 1 :] or '0'}"


def _entries(value: dict[Any, Any], schema: Schema | None) -> Iterable[str]:
    keys = None if schema is None else schema.key_schema
    values = None if schema is None else schema.value_schema
    for key, one in value.items():
        yield f"{text(key, keys)}={text(one, values)}"


def _fields(value: Struct) -> Iterable[str]:
    for one in value.schema.fields:
        held = value.values.get(one.name)
        if held is not None:
            yield f"{one.name}={text(held, one.schema)}"


_EPOCH = datetime.date(1970, 1, 1)


def _date_text(value: Any) -> str:
    if isinstance(value, datetime.time):
        value = datetime.datetime.combine(_EPOCH, value)
    elif not isinstance(value, datetime.datetime):
        value = datetime.datetime.combine(value, datetime.time())
    days = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    day = f"{days[value.weekday()]} {months[value.month - 1]} {value.day:02}"
    return f"{day} {value:%H:%M:%S} UTC {value.year}"
