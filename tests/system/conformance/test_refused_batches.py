"""Batches that a broker does not take, and what it tells of the log that refused them."""

from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from support.batches import batch
from support.wire import Connection
from system.conformance.raw_topics import MakeRawTopic, RawTopic
from system.conformance.transactional import TRANSACTIONAL, ZSTD


@pytest.mark.parametrize("version", range(3, 14))
def test_zstd_is_for_version_7_and_later(raw_topic: RawTopic, version: int) -> None:
    told = raw_topic.produce(batch([b"v"], attributes=ZSTD), version=version)
    if version < 7:
        assert told.error_code == ErrorCode.unsupported_compression_type
    else:  # it is taken for zstd, which it is not
        assert told.error_code not in (ErrorCode.none, ErrorCode.unsupported_compression_type)


def test_what_cannot_be_read_refuses_the_request(
    connection: Connection, make_raw_topic: MakeRawTopic
) -> None:
    """Unless the first batch of a transaction comes before it: Kafka looks no further."""
    topic = make_raw_topic(2)
    good, unreadable = batch([b"v"]), batch([b"v"], magic=3)

    def told(*records: bytes) -> list[ErrorCode]:
        places = [{"index": index, "records": each} for index, each in enumerate(records)]
        reply = connection.ask(
            "produce",
            12,
            acks=-1,
            timeout=5_000,
            transactional_id="never-begun",
            topic_data=[{"name": topic.name, "partition_data": places}],
        )
        return [each.error_code for each in reply.responses[0].partition_responses]

    assert told(good, unreadable) == [ErrorCode.corrupt_message] * 2
    plain = batch([b"v"], attributes=TRANSACTIONAL)
    assert told(plain, unreadable) == [ErrorCode.none, ErrorCode.corrupt_message]


def test_two_batches_are_refused_before_they_are_looked_at(raw_topic: RawTopic) -> None:
    late = batch([b"v"], timestamp=2**60)
    told = raw_topic.produce(late + late)
    assert (told.error_code, told.log_start_offset) == (ErrorCode.invalid_record, -1)
    assert raw_topic.produce(late + late, acks=7).error_code == ErrorCode.invalid_record


def test_where_the_log_starts_is_told_where_the_log_refused(
    raw_topic: RawTopic, connection: Connection
) -> None:
    raw_topic.fill(b"a", b"b", b"c")
    place = {"partition_index": 0, "offset": 2}
    connection.ask(
        "delete_records",
        2,
        timeout=5_000,
        topics=[{"name": raw_topic.name, "partitions": [place]}],
    )
    known: dict[str, Any] = {"producer_id": connection.new_producer_id(), "producer_epoch": 0}
    assert raw_topic.produce(batch([b"v"], sequence=0, **known)).log_start_offset == 2
    gap = raw_topic.produce(batch([b"v"], sequence=5, **known))
    assert gap.error_code == ErrorCode.out_of_order_sequence_number
    assert (gap.base_offset, gap.log_start_offset) == (-1, 2)
    holes = raw_topic.produce(batch([b"v"], last_offset_delta=5))
    assert (holes.error_code, holes.log_start_offset) == (ErrorCode.invalid_record, 2)
    for records in (batch([b"v"], crc=1), b"", batch([b"v"]) + batch([b"w"])):
        assert raw_topic.produce(records).log_start_offset == -1
    assert raw_topic.produce(batch([b"v"]), acks=7).log_start_offset == -1
