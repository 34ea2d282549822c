"""ListOffsets, OffsetForLeaderEpoch and DeleteRecords."""

from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from support.batches import batch
from support.wire import Connection
from system.conformance.raw_topics import MakeRawTopic, RawTopic

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = range(-1, -7, -1)
FIRST = 1_700_000_000_000


def list_offset(
    topic: RawTopic, timestamp: int, version: int = 11, partition: int = 0, epoch: int = -1
) -> Any:
    place = {"partition_index": partition, "timestamp": timestamp}
    if version >= 4:
        place["current_leader_epoch"] = epoch
    reply = topic.connection.ask(
        "list_offsets", version, replica_id=-1, topics=[{"name": topic.name, "partitions": [place]}]
    )
    return reply.topics[0].partitions[0]


@pytest.fixture
def filled(raw_topic: RawTopic) -> RawTopic:
    """Offsets 0, 1, 2 with times 0 s, 20 s, 10 s after the first."""
    for seconds in (0, 20, 10):
        raw_topic.produce(batch([b"v"], timestamp=FIRST + seconds * 1000))
    return raw_topic


@pytest.mark.parametrize(
    ("asked", "offset"),
    [
        (LATEST, 3),
        (EARLIEST, 0),
        (MAX_TIMESTAMP, 1),
        (EARLIEST_LOCAL, 0),
        (FIRST, 0),
        (FIRST + 1, 1),
        (FIRST + 20_000, 1),
        (FIRST + 20_001, -1),
        (LATEST_TIERED, -1),
        (EARLIEST_PENDING, -1),
    ],
)
def test_offsets_are_found_by_kind_and_by_time(filled: RawTopic, asked: int, offset: int) -> None:
    reply = list_offset(filled, asked)
    assert (reply.error_code, reply.offset) == (ErrorCode.none, offset)


@pytest.mark.parametrize("version", range(1, 12))
def test_every_version_finds_the_end(filled: RawTopic, version: int) -> None:
    assert list_offset(filled, LATEST, version).offset == 3


def test_an_empty_log_has_no_largest_timestamp(raw_topic: RawTopic) -> None:
    reply = list_offset(raw_topic, MAX_TIMESTAMP)
    assert (reply.error_code, reply.offset) == (ErrorCode.none, -1)
    assert list_offset(raw_topic, LATEST).offset == 0
    assert list_offset(raw_topic, FIRST).offset == -1


def test_the_reply_names_the_time_and_the_epoch_it_found(filled: RawTopic) -> None:
    reply = list_offset(filled, FIRST + 5)
    assert reply.timestamp == FIRST + 20_000
    assert reply.leader_epoch == 0
    assert list_offset(filled, LATEST).timestamp == -1


def test_unknown_places_and_epochs_are_refused(filled: RawTopic) -> None:
    unknown = list_offset(filled, LATEST, partition=8)
    assert unknown.error_code == ErrorCode.unknown_topic_or_partition
    assert list_offset(filled, LATEST, epoch=0).error_code == ErrorCode.none
    ahead = list_offset(filled, LATEST, epoch=3)
    assert ahead.error_code == ErrorCode.unknown_leader_epoch


@pytest.mark.parametrize(("epoch", "expected"), [(0, (0, 3)), (5, (-1, -1)), (-1, (-1, -1))])
def test_the_end_of_a_leader_epoch_is_told(
    connection: Connection, filled: RawTopic, epoch: int, expected: tuple[int, int]
) -> None:
    place = {"partition": 0, "current_leader_epoch": -1, "leader_epoch": epoch}
    topics = [{"topic": filled.name, "partitions": [place]}]
    reply = connection.ask("offset_for_leader_epoch", 4, replica_id=-1, topics=topics)
    [found] = reply.topics[0].partitions
    assert found.error_code == ErrorCode.none
    assert (found.leader_epoch, found.end_offset) == expected


def delete_before(topic: RawTopic, offset: int, partition: int = 0) -> Any:
    places = [{"partition_index": partition, "offset": offset}]
    reply = topic.connection.ask(
        "delete_records", 2, topics=[{"name": topic.name, "partitions": places}], timeout=5000
    )
    return reply.topics[0].partitions[0]


def test_records_are_deleted_up_to_an_offset_and_stay_deleted(filled: RawTopic) -> None:
    reply = delete_before(filled, 2)
    assert (reply.error_code, reply.low_watermark) == (ErrorCode.none, 2)
    assert list_offset(filled, EARLIEST).offset == 2
    gone = filled.fetch(fetch_offset=1)
    assert gone.error_code == ErrorCode.offset_out_of_range
    assert filled.fetch(fetch_offset=2).log_start_offset == 2
    assert delete_before(filled, 1).low_watermark == 2


def test_minus_one_deletes_up_to_the_high_watermark(filled: RawTopic) -> None:
    assert delete_before(filled, -1).low_watermark == 3


def test_records_beyond_the_log_cannot_be_deleted(filled: RawTopic) -> None:
    assert delete_before(filled, 4).error_code == ErrorCode.offset_out_of_range
    assert delete_before(filled, -2).error_code == ErrorCode.offset_out_of_range
    unknown = delete_before(filled, 0, partition=5)
    assert unknown.error_code == ErrorCode.unknown_topic_or_partition


def test_records_of_a_topic_that_is_only_compacted_cannot_be_deleted(
    make_raw_topic: MakeRawTopic,
) -> None:
    topic = make_raw_topic(cleanup_policy="compact")
    topic.produce(batch([b"v"], key=b"k"))
    assert delete_before(topic, 1).error_code == ErrorCode.policy_violation


def test_records_of_an_internal_topic_cannot_be_deleted(connection: Connection, group: str) -> None:
    places = [{"partition_index": 0, "offset": -2}, {"partition_index": 99, "offset": 0}]
    topics = [{"name": "__consumer_offsets", "partitions": places}]
    reply = connection.ask("delete_records", 2, topics=topics, timeout=5000)
    codes = {one.partition_index: one.error_code for one in reply.topics[0].partitions}
    assert codes == {
        0: ErrorCode.invalid_topic_exception,
        99: ErrorCode.unknown_topic_or_partition,
    }


def test_the_first_segment_that_is_late_enough_decides_even_where_the_log_starts_after_it(
    raw_topic: RawTopic,
) -> None:
    """A record that is years later than the first of its segment begins another."""
    raw_topic.produce(batch([b"v"], timestamp=FIRST))
    raw_topic.produce(batch([b"v"], timestamp=FIRST - 5000))
    raw_topic.produce(batch([b"v"], timestamp=FIRST + 40 * 24 * 3600 * 1000))
    assert delete_before(raw_topic, 1).low_watermark == 1
    assert list_offset(raw_topic, FIRST - 5000).offset == 1
    assert list_offset(raw_topic, FIRST).offset == -1
    assert list_offset(raw_topic, FIRST + 1).offset == 2


def list_offsets(
    connection: Connection, *topics: tuple[str, list[dict[str, Any]]], version: int = 10
) -> Any:
    asked = [{"name": name, "partitions": list(parts)} for name, parts in topics]
    reply = connection.ask("list_offsets", version, replica_id=-1, topics=asked)
    return {
        one.name: {p.partition_index: p.error_code for p in one.partitions} for one in reply.topics
    }


def test_a_place_that_is_named_twice_is_refused_once(
    connection: Connection, raw_topic: RawTopic
) -> None:
    place = {"partition_index": 0, "timestamp": -1}
    name = raw_topic.name
    reply = connection.ask(
        "list_offsets",
        10,
        replica_id=-1,
        topics=[{"name": name, "partitions": [place]}, {"name": name, "partitions": [place]}],
    )
    [topic] = reply.topics
    assert [(one.partition_index, one.error_code) for one in topic.partitions] == [
        (0, ErrorCode.invalid_request)
    ]


def test_a_kind_of_offset_is_judged_before_the_place(
    connection: Connection, raw_topic: RawTopic
) -> None:
    unknown = {"partition_index": 9, "timestamp": -7}
    too_new = {"partition_index": 8, "timestamp": -3}
    assert list_offsets(connection, (raw_topic.name, [unknown, too_new]), version=6) == {
        raw_topic.name: {9: ErrorCode.unsupported_version, 8: ErrorCode.unsupported_version}
    }


def test_an_epoch_below_none_is_an_old_one(connection: Connection, raw_topic: RawTopic) -> None:
    place = {"partition_index": 0, "timestamp": -1, "current_leader_epoch": -2}
    answer = list_offsets(connection, (raw_topic.name, [place]))
    assert answer == {raw_topic.name: {0: ErrorCode.fenced_leader_epoch}}
    asked = {"partition": 0, "current_leader_epoch": -2, "leader_epoch": 0}
    reply = connection.ask(
        "offset_for_leader_epoch",
        4,
        replica_id=-1,
        topics=[{"topic": raw_topic.name, "partitions": [asked]}],
    )
    assert reply.topics[0].partitions[0].error_code == ErrorCode.fenced_leader_epoch
