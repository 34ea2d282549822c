"""Values as text, in the form that `values_parsing` reads again: Java's Values. Pure."""

import base64
import datetime
import decimal
from typing import Any

from ottla.connect.data import DataError, Schema, Struct, java_class
from ottla.connect.java_text import text
from ottla.connect.logical import MS_PER_DAY, days, epoch_ms, time_ms, timestamp_of


def header_text(value: Any, schema: Schema | None = None) -> str:
    return value if isinstance(value, str) else _text(value, schema, embedded=False)


def _text(value: Any, schema: Schema | None, *, embedded: bool) -> str:
    match value:
        case None | bool() | int() | float() | decimal.Decimal():
            return text(value, schema)
        case str():
            return _quoted(value.replace("\\", "\\\\").replace('"', '\\"'))
        case bytes():
            said = base64.b64encode(value).decode()
            return _quoted(said) if embedded else said
        case list():
            within = None if schema is None else schema.value_schema
            return f"[{','.join(_text(one, within, embedded=True) for one in value)}]"
        case dict():
            keys = None if schema is None else schema.key_schema
            values = None if schema is None else schema.value_schema
            entries = (_entry(key, keys, one, values) for key, one in value.items())
            return f"{{{','.join(entries)}}}"
        case Struct():
            fields = (
                _entry(one.name, None, value.get(one.name), one.schema)
                for one in value.schema.fields
            )
            return f"{{{','.join(fields)}}}"
        case datetime.date() | datetime.time():
            return _moment(value)
    raise DataError(f"Failed to serialize unexpected value type {java_class(value)}: {value}")


def _quoted(said: str) -> str:
    return f'"{said}"'


def _entry(key: Any, keys: Schema | None, value: Any, values: Schema | None) -> str:
    return f"{_text(key, keys, embedded=True)}:{_text(value, values, embedded=True)}"


def _moment(value: datetime.date | datetime.time) -> str:
    """Java's Date does not tell a date, a time and a timestamp apart: its size decides."""
    match value:
        case datetime.time():
            ms = time_ms(value)
        case datetime.datetime():
            ms = epoch_ms(value)
        case _:
            ms = days(value) * MS_PER_DAY
    at = timestamp_of(ms)
    clock = f"{at:%H:%M:%S}.{at.microsecond // 1000:03}Z"
    if ms < MS_PER_DAY:
        return clock
    day = f"{at.year:04}-{at.month:02}-{at.day:02}"
    return day if ms % MS_PER_DAY == 0 else f"{day}T{clock}"
