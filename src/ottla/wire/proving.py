"""Proof that a payload holds as many whole records as its batch says, and nothing else.

A broker that stores batches as they came must not store one that no consumer can read. But walking
the fields of a record in Python costs a microsecond, and producers send a million records a second.
So where the next record begins as this one did, the fields of a whole row of records are compared
column by column, which native code does. That leaves large batches of records of many sizes: of
those the sizes are proven, and the fields are not.
"""

from typing import NamedTuple

from ottla.wire.varint import read_varint, varint

RECORD_BODY_MIN = 6  # attributes, two deltas, no key, no value, no headers
WALKED_MAX = 200
"""In a batch of so many records the fields of each are walked, however they look."""
_ONE_BYTE = 128
_HIGH = bytes(range(_ONE_BYTE, 256))
ROW_MIN = 8  # shorter rows are walked sooner than compared
_ROW_FIRST = 32
_TIMESTAMP_BYTES_MAX = 10
_OFFSET_BYTES_MAX = 5

# The bytes of the varints 0, 1, 2 …: the first of several has a period of 64, the second of 8192.
_BLOCK = 8192
_FIRST = bytes(2 * n & 0x7F | 0x80 for n in range(64)) * (2 * _BLOCK // 64)
_SECOND = b"".join(bytes([n]) * 64 for n in range(_BLOCK // 64)) * 2
_SECOND_OF_THREE = b"".join(bytes([n | 0x80]) * 64 for n in range(_BLOCK // 64)) * 2


def prove_records(payload: bytes, count: int, *, in_order: bool = False) -> int:
    """ValueError or IndexError where a record is malformed, or there are more or fewer.

    With `in_order` the offsets of all records that are walked must follow on each other from 0 on.
    The answer is a bound: no record's timestamp is further than that from the batch's first.
    """
    at, total, left, widest = 0, len(payload), count, 0
    row, patience = _ROW_FIRST, 0  # how many to compare at once, and to pass before trying again
    walk = count if count <= WALKED_MAX else 0  # so many of the next records, however they look
    while left:
        start, size = at, payload[at]
        if size < _ONE_BYTE:  # varints of one and of two bytes, which most are, read in place
            size, body = -1 if size & 1 else size >> 1, at + 1
        elif payload[at + 1] < _ONE_BYTE:
            size, body = -1 if size & 1 else payload[at + 1] << 6 | (size & 0x7F) >> 1, at + 2
        else:
            size, body = read_varint(payload, at)
        at = end = body + size
        if size < RECORD_BODY_MIN or end > total:
            raise ValueError("a record longer than its batch")
        left -= 1
        may_be_alike = left >= ROW_MIN and not patience and payload[end] == payload[start]
        if patience:
            patience -= 1
        if walk:
            walk -= 1
        elif not may_be_alike and (payload[body + 1] < _ONE_BYTE or payload[body + 2] < _ONE_BYTE):
            if widest < 2:  # bytes that tell the timestamp
                widest = 2
            continue
        layout = walk_record(payload, start, body, end)
        widest = max(widest, layout.timestamp_bytes)
        if in_order and payload[layout.offset_at : layout.key_at] != varint(count - left - 1):
            raise ValueError("a record with another offset than its place in the batch")
        if may_be_alike:
            most = min(row, left, (total - end) // (end - start))
            first = count - left if in_order else None
            alike = 0 if layout.headers else Row(payload, layout).count_alike(end, most, first)
            if alike > 0:
                at += alike * (end - start)
                left -= alike
                row = row * 2 if alike == row else _ROW_FIRST
            else:
                row, patience = _ROW_FIRST, max(-alike, _ROW_FIRST)
                walk = max(walk, -alike)
    if at != total:
        raise ValueError(f"{total - at} bytes follow the last of {count} records")
    return int(1 << 7 * widest - 1) if widest else 0


class RecordLayout(NamedTuple):
    """Where the fields of one record lie."""

    start: int
    body: int
    offset_at: int
    key_at: int
    value_at: int
    headers_at: int
    headers: int

    key_length_end: int

    @property
    def timestamp_bytes(self) -> int:
        return self.offset_at - self.body - 1


def walk_record(payload: bytes, start: int, body: int, end: int) -> RecordLayout:
    """Every field of one record: they must fill it."""
    offset_at = _end_of_varint(payload, body + 1)
    key_at = _end_of_varint(payload, offset_at)
    if offset_at - body > _TIMESTAMP_BYTES_MAX + 1 or key_at - offset_at > _OFFSET_BYTES_MAX:
        raise ValueError("a varint that is too long")
    size, key_length_end = read_varint(payload, key_at)
    value_at = key_length_end + max(size, 0)
    size, headers_at = read_varint(payload, value_at)
    headers_at += max(size, 0)
    headers, at = read_varint(payload, headers_at)
    if not 0 <= headers <= end - at:
        raise ValueError("more headers than bytes")
    for _ in range(headers):
        size, at = read_varint(payload, at)
        if size < 0:
            raise ValueError("a header without a name")
        size, at = read_varint(payload, at + size)
        at += max(size, 0)
    if at != end:
        raise ValueError("a record whose fields do not fill it")
    return RecordLayout(
        start, body, offset_at, key_at, value_at, headers_at, headers, key_length_end
    )


class Row:
    """The layout of one record without headers, for comparing those that follow."""

    def __init__(self, payload: bytes, layout: RecordLayout) -> None:
        start, body, offset_at, key_at, value_at, headers_at, _, key_length_end = layout
        self._payload = payload
        self._step = headers_at + 1 - start
        value_length_end = _end_of_varint(payload, value_at)
        self._prefix = [(n - start, payload[n : n + 1]) for n in range(start, body)]
        self._same = [
            (n - start, payload[n : n + 1])
            for n in (
                *range(key_at, key_length_end),
                *range(value_at, value_length_end),
                headers_at,
            )
        ]
        self._offset = offset_at - start, key_at - offset_at  # where, and how many bytes
        timestamp_at = body + 1 - start
        self._varints = ((timestamp_at, offset_at - start - timestamp_at), self._offset)

    def count_alike(self, at: int, most: int, first: int | None) -> int:
        """How many records from `at` on have the same layout, up to `most`; few count as none.

        Negative where so many have the same size, and not all of them the same fields. `first` is
        the offset that the first of them must have, None where it may be any.
        """
        payload, step = self._payload, self._step
        for column, byte in self._prefix:
            found = payload[at + column : at + most * step : step]
            most = len(found) - len(found.lstrip(byte))
        if first is not None:
            most = _until_wider(most, first, self._offset[1])
        if most < ROW_MIN:
            return 0
        stop = at + most * step
        same = [(column, byte * most) for column, byte in self._same]
        if first is not None:
            column, width = self._offset
            same += enumerate(_offset_columns(first, most, width), column)
        for column, expected in same:
            if payload[at + column : stop : step] != expected:
                return -most
        for column, width in self._varints:
            for n in range(column, column + width - 1):
                if payload[at + n : stop : step].translate(None, _HIGH):
                    return -most
            if not payload[at + column + width - 1 : stop : step].isascii():
                return -most
        return most


def _until_wider(most: int, first: int, width: int) -> int:
    """How many offsets from `first` on have varints of this width and lie in one block."""
    if width == 1:
        return min(most, 64 - first)
    return min(most, _BLOCK - first % _BLOCK) if width <= 3 else 0


def _offset_columns(first: int, count: int, width: int) -> list[bytes]:
    """The varints of `count` offsets from `first` on, byte by byte."""
    if width == 1:
        return [bytes(range(2 * first, 2 * (first + count), 2))]
    one, two = first % 64, first % _BLOCK
    columns = [_FIRST[one : one + count]]
    if width == 2:
        return [*columns, _SECOND[two : two + count]]
    return [*columns, _SECOND_OF_THREE[two : two + count], bytes([first // _BLOCK]) * count]


def _end_of_varint(payload: bytes, at: int) -> int:
    while payload[at] >= _ONE_BYTE:
        at += 1
    return at + 1
