"""Which folder a record belongs in, and which time it has. Pure."""

import datetime
from collections.abc import Callable, Mapping
from typing import Any
from zoneinfo import ZoneInfo

from ottla.connect.connectors.object_files.keys import last_part
from ottla.connect.data import DataError, Record, Struct
from ottla.connect.definitions import InvalidConfig
from ottla.connect.java_dates import DateFormat
from ottla.connect.java_text import text
from ottla.connect.logical import epoch_ms, timestamp_of

_DAILY = "'year'=yyyy/'month'=MM/'day'=dd"
_PATHS = {
    "DailyPartitioner": (_DAILY, 86_400_000),
    "HourlyPartitioner": (_DAILY + "/'hour'=HH", 3_600_000),
}
Partitioner = Callable[[Record], str]
Extractor = Callable[[Record], int]


class FieldTime:
    """The moment in a field: milliseconds, a timestamp, or ISO 8601."""

    def __init__(self, field: str) -> None:
        self._steps = field.split(".")

    def __call__(self, record: Record) -> int:
        value = record.value
        for step in self._steps:
            value = _field(value, step)
        match value:
            case bool():
                pass
            case int():
                return value
            case datetime.datetime():
                return epoch_ms(value)
            case str():
                try:
                    return epoch_ms(datetime.datetime.fromisoformat(value))
                except ValueError:
                    pass
        raise DataError(f"The field {'.'.join(self._steps)} holds no time: {value!r}")


class RecordTime:
    def __call__(self, record: Record) -> int:
        if record.timestamp is None:
            raise DataError("The record has no timestamp")
        return record.timestamp


class DefaultPartitioner:
    def __call__(self, record: Record) -> str:
        assert record.original is not None
        return f"partition={record.original[1]}"


class FieldPartitioner:
    def __init__(self, fields: list[str], delimiter: str) -> None:
        self._fields = fields
        self._delimiter = delimiter

    def __call__(self, record: Record) -> str:
        return self._delimiter.join(
            f"{name}={text(self._value(record, name))}" for name in self._fields
        )

    def _value(self, record: Record, name: str) -> Any:
        value = record.value
        for step in name.split("."):
            value = _field(value, step)
        if isinstance(value, (str, int, float)):
            return value
        raise DataError(f"The field {name} cannot name a folder: {value!r}")


class TimePartitioner:
    def __init__(self, path: str, duration_ms: int, zone: str, time: Extractor) -> None:
        self._format = DateFormat.of("path.format", path)
        self._duration_ms = duration_ms
        self._zone = ZoneInfo(zone)
        self._time = time

    def __call__(self, record: Record) -> str:
        at = timestamp_of(self._time(record)).astimezone(self._zone)
        shift = at.utcoffset() or datetime.timedelta()
        local_ms = epoch_ms(at) + shift // datetime.timedelta(milliseconds=1)
        begin = local_ms // self._duration_ms * self._duration_ms
        return self._format.written(timestamp_of(begin))


def _field(value: Any, name: str) -> Any:
    if isinstance(value, Struct):
        return value.get(name)
    if isinstance(value, dict):
        return value.get(name)
    raise DataError(f"There is no field {name} in what is neither struct nor map")


def extractor(values: Mapping[str, Any]) -> Extractor:
    if values["timestamp.extractor"] == "RecordField":
        return FieldTime(values["timestamp.field"])
    return RecordTime()


def partitioner(values: Mapping[str, Any]) -> Partitioner:
    name = last_part(values["partitioner.class"])
    if name == "DefaultPartitioner":
        return DefaultPartitioner()
    if name == "FieldPartitioner":
        if not values["partition.field.name"]:
            raise InvalidConfig({"partition.field.name": ["FieldPartitioner needs its fields."]})
        return FieldPartitioner(values["partition.field.name"], values["directory.delim"])
    path, duration = _PATHS.get(
        name, (_java_pattern(values["path.format"]), values["partition.duration.ms"])
    )
    errors = {}
    if not path:
        errors["path.format"] = [f"{name} needs a format of its folders."]
    if duration <= 0:
        errors["partition.duration.ms"] = [f"{name} needs how long a folder is."]
    if not values["timezone"]:
        errors["timezone"] = [f"{name} needs a time zone."]
    if errors:
        raise InvalidConfig(errors)
    return TimePartitioner(path, duration, values["timezone"], extractor(values))


def _java_pattern(joda: str) -> str:
    """Joda's Y is a year, which Java writes y."""
    parts = joda.split("'")
    return "'".join(one.replace("Y", "y") if at % 2 == 0 else one for at, one in enumerate(parts))
