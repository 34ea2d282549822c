"""How far a table is read, as Confluent's connector writes it to the offsets topic. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from ottla.connect.connector import ConnectError, Place
from ottla.connect.connectors.jdbc.dialects.dialect import TableId
from ottla.connect.offset_checks import check_numbers, check_partition

QUERY = {"query": "query"}
_NANOS_MAX = 999_999_999
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def partition(table: TableId | None) -> dict[str, str]:
    """The order of fields is that of Connect, which looks partitions up by their bytes."""
    return QUERY if table is None else {"protocol": "1", "table": str(table)}


@dataclass(frozen=True, slots=True)
class Offset:
    """Everything up to here is read. None: nothing yet, or not counted this way."""

    timestamp: datetime | None = None
    incrementing: int | None = None

    def to_map(self) -> dict[str, int]:
        said: dict[str, int] = {}
        if self.timestamp is not None:
            said["timestamp_nanos"] = self.timestamp.microsecond * 1000
        if self.incrementing is not None:
            said["incrementing"] = self.incrementing
        if self.timestamp is not None:
            said["timestamp"] = (self.timestamp - _EPOCH) // timedelta(milliseconds=1)
        return said


def read_offset(said: Mapping[str, Any] | None) -> Offset:
    """Nanoseconds, where they are said, are all of a second's fraction."""
    if not said:
        return Offset()
    at, number = said.get("timestamp"), said.get("incrementing")
    timestamp = None
    if at is not None:
        timestamp = _EPOCH + timedelta(milliseconds=int(at))
        if said.get("timestamp_nanos") is not None:
            timestamp = timestamp.replace(microsecond=int(said["timestamp_nanos"]) // 1000)
    return Offset(timestamp, None if number is None else int(number))


def check_offset(place: Place | None, offset: Place) -> None:
    """Of an offset that is set by hand. One that says nothing would read the table from its start:
    null says that."""
    check_partition(place, ("protocol", "table"), ("query",))
    check_numbers(offset, "timestamp", "timestamp_nanos")
    number = offset.get("incrementing")
    if number is not None and (isinstance(number, bool) or not isinstance(number, int)):
        raise ConnectError(
            "The value for the 'incrementing' key in the offset should be a whole number"
        )
    if (offset.get("timestamp_nanos") or 0) > _NANOS_MAX:
        raise ConnectError("'timestamp_nanos' are those of one second: less than 1000000000")
    if all(offset.get(name) is None for name in ("incrementing", "timestamp")):
        raise ConnectError(
            "Offset objects should either be null or contain the key 'incrementing' or 'timestamp'"
        )
