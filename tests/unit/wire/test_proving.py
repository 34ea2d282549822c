"""As many records as a batch claims, each of them whole, however alike or different they are."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.wire.proving import prove_records
from ottla.wire.record_batch import (
    NewRecord,
    build_batch,
    encode_record,
    iterate_records,
    read_header,
    seal_batch,
)

NOW = 1_700_000_000_000


def payload_of(records: list[NewRecord]) -> bytes:
    return b"".join(encode_record(n, r.timestamp - NOW, r) for n, r in enumerate(records))


def is_proven(payload: bytes, count: int, *, in_order: bool = False) -> bool:
    try:
        prove_records(payload, count, in_order=in_order)
    except (IndexError, ValueError):
        return False
    return True


def alike(count: int) -> list[NewRecord]:
    return [NewRecord(NOW + n // 300, b"k%05d" % n, b"v" * 100) for n in range(count)]


def test_rows_of_records_that_look_alike_are_proven_across_changes_of_layout() -> None:
    records = alike(20_000)  # deltas of offsets and of timestamps grow by a byte or two
    assert is_proven(payload_of(records), 20_000)
    assert is_proven(payload_of(records), 20_000, in_order=True)


@pytest.mark.parametrize("at", [0, 1, 63, 64, 5_000, 8_191, 8_192, 16_384, 19_999])
def test_an_offset_out_of_order_is_noticed_among_records_that_look_alike(at: int) -> None:
    encoded = [encode_record(n, 0, record) for n, record in enumerate(alike(20_000))]
    encoded[at] = encode_record(at ^ 2, 0, alike(at + 1)[at])
    payload = b"".join(encoded)
    assert is_proven(payload, 20_000)
    assert not is_proven(payload, 20_000, in_order=True)


@pytest.mark.parametrize("claimed", [19_999, 20_001, 1, 0])
def test_another_count_is_noticed_among_records_that_look_alike(claimed: int) -> None:
    assert not is_proven(payload_of(alike(20_000)), claimed)


def test_a_record_whose_fields_lie_is_noticed_among_records_that_look_alike() -> None:
    records = alike(2_000)
    good = payload_of(records)
    size = len(encode_record(1_500, 5, records[1_500]))
    start = len(payload_of(records[:1_500]))
    for at in range(start, start + size):
        if good[at : at + 1] in (b"v", b"k") or good[at : at + 1].isdigit():
            continue  # contents may be anything
        lie = good[:at] + bytes([good[at] ^ 0x81]) + good[at + 1 :]
        header = read_header(build_batch(records))
        assert is_proven(lie, 2_000) == can_be_read(lie, header._replace(count=2_000)), at


def can_be_read(payload: bytes, header: object) -> bool:
    batch = seal_batch(header, payload)  # type: ignore[arg-type]
    try:
        list(iterate_records(batch, 0, read_header(batch)))
    except Exception:
        return False
    return True


@pytest.mark.parametrize("claimed", [2_999, 3_001])
def test_the_count_of_many_records_of_different_sizes_is_proven(claimed: int) -> None:
    draw = random.Random(1)
    found = [NewRecord(NOW + n, None, b"v" * draw.randrange(300)) for n in range(3_000)]
    payload = payload_of(found)
    assert is_proven(payload, 3_000)
    assert not is_proven(payload, claimed)
    assert not is_proven(payload[:-1], 3_000)
    assert not is_proven(payload + b"\0", 3_000)


def test_the_bound_of_timestamps_holds_whatever_was_walked() -> None:
    draw = random.Random(2)
    for late in (0, 60, 5_000, 100_000, 10**9):
        found = [NewRecord(NOW, None, b"v" * draw.randrange(300)) for _ in range(1_000)]
        found[700] = found[700]._replace(timestamp=NOW + late)
        assert late <= prove_records(payload_of(found), 1_000) < max(300 * late, 10_000)


records = st.builds(
    NewRecord,
    st.integers(NOW, NOW + 100_000),
    st.none() | st.binary(max_size=200),
    st.none() | st.binary(max_size=200),
    st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=2).map(
        tuple
    ),
)


@given(st.lists(records, min_size=1, max_size=40), st.integers(1, 30))
def test_whatever_a_producer_writes_is_proven(found: list[NewRecord], repeated: int) -> None:
    many = found * repeated
    payload = payload_of(many)
    assert is_proven(payload, len(many), in_order=True)
    assert not is_proven(payload, len(many) + 1)
    assert not is_proven(payload, len(many) - 1)


@given(st.integers(0, 2**32))
def test_a_flipped_byte_passes_only_where_the_records_can_still_be_read(seed: int) -> None:
    draw = random.Random(seed)
    many = [
        NewRecord(NOW + n // 10, draw.choice([None, b"key"]), b"v" * draw.choice([20, 20, 20, 90]))
        for n in range(60)
    ]
    payload = bytearray(payload_of(many))
    payload[draw.randrange(len(payload))] = draw.randrange(256)
    header = read_header(build_batch(many))
    assert is_proven(bytes(payload), 60) == can_be_read(bytes(payload), header)
