"""Finding records by time: through the time index, then batch headers, then one batch's records.

In a thread, beside a loop that may put other segments in place meanwhile: what is found then, and
what fails, counts for nothing (see `SegmentedLog.set_aside_count`).
"""

from typing import NamedTuple

from ottla.log.scanning import scan
from ottla.log.segment import Segment
from ottla.wire.record_batch import BatchHeader, Record, iterate_records


class TimestampOffset(NamedTuple):
    timestamp: int
    offset: int
    leader_epoch: int


def find_by_timestamp(
    segments: list[Segment], timestamp: int, start_offset: int
) -> TimestampOffset | None:
    """The first record at or after `start_offset` that is as late as `timestamp`.

    Only the first segment with one so late is looked at, though the log may start after that one
    by now: Kafka answers so, and clients take the same way from there."""
    for segment in list(segments):
        if segment.largest_timestamp() >= timestamp:
            return _find_in(segment, timestamp, start_offset)
    return None


def _find_in(segment: Segment, timestamp: int, start_offset: int) -> TimestampOffset | None:
    known = max(segment.times.lookup(timestamp), start_offset)
    for position, header in scan(segment.handle, segment.index.lookup(known), segment.size):
        if header.max_timestamp < timestamp or header.last_offset < start_offset:
            continue
        for record in _records(segment, position, header):
            if record.timestamp >= timestamp and record.offset >= start_offset:
                return TimestampOffset(record.timestamp, record.offset, header.leader_epoch)
    return None


def find_max_timestamp(segments: list[Segment]) -> TimestampOffset | None:
    """The first record that has the largest timestamp of all."""
    latest = max(segments, key=Segment.largest_timestamp)  # the first of equals
    timestamp = latest.largest_timestamp()
    if timestamp < 0:
        return None
    start = latest.index.lookup(latest.max_timestamp_offset)
    for position, header in scan(latest.handle, start, latest.size):
        if header.max_timestamp != timestamp:
            continue
        if header.log_append_time:
            return TimestampOffset(timestamp, header.base_offset, header.leader_epoch)
        for record in _records(latest, position, header):
            if record.timestamp == timestamp:
                return TimestampOffset(timestamp, record.offset, header.leader_epoch)
    return None


def _records(segment: Segment, position: int, header: BatchHeader) -> "list[Record]":
    return list(iterate_records(segment.handle.read(position, header.size), 0, header))
