"""The fields of all records of a batch as columns: one list for each, no object for a record.

For those who must look into records, and at many: the keys of compacted topics. Where records that
follow each other have the same layout, native code takes a whole row of them apart; others are
walked one by one.
"""

from struct import Struct
from typing import NamedTuple

from ottla.wire.proving import ROW_MIN, RecordLayout, Row, walk_record
from ottla.wire.varint import read_varint

_ONE_BYTE = 128
_REMEMBERED_MAX = 200_000
_PATIENCE = 32  # records to pass before rows are looked for again


class _Varints(dict[bytes, int]):
    """What varints mean. In a batch the same deltas occur again and again, and so from batch to
    batch: looking one up is several times as fast as reading it."""

    def __missing__(self, encoded: bytes) -> int:
        value, end = read_varint(encoded, 0)
        if end != len(encoded):
            raise ValueError("a varint that ends too early")
        if len(self) >= _REMEMBERED_MAX:
            self.clear()
        self[encoded] = value
        return value


_varints = _Varints()


class RecordColumns(NamedTuple):
    """One entry for each record, but for `valueless`: those (by number) that are tombstones."""

    starts: list[int]  # where in the payload it begins
    timestamps: list[int]  # relative to the batch's first
    offsets: list[int]  # relative to the batch's first
    keys: list[bytes | None]
    valueless: list[int]


def read_columns(payload: bytes, count: int) -> RecordColumns:
    """ValueError or IndexError where a record is malformed, or there are more or fewer."""
    columns = RecordColumns([], [], [], [], [])
    at, left, total, patience = 0, count, len(payload), 0
    while left > 0:
        end = _walk(payload, at, columns)
        if end > total:
            raise ValueError("a record longer than its batch")
        left -= 1
        if patience:
            patience -= 1
        elif left >= ROW_MIN and payload[end] == payload[at]:
            alike = _take_row(payload, at, end, left, columns)
            left -= alike
            patience = 0 if alike else _PATIENCE
            end += alike * (end - at)
        at = end
    if at != total:
        raise ValueError(f"{total - at} bytes follow the last of {count} records")
    return columns


def _walk(payload: bytes, start: int, columns: RecordColumns) -> int:
    """Take in one record; where it ends. Varints of one byte, which most are, are read in place."""
    size = payload[start]
    if size < _ONE_BYTE:
        size, body = (size >> 1) ^ -(size & 1), start + 1
    else:
        size, body = read_varint(payload, start)
    end = body + size
    at = timestamp_at = body + 1
    while payload[at] >= _ONE_BYTE:
        at += 1
    offset_at = at = at + 1
    while payload[at] >= _ONE_BYTE:
        at += 1
    key_at = at + 1
    size = payload[key_at]
    if size < _ONE_BYTE:
        size, at = (size >> 1) ^ -(size & 1), key_at + 1
    else:
        size, at = read_varint(payload, key_at)
    key = None
    if size >= 0:
        key = payload[at : at + size]
        at += size
    if payload[at] & 1:  # an odd number is a negative one
        columns.valueless.append(len(columns.starts))
    if at + 1 >= end:
        raise ValueError("a record whose fields do not fill it")
    columns.starts.append(start)
    columns.timestamps.append(_varints[payload[timestamp_at:offset_at]])
    columns.offsets.append(_varints[payload[offset_at:key_at]])
    columns.keys.append(key)
    return end


def _take_row(payload: bytes, start: int, end: int, most: int, columns: RecordColumns) -> int:
    """Take in the records from `end` on that have the layout of the one before; how many."""
    step = end - start
    _, body = read_varint(payload, start)
    layout = walk_record(payload, start, body, end)
    if layout.headers:
        return 0
    count = Row(payload, layout).count_alike(end, min(most, (len(payload) - end) // step), None)
    if count <= 0:
        return 0
    stop = end + count * step
    timestamps, offsets, keys = zip(
        *_fields(layout, step).iter_unpack(memoryview(payload)[end:stop]), strict=True
    )
    first = len(columns.starts)
    columns.starts.extend(range(end, stop, step))
    columns.timestamps.extend(map(_varints.__getitem__, timestamps))
    columns.offsets.extend(map(_varints.__getitem__, offsets))
    has_key = not payload[layout.key_at] & 1
    columns.keys.extend(keys if has_key else [None] * count)
    if payload[layout.value_at] & 1:
        columns.valueless.extend(range(first, first + count))
    return count


def _fields(layout: RecordLayout, step: int) -> Struct:
    """Timestamp, offset and key of a record of this layout; the rest is skipped."""
    timestamp_at = layout.body + 1
    key_starts = layout.key_length_end
    before = timestamp_at - layout.start
    timestamp, offset = layout.offset_at - timestamp_at, layout.key_at - layout.offset_at
    length, key = key_starts - layout.key_at, layout.value_at - key_starts
    after = step - (layout.value_at - layout.start)
    return Struct(f"{before}x{timestamp}s{offset}s{length}x{key}s{after}x")
