"""What a leader refuses, with the codes that a running Kafka gave, and what it rewrites."""

from collections.abc import Callable
from typing import Any

import pytest

from ottla.config import Settings
from ottla.errors import ErrorCode, KafkaError
from ottla.log.config import LogConfig
from ottla.log.partition_log import PartitionLog
from ottla.log.validation import InvalidRecords
from ottla.wire.compression import Codec, compress
from ottla.wire.record_batch import (
    BatchHeader,
    NewRecord,
    build_marker,
    crc_is_valid,
    encode_record,
    read_header,
    seal_batch,
)
from support.log_batches import NOW, append, batch, records_in

Open = Callable[..., PartitionLog]


def refusal(log: PartitionLog, data: bytes, **how: Any) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        log.append_as_leader(data, leader_epoch=0, now_ms=NOW, **how)
    assert log.log_end_offset == 0
    assert log.size == 0
    return refused.value.code


def altered(**fields: int) -> bytes:
    data = batch(b"value")
    return seal_batch(read_header(data)._replace(**fields), data[61:])


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", ErrorCode.INVALID_RECORD),
        (batch(b"x")[:-1], ErrorCode.INVALID_RECORD),
        (batch(b"x") + batch(b"y"), ErrorCode.INVALID_RECORD),
        (batch(b"x")[:-1] + b"!", ErrorCode.CORRUPT_MESSAGE),
        (altered(base_offset=5), ErrorCode.INVALID_RECORD),
        (altered(last_offset_delta=1), ErrorCode.INVALID_RECORD),
        (altered(last_offset_delta=-1), ErrorCode.INVALID_RECORD),
        (altered(count=2), ErrorCode.INVALID_RECORD),
        (altered(producer_id=1, base_sequence=-1), ErrorCode.INVALID_RECORD),
        (altered(count=2, last_offset_delta=1), ErrorCode.INVALID_RECORD),
        (altered(attributes=5), ErrorCode.INVALID_RECORD),
        (batch(b"x")[:16] + b"\x01" + batch(b"x")[17:], ErrorCode.INVALID_RECORD),
        (batch(b"x")[:16] + b"\x03" + batch(b"x")[17:], ErrorCode.CORRUPT_MESSAGE),
        (batch(b"x" * 2000), ErrorCode.MESSAGE_TOO_LARGE),
        (
            build_marker(
                commit=True, producer_id=1, producer_epoch=0, coordinator_epoch=0, timestamp=NOW
            ),
            ErrorCode.INVALID_RECORD,
        ),
    ],
)
def test_batches_are_refused_by_their_headers(
    open_orders: Open, data: bytes, code: ErrorCode
) -> None:
    assert refusal(open_orders(LogConfig(message_bytes_max=1000)), data) is code


def counted(count: int, payload: bytes, codec: Codec) -> bytes:
    """A batch that claims `count` records; its checksum is right."""
    header = read_header(batch(b"x"))._replace(
        attributes=codec, count=count, last_offset_delta=count - 1
    )
    return seal_batch(header, compress(codec, payload))


ONE, TWO, THREE = (encode_record(n, n, NewRecord(NOW, None, b"value")) for n in range(3))


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize(
    ("count", "payload"),
    [
        (3, ONE + TWO),
        (1, ONE + TWO),
        (2, ONE + TWO + bytes(3)),
        (3, ONE + TWO + THREE[:-1]),
        (1, ONE[:-2] + b"!!"),
        (1, b"\x01" + ONE[1:]),
        (1, bytes(50)),
    ],
    ids=[
        "more claimed than there are",
        "fewer claimed than there are",
        "bytes behind the last record",
        "the last record cut short",
        "fields that do not fill their record",
        "a negative size",
        "zeros",
    ],
)
def test_a_batch_that_no_consumer_could_read_is_refused(
    open_orders: Open, codec: Codec, count: int, payload: bytes
) -> None:
    log = open_orders()
    assert refusal(log, counted(count, payload, codec)) is ErrorCode.INVALID_RECORD
    log.append_as_leader(counted(3, ONE + TWO + THREE, codec), leader_epoch=0, now_ms=NOW)
    assert log.log_end_offset == 3


def test_compressed_records_are_refused_out_of_order_and_plain_ones_are_not(
    open_orders: Open,
) -> None:
    """As Kafka has it, whose answer to the first is UNKNOWN_SERVER_ERROR, however."""
    log = open_orders()
    assert refusal(log, counted(2, ONE + THREE, Codec.LZ4)) is ErrorCode.INVALID_RECORD
    log.append_as_leader(counted(2, ONE + THREE, Codec.NONE), leader_epoch=0, now_ms=NOW)
    assert log.log_end_offset == 2


@pytest.mark.parametrize(
    ("at", "code"),
    [(NOW + 3_600_001, ErrorCode.INVALID_TIMESTAMP), (NOW - 1001, ErrorCode.INVALID_TIMESTAMP)],
)
def test_timestamps_out_of_the_topics_limits_are_refused(
    open_orders: Open, at: int, code: ErrorCode
) -> None:
    log = open_orders(LogConfig(timestamp_before_max_ms=1000))
    assert refusal(log, batch(b"x", at=at)) is code
    append(log, b"x", at=NOW - 1000)
    append(log, b"x", at=NOW + 3_600_000)
    append(log, b"x", at=-1)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_a_header_cannot_hide_a_timestamp_out_of_the_limits(
    open_orders: Open, codec: Codec
) -> None:
    late = encode_record(0, 3_700_000, NewRecord(NOW, None, b"late"))
    assert refusal(open_orders(), counted(1, late, codec)) is ErrorCode.INVALID_TIMESTAMP


def test_a_header_that_claims_a_later_timestamp_than_any_record_has_is_corrected(
    open_orders: Open,
) -> None:
    log = open_orders()
    sent = batch(b"x")
    lie = seal_batch(read_header(sent)._replace(max_timestamp=NOW + 4_000_000), sent[61:])
    log.append_as_leader(lie, leader_epoch=0, now_ms=NOW)
    data = log.read(0, 1000, upto=1).data
    assert read_header(data).max_timestamp == NOW
    assert crc_is_valid(data, 0, read_header(data))


def test_a_compacted_topic_names_the_records_without_a_key(open_orders: Open) -> None:
    log = open_orders(LogConfig(compact=True))
    with pytest.raises(InvalidRecords) as refused:
        append(log, b"a", b"b")
    assert refused.value.code is ErrorCode.INVALID_RECORD
    assert [index for index, _ in refused.value.records] == [0, 1]
    data = batch(b"a", b"b", key=b"k", codec=Codec.LZ4)
    log.append_as_leader(data, leader_epoch=0, now_ms=NOW)
    assert log.log_end_offset == 2


def test_a_topic_that_stamps_on_arrival_changes_the_header_only(open_orders: Open) -> None:
    log = open_orders(LogConfig(log_append_time=True))
    appended = append(log, b"a", b"b", at=5)
    assert appended.append_time == NOW
    data = log.read(0, 1000, upto=2).data
    header = read_header(data)
    assert (header.max_timestamp, header.base_timestamp, header.log_append_time) == (NOW, 5, True)
    assert crc_is_valid(data, 0, header)
    assert [record.timestamp for record in records_in(data)] == [NOW, NOW]


@pytest.mark.parametrize("sent", [Codec.NONE, Codec.GZIP, Codec.ZSTD])
def test_a_topic_with_a_codec_of_its_own_recompresses(open_orders: Open, sent: Codec) -> None:
    log = open_orders(LogConfig(codec=Codec.ZSTD))
    log.append_as_leader(batch(b"a" * 50, b"b", codec=sent), leader_epoch=0, now_ms=NOW)
    data = log.read(0, 1000, upto=2).data
    header: BatchHeader = read_header(data)
    assert header.codec == Codec.ZSTD
    assert [record.value for record in records_in(data)] == [b"a" * 50, b"b"]


@pytest.mark.parametrize(("codec", "low", "high"), [("gzip", 1, 9), ("zstd", -50, 19)])
def test_a_topic_says_how_hard_its_codec_tries(
    open_orders: Open, codec: str, low: int, high: int
) -> None:
    text = b" ".join(b"%d" % (number * number % 1009) for number in range(2000))
    sizes = []
    for level in (low, high):
        topic = {"compression.type": codec, f"compression.{codec}.level": str(level)}
        log = open_orders(LogConfig.from_settings(Settings().for_topic(topic)))
        start = log.size
        log.append_as_leader(batch(text), leader_epoch=0, now_ms=NOW)
        sizes.append(log.size - start)
    assert sizes[1] < sizes[0] < len(text)


def test_a_stored_batch_is_what_the_producer_sent_but_for_offset_and_epoch(
    open_orders: Open,
) -> None:
    log = open_orders()
    sent = batch(b"a", b"b", codec=Codec.SNAPPY)
    log.append_as_leader(sent, leader_epoch=4, now_ms=NOW)
    log.append_as_leader(sent, leader_epoch=4, now_ms=NOW)
    stored = bytes(log.read(2, 1000, upto=4).data)
    assert stored[16:] == sent[16:]
    assert read_header(stored)[:3] == (2, len(sent) - 12, 4)
