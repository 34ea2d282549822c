import resource

import cramjam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.errors import ErrorCode, KafkaError
from ottla.wire.compression import Codec, compress, decompress
from ottla.wire.record_batch import (
    COMMIT_MARKER,
    BatchHeader,
    NewRecord,
    build_batch,
    build_marker,
    crc_is_valid,
    iterate_batches,
    iterate_records,
    payload_of,
    read_control_type,
    read_coordinator_epoch,
    read_header,
    seal_batch,
    skim_records,
)
from ottla.wire.varint import read_varint, varint

maybe_bytes = st.none() | st.binary(max_size=200)
new_records = st.builds(
    NewRecord,
    timestamp=st.integers(0, 2**45),
    key=maybe_bytes,
    value=maybe_bytes,
    headers=st.lists(st.tuples(st.text(max_size=5), maybe_bytes), max_size=3).map(tuple),
)


@settings(max_examples=50, deadline=None)
@given(records=st.lists(new_records, min_size=1, max_size=20), codec=st.sampled_from(Codec))
def test_what_is_built_is_read_back(records: list[NewRecord], codec: Codec) -> None:
    data = build_batch(records, base_offset=7, codec=codec, producer_id=3, base_sequence=1)
    ((position, header),) = iterate_batches(data)
    assert (position, header.size, header.last_offset) == (0, len(data), 6 + len(records))
    assert crc_is_valid(data, 0, header)
    found = list(iterate_records(data, 0, header))
    assert [record.offset for record in found] == list(range(7, 7 + len(records)))
    assert [NewRecord(*record[1:]) for record in found] == records
    skimmed = list(skim_records(payload_of(data, 0, header), header))
    assert skimmed == [(record.timestamp, record.key is not None) for record in records]


@given(st.integers(-(2**63), 2**63 - 1))
def test_varints_come_back(value: int) -> None:
    encoded = b"\xff" + varint(value)
    assert read_varint(encoded, 1) == (value, len(encoded))


def test_a_batch_cut_short_at_the_end_is_left_out() -> None:
    one = build_batch([NewRecord(1, None, b"a")])
    assert [position for position, _ in iterate_batches(one + one[:-1])] == [0]


@pytest.mark.parametrize("length", [-1, 0, 48])
def test_a_length_that_lies_is_refused(length: int) -> None:
    data = bytearray(build_batch([NewRecord(1, None, b"a")]))
    data[8:12] = length.to_bytes(4, "big", signed=True)
    with pytest.raises(KafkaError) as refused:
        list(iterate_batches(data))
    assert refused.value.code is ErrorCode.CORRUPT_MESSAGE


@settings(max_examples=300, deadline=None)
@given(payload=st.binary(max_size=60), count=st.integers(0, 2**31 - 1), codec=st.integers(0, 7))
def test_garbage_inside_a_sound_batch_is_refused_in_kind(
    payload: bytes, count: int, codec: int
) -> None:
    header = BatchHeader(0, 0, 0, 2, 0, codec, 0, 0, 0, -1, -1, -1, count)
    data = seal_batch(header, payload)
    codes = {ErrorCode.NONE}
    try:
        header = read_header(data)
        list(skim_records(payload_of(data, 0, header), header))
        list(iterate_records(data, 0, header))
    except KafkaError as error:
        codes.add(error.code)
    assert codes <= {ErrorCode.NONE, ErrorCode.CORRUPT_MESSAGE}


def test_a_marker_says_what_became_of_the_transaction() -> None:
    data = build_marker(
        commit=True, producer_id=5, producer_epoch=1, coordinator_epoch=9, timestamp=1
    )
    header = read_header(data)
    assert header.is_control
    assert header.is_transactional
    (record,) = iterate_records(data, 0, header)
    assert (read_control_type(record), read_coordinator_epoch(record)) == (COMMIT_MARKER, 9)
    assert (record.key, record.value) == (b"\0\0\0\1", b"\0\0\0\0\0\x09")


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_bomb_costs_no_more_than_the_cap(codec: Codec) -> None:
    bomb = compress(codec, bytes(256 * 1024 * 1024))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(KafkaError) as refused:
        decompress(codec, bomb, limit=1024 * 1024)
    assert refused.value.code is ErrorCode.CORRUPT_MESSAGE
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 * 1024


def test_snappy_comes_bare_or_framed() -> None:
    plain = b"abc" * 20_000
    framed = compress(Codec.SNAPPY, plain)
    assert framed[:8] == b"\x82SNAPPY\x00"
    assert decompress(Codec.SNAPPY, framed) == plain
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(plain))) == plain


def test_lz4_frames_have_the_independent_blocks_that_kafka_asks_for() -> None:
    plain = b"abc" * 50_000 + bytes(range(256)) * 300
    framed = compress(Codec.LZ4, plain)
    assert framed[:7] == b"\x04\x22\x4d\x18\x60\x40\x82"
    assert decompress(Codec.LZ4, framed) == plain
