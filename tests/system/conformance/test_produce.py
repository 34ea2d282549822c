"""Produce: what is refused, with which error, and what idempotence promises."""

import uuid
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from support.batches import batch
from support.wire import Connection
from system.conformance.raw_topics import MakeRawTopic, RawTopic

CONTROL, GZIP, LOG_APPEND_TIME = 0x20, 0x01, 0x08


@pytest.mark.parametrize("version", range(3, 14))
def test_every_version_appends(raw_topic: RawTopic, version: int) -> None:
    first = raw_topic.produce(batch([b"a", b"b"]), version=version)
    second = raw_topic.produce(batch([b"c"]), version=version)
    assert (first.error_code, first.base_offset) == (ErrorCode.none, 0)
    assert (second.error_code, second.base_offset) == (ErrorCode.none, 2)
    assert second.log_append_time is None or second.log_append_time == -1


@pytest.mark.parametrize(
    ("records", "error"),
    [
        (batch([b"v"], crc=1), ErrorCode.corrupt_message),
        (batch([b"v"], magic=1), ErrorCode.invalid_record),
        (batch([b"v"])[:-1], ErrorCode.invalid_record),
        (batch([b"v"]) + batch([b"w"]), ErrorCode.invalid_record),
        (batch([b"v", b"w"], count=1), ErrorCode.invalid_record),
        (batch([b"v"], count=2, last_offset_delta=1), ErrorCode.invalid_record),
        (batch([b"v"], last_offset_delta=5), ErrorCode.invalid_record),
        (batch([], last_offset_delta=0), ErrorCode.invalid_record),
        (batch([b"v"], attributes=CONTROL), ErrorCode.invalid_record),
        (batch([b"x" * 1_100_000]), ErrorCode.message_too_large),
        (b"", ErrorCode.invalid_record),
    ],
    ids=[
        "wrong checksum",
        "an old magic",
        "cut short",
        "two batches",
        "fewer counted than there are",
        "more counted than there are",
        "offsets with holes",
        "no records",
        "a control batch",
        "larger than max.message.bytes",
        "nothing at all",
    ],
)
def test_a_bad_batch_is_refused_and_nothing_is_stored(
    raw_topic: RawTopic, records: bytes, error: ErrorCode
) -> None:
    assert raw_topic.produce(records).error_code == error
    assert raw_topic.fetch().high_watermark == 0
    assert raw_topic.produce(batch([b"good"])).base_offset == 0


@pytest.mark.parametrize("attributes", [GZIP, 7], ids=["not gzip as it says", "unknown codec"])
def test_a_batch_that_cannot_be_decompressed_is_refused(
    raw_topic: RawTopic, attributes: int
) -> None:
    """Kafka lets the codec's exception through as UNKNOWN_SERVER_ERROR; ours say what is wrong."""
    refused = raw_topic.produce(batch([b"v"], attributes=attributes)).error_code
    assert refused in (
        ErrorCode.unknown_server_error,
        ErrorCode.corrupt_message,
        ErrorCode.invalid_record,
    )
    assert raw_topic.fetch().high_watermark == 0


def test_a_client_cannot_claim_log_append_time(raw_topic: RawTopic) -> None:
    """The bit is accepted and cleared: the topic decides which time its records carry."""
    assert raw_topic.produce(batch([b"v"], attributes=LOG_APPEND_TIME)).error_code == 0
    assert raw_topic.fetch().records[22] & LOG_APPEND_TIME == 0


def test_one_bad_partition_does_not_refuse_the_others(
    connection: Connection, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(partitions=2)
    places = [
        {"index": 0, "records": batch([b"v"], crc=1)},
        {"index": 1, "records": batch([b"v"])},
        {"index": 2, "records": batch([b"v"])},
    ]
    reply = connection.ask(
        "produce",
        9,
        acks=-1,
        timeout=1000,
        topic_data=[{"name": topic.name, "partition_data": places}],
    )
    codes = {p.index: p.error_code for p in reply.responses[0].partition_responses}
    assert codes == {
        0: ErrorCode.corrupt_message,
        1: ErrorCode.none,
        2: ErrorCode.unknown_topic_or_partition,
    }


def test_acks_other_than_0_1_and_all_are_refused(raw_topic: RawTopic) -> None:
    assert raw_topic.produce(batch([b"v"]), acks=2).error_code == ErrorCode.invalid_required_acks


def test_an_unknown_topic_is_refused_by_name_and_by_id(connection: Connection) -> None:
    place = {"index": 0, "records": batch([b"v"])}
    by_name = [{"name": "never-made", "partition_data": [place]}]
    by_id = [{"topic_id": uuid.uuid4(), "partition_data": [place]}]
    reply = connection.ask("produce", 12, acks=1, timeout=1000, topic_data=by_name)
    [partition] = reply.responses[0].partition_responses
    assert partition.error_code == ErrorCode.unknown_topic_or_partition
    reply = connection.ask("produce", 13, acks=1, timeout=1000, topic_data=by_id)
    [partition] = reply.responses[0].partition_responses
    assert partition.error_code == ErrorCode.unknown_topic_id


def test_log_append_time_is_told_in_the_reply(make_raw_topic: MakeRawTopic) -> None:
    topic = make_raw_topic(message_timestamp_type="LogAppendTime")
    reply = topic.produce(batch([b"v"]))
    assert reply.log_append_time.timestamp() > 1_700_000_000


class TestIdempotence:
    """Producer ids, epochs and sequences on one partition."""

    @pytest.fixture
    def producer_id(self, connection: Connection) -> int:
        return connection.new_producer_id()

    def test_producer_ids_are_given_once(self, connection: Connection, producer_id: int) -> None:
        assert connection.new_producer_id() != producer_id

    def test_a_batch_sent_again_is_acknowledged_with_its_first_offset(
        self, raw_topic: RawTopic, producer_id: int
    ) -> None:
        ids: dict[str, Any] = {"producer_id": producer_id, "producer_epoch": 0}
        batches = [batch([b"v"] * 2, sequence=2 * n, **ids) for n in range(6)]
        assert [raw_topic.produce(b).base_offset for b in batches] == [0, 2, 4, 6, 8, 10]
        again = [raw_topic.produce(b) for b in batches[1:]]
        assert [(r.error_code, r.base_offset) for r in again] == [
            (ErrorCode.none, offset) for offset in (2, 4, 6, 8, 10)
        ]
        assert raw_topic.fetch().high_watermark == 12

    def test_a_batch_older_than_the_window_of_five_is_out_of_order(
        self, raw_topic: RawTopic, producer_id: int
    ) -> None:
        ids: dict[str, Any] = {"producer_id": producer_id, "producer_epoch": 0}
        batches = [batch([b"v"], sequence=n, **ids) for n in range(6)]
        for good in batches:
            raw_topic.produce(good)
        assert raw_topic.produce(batches[0]).error_code == ErrorCode.out_of_order_sequence_number

    def test_a_gap_in_sequences_is_refused(self, raw_topic: RawTopic, producer_id: int) -> None:
        ids: dict[str, Any] = {"producer_id": producer_id, "producer_epoch": 0}
        raw_topic.produce(batch([b"v"], sequence=0, **ids))
        gap = raw_topic.produce(batch([b"v"], sequence=2, **ids))
        assert gap.error_code == ErrorCode.out_of_order_sequence_number

    def test_sequences_go_on_after_the_largest_at_zero(
        self, raw_topic: RawTopic, producer_id: int
    ) -> None:
        ids: dict[str, Any] = {"producer_id": producer_id, "producer_epoch": 0}
        last = raw_topic.produce(batch([b"v"] * 2, sequence=2**31 - 2, **ids))
        first = raw_topic.produce(batch([b"v"], sequence=0, **ids))
        assert [last.error_code, first.error_code] == [ErrorCode.none, ErrorCode.none]

    def test_a_new_epoch_starts_at_sequence_zero_and_fences_the_old(
        self, raw_topic: RawTopic, producer_id: int
    ) -> None:
        def send(epoch: int, sequence: int) -> ErrorCode:
            sent = batch([b"v"], producer_id=producer_id, producer_epoch=epoch, sequence=sequence)
            return raw_topic.produce(sent).error_code

        assert send(0, 0) == ErrorCode.none
        assert send(1, 1) == ErrorCode.out_of_order_sequence_number
        assert send(1, 0) == ErrorCode.none
        assert send(0, 1) == ErrorCode.invalid_producer_epoch

    def test_an_unknown_producer_may_start_anywhere(
        self, raw_topic: RawTopic, producer_id: int
    ) -> None:
        """Its records may have been deleted by retention, so a gap proves nothing."""
        ids: dict[str, Any] = {"producer_id": producer_id, "producer_epoch": 0}
        assert raw_topic.produce(batch([b"v"], sequence=17, **ids)).error_code == ErrorCode.none
