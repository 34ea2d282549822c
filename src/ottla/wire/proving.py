"""Proof that a payload holds as many well-formed records as its batch says, and nothing else.

A broker that stores batches as they came must not store one that no consumer can read. Walking a
record in Python costs half a microsecond, and producers send a million of them a second; but
neighbours mostly look alike. So where the next record begins as this one did, the fields of a whole
row of records are compared column by column, which native code does.
"""

from ottla.wire.varint import read_varint

RECORD_BODY_MIN = 6  # attributes, two deltas, no key, no value, no headers
_ONE_BYTE = 128
_HIGH = bytes(range(_ONE_BYTE, 256))
_ROW_MIN = 8  # shorter rows are walked sooner than compared
_ROW_FIRST = 32
_TIMESTAMP_BYTES_MAX = 10
_OFFSET_BYTES_MAX = 5


def prove_records(payload: bytes, count: int) -> None:
    """ValueError or IndexError where a record is malformed, or there are more or fewer."""
    at, total, left = 0, len(payload), count
    row, patience = _ROW_FIRST, 0
    while left:
        start = at
        size = payload[at]
        if size < _ONE_BYTE:  # a varint of one byte, which most are, read in place
            size = (size >> 1) ^ -(size & 1)
            body = at + 1
        else:
            size, body = read_varint(payload, at)
        end = body + size
        if size < RECORD_BODY_MIN or end > total:
            raise ValueError("a record longer than its batch")
        offset_at = body + 2
        while payload[offset_at - 1] >= _ONE_BYTE:  # the timestamp's delta
            offset_at += 1
        key_at = offset_at + 1
        while payload[key_at - 1] >= _ONE_BYTE:
            key_at += 1
        if offset_at - body > _TIMESTAMP_BYTES_MAX + 1 or key_at - offset_at > _OFFSET_BYTES_MAX:
            raise ValueError("a varint that is too long")
        at = payload[key_at]
        if at < _ONE_BYTE:
            value_at = key_at + 1 + (0 if at & 1 else at >> 1)
        else:
            size, value_at = read_varint(payload, key_at)
            value_at += max(size, 0)
        at = payload[value_at]
        if at < _ONE_BYTE:
            headers_at = value_at + 1 + (0 if at & 1 else at >> 1)
        else:
            size, headers_at = read_varint(payload, value_at)
            headers_at += max(size, 0)
        if headers_at + 1 != end or payload[headers_at]:
            _prove_headers(payload, headers_at, end)
        at = end
        left -= 1
        if patience:
            patience -= 1
        elif (
            left >= _ROW_MIN
            and headers_at + 1 == end
            and payload.startswith(payload[start:body], end)
        ):
            columns = _Columns(payload, start, body, offset_at, key_at, value_at, headers_at)
            alike = columns.count_alike(end, min(row, left, (total - end) // (end - start)))
            at += alike * (end - start)
            left -= alike
            row = row * 2 if alike == row else _ROW_FIRST
            patience = 0 if alike else _ROW_FIRST
    if at != total:
        raise ValueError(f"{total - at} bytes follow the last of {count} records")


class _Columns:
    """The layout of one record without headers, for comparing those that follow."""

    def __init__(
        self,
        payload: bytes,
        start: int,
        body: int,
        offset_at: int,
        key_at: int,
        value_at: int,
        headers_at: int,
    ) -> None:
        self._payload = payload
        self._step = headers_at + 1 - start
        key_length_end = _end_of_varint(payload, key_at)
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
        self._low = (offset_at - 1 - start, key_at - 1 - start)
        self._high = (
            *range(body + 1 - start, offset_at - 1 - start),
            *range(offset_at - start, key_at - 1 - start),
        )

    def count_alike(self, at: int, most: int) -> int:
        """How many records from `at` on have the same layout, up to `most`; few count as none."""
        payload, step = self._payload, self._step
        for column, byte in self._prefix:
            found = payload[at + column : at + most * step : step]
            most = len(found) - len(found.lstrip(byte))
        if most < _ROW_MIN:
            return 0
        stop = at + most * step
        for column, byte in self._same:
            if payload[at + column : stop : step] != byte * most:
                return 0
        for column in self._low:
            if not payload[at + column : stop : step].isascii():
                return 0
        for column in self._high:
            if payload[at + column : stop : step].translate(None, _HIGH):
                return 0
        return most


def _end_of_varint(payload: bytes, at: int) -> int:
    while payload[at] >= _ONE_BYTE:
        at += 1
    return at + 1


def _prove_headers(payload: bytes, at: int, end: int) -> None:
    count, at = read_varint(payload, at)
    if not 0 <= count <= end - at:
        raise ValueError("more headers than bytes")
    for _ in range(count):
        size, at = read_varint(payload, at)
        if size < 0:
            raise ValueError("a header without a name")
        size, at = read_varint(payload, at + size)
        at += max(size, 0)
    if at != end:
        raise ValueError("a record whose fields do not fill it")
