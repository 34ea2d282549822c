"""Columns hold what walking record by record finds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.wire.columns import read_columns
from ottla.wire.record_batch import (
    NewRecord,
    Record,
    build_batch,
    iterate_records,
    payload_of,
    read_header,
)

NOW = 1_700_000_000_000
MAYBE = st.none() | st.binary(max_size=200)
RECORD = st.builds(
    NewRecord,
    st.integers(NOW - 1000, NOW + 10**9),
    MAYBE,
    MAYBE,
    st.just(()) | st.just((("name", b"value"),)),
)
ROW = st.builds(
    lambda record, times, width: [
        NewRecord(NOW + n * width, record.key, record.value) for n in range(times)
    ],
    RECORD,
    st.integers(1, 300),
    st.sampled_from([0, 1, 1000]),
)


def plain(records: list[NewRecord]) -> tuple[bytes, list[Record]]:
    batch = build_batch(records)
    header = read_header(batch)
    return bytes(payload_of(batch, 0, header)), list(iterate_records(batch, 0, header))


@given(st.lists(ROW | RECORD.map(lambda one: [one]), min_size=1, max_size=12))
def test_columns_hold_what_a_walk_finds(rows: list[list[NewRecord]]) -> None:
    payload, walked = plain([record for row in rows for record in row])
    columns = read_columns(payload, len(walked))
    first = walked[0].timestamp
    assert columns.keys == [record.key for record in walked]
    assert columns.offsets == [record.offset for record in walked]
    assert columns.timestamps == [record.timestamp - first for record in walked]
    assert columns.valueless == [n for n, record in enumerate(walked) if record.value is None]
    ends = [*columns.starts[1:], len(payload)]
    alone = [payload[start:end] for start, end in zip(columns.starts, ends, strict=True)]
    assert b"".join(alone) == payload
    assert all(
        read_columns(one, 1).keys == [key] for one, key in zip(alone, columns.keys, strict=True)
    )


@pytest.mark.parametrize("count", [0, 9, 11])
def test_another_number_of_records_is_refused(count: int) -> None:
    payload, _ = plain([NewRecord(NOW, b"key", b"value")] * 10)
    with pytest.raises((ValueError, IndexError)):
        read_columns(payload, count)


@given(st.binary(max_size=300), st.integers(0, 20))
def test_garbage_is_refused_or_read_but_never_hangs(garbage: bytes, count: int) -> None:
    try:
        columns = read_columns(garbage, count)
    except (ValueError, IndexError):
        return
    assert len(columns.starts) == count
