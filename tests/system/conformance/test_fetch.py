"""Fetch: limits, waiting, errors, sessions."""

import time
import uuid
from collections.abc import Iterable
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from support.batches import batch
from support.wire import Connection
from system.conformance.raw_topics import MakeRawTopic, RawTopic

BATCH_SIZE = len(batch([b"x" * 100]))


@pytest.mark.parametrize("version", range(4, 19))
def test_every_version_reads(raw_topic: RawTopic, version: int) -> None:
    raw_topic.fill(b"first")
    reply = raw_topic.fetch(version)
    assert reply.error_code == ErrorCode.none
    assert (reply.high_watermark, reply.last_stable_offset) == (1, 1)
    assert b"first" in reply.records
    if version >= 5:
        assert reply.log_start_offset == 0


def test_the_stored_batch_is_the_sent_one_but_for_offset_and_epoch(raw_topic: RawTopic) -> None:
    sent = batch([b"a", b"b"], key=b"k")
    raw_topic.fill(b"before")
    raw_topic.produce(sent)
    got = raw_topic.fetch(fetch_offset=1).records
    assert got[:8] == (1).to_bytes(8)
    assert got[8:12] == sent[8:12]
    assert got[12:16] == (0).to_bytes(4)  # the leader's epoch
    assert got[16:] == sent[16:]


def test_an_offset_inside_a_batch_brings_the_whole_batch(raw_topic: RawTopic) -> None:
    raw_topic.produce(batch([b"a", b"b", b"c"]))
    assert raw_topic.fetch(fetch_offset=2).records[:8] == (0).to_bytes(8)


def test_the_end_of_the_log_is_empty_and_beyond_it_out_of_range(raw_topic: RawTopic) -> None:
    raw_topic.fill(b"v", b"w")
    end = raw_topic.fetch(fetch_offset=2)
    assert (end.error_code, end.records) == (ErrorCode.none, b"")
    for offset in (3, -1):
        beyond = raw_topic.fetch(fetch_offset=offset)
        assert beyond.error_code == ErrorCode.offset_out_of_range
        assert (beyond.high_watermark, beyond.records) == (-1, b"")


def test_leader_epochs_are_checked(raw_topic: RawTopic) -> None:
    raw_topic.fill(b"v")
    assert raw_topic.fetch(current_leader_epoch=0).error_code == ErrorCode.none
    assert raw_topic.fetch(current_leader_epoch=5).error_code == ErrorCode.unknown_leader_epoch


def test_unknown_places_are_refused(connection: Connection, raw_topic: RawTopic) -> None:
    assert raw_topic.fetch(partition=9).error_code == ErrorCode.unknown_topic_or_partition
    place = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 100}
    by_id = [{"topic_id": uuid.uuid4(), "partitions": [place]}]
    by_name = [{"topic": "never-made", "partitions": [place]}]
    reply = connection.ask("fetch", 17, max_wait=0, topics=by_id)
    assert reply.responses[0].partitions[0].error_code == ErrorCode.unknown_topic_id
    reply = connection.ask("fetch", 12, max_wait=0, topics=by_name)
    assert reply.responses[0].partitions[0].error_code == ErrorCode.unknown_topic_or_partition


def test_the_first_batch_comes_whole_however_small_the_limits(raw_topic: RawTopic) -> None:
    raw_topic.fill(b"x" * 5000)
    assert len(raw_topic.fetch(partition_max_bytes=1).records) > 5000
    assert len(raw_topic.fetch(max_bytes=1).records) > 5000


def test_a_partitions_limit_is_kept_after_the_first_batch(raw_topic: RawTopic) -> None:
    raw_topic.fill(*[b"x" * 100] * 20)
    got = raw_topic.fetch(partition_max_bytes=3 * BATCH_SIZE).records
    assert len(got) == 3 * BATCH_SIZE


def test_the_limit_of_a_reply_is_shared_by_its_partitions(
    connection: Connection, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(partitions=3)
    for partition in range(3):
        for _ in range(10):
            topic.produce(batch([b"x" * 100]), partition=partition)
    places = [{"partition": n, "fetch_offset": 0, "partition_max_bytes": 1 << 20} for n in range(3)]
    reply = connection.ask(
        "fetch",
        17,
        max_wait=0,
        max_bytes=15 * BATCH_SIZE,
        topics=[{"topic_id": topic.id, "partitions": places}],
    )
    sizes = [len(p.records) for p in reply.responses[0].partitions]
    assert sizes == [10 * BATCH_SIZE, 5 * BATCH_SIZE, 0]


def test_a_fetch_waits_for_its_minimum_and_no_longer_than_asked(raw_topic: RawTopic) -> None:
    raw_topic.fill(b"v")
    began = time.monotonic()
    assert raw_topic.fetch(max_wait=300, min_bytes=100_000).records
    assert 0.29 <= time.monotonic() - began < 2
    began = time.monotonic()
    assert raw_topic.fetch(max_wait=5000, min_bytes=1).records
    assert time.monotonic() - began < 1


def test_a_waiting_fetch_is_woken_by_an_append(bootstrap: str, raw_topic: RawTopic) -> None:
    place = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
    topics = [{"topic_id": raw_topic.id, "partitions": [place]}]
    with Connection(bootstrap) as reader:
        reader.send("fetch", 17, max_wait=10_000, min_bytes=1, topics=topics)
        began = time.monotonic()
        raw_topic.fill(b"news")
        _, reply = reader.receive("fetch", 17)
    assert time.monotonic() - began < 2
    assert b"news" in reply.responses[0].partitions[0].records


def test_an_error_ends_the_wait_at_once(raw_topic: RawTopic) -> None:
    began = time.monotonic()
    reply = raw_topic.fetch(max_wait=10_000, min_bytes=1, fetch_offset=77)
    assert reply.error_code == ErrorCode.offset_out_of_range
    assert time.monotonic() - began < 2


class TestSessions:
    """KIP-227: a session remembers the partitions, and replies tell only what changed."""

    def open(self, connection: Connection, topic: RawTopic, partitions: int) -> int:
        reply = self.fetch(connection, 0, 0, topic, range(partitions))
        assert reply.session_id != 0
        assert len(reply.responses[0].partitions) == partitions
        return int(reply.session_id)

    def fetch(
        self,
        connection: Connection,
        session_id: int,
        epoch: int,
        topic: RawTopic | None = None,
        partitions: Iterable[int] = (),
        forget: Iterable[int] = (),
    ) -> Any:
        topic_id = topic and topic.id
        places = [
            {"partition": n, "fetch_offset": 0, "partition_max_bytes": 10_000} for n in partitions
        ]
        return connection.ask(
            "fetch",
            17,
            max_wait=0,
            min_bytes=1,
            session_id=session_id,
            session_epoch=epoch,
            topics=[{"topic_id": topic_id, "partitions": places}] if places else [],
            forgotten_topics_data=(
                [{"topic_id": topic_id, "partitions": list(forget)}] if forget else []
            ),
        )

    def test_an_incremental_fetch_tells_only_what_is_new(
        self, connection: Connection, make_raw_topic: MakeRawTopic
    ) -> None:
        topic = make_raw_topic(partitions=2)
        session = self.open(connection, topic, 2)
        assert self.fetch(connection, session, 1).responses == ()
        topic.produce(batch([b"v"]), partition=1)
        [changed] = self.fetch(connection, session, 2).responses[0].partitions
        assert (changed.partition_index, changed.high_watermark) == (1, 1)

    def test_a_forgotten_partition_is_left_out(
        self, connection: Connection, make_raw_topic: MakeRawTopic
    ) -> None:
        topic = make_raw_topic(partitions=2)
        for partition in range(2):
            topic.produce(batch([b"v"]), partition=partition)
        session = self.open(connection, topic, 2)
        reply = self.fetch(connection, session, 1, topic, forget=[0])
        assert [p.partition_index for p in reply.responses[0].partitions] == [1]

    def test_a_partition_can_be_added(
        self, connection: Connection, make_raw_topic: MakeRawTopic
    ) -> None:
        topic = make_raw_topic(partitions=2)
        session = self.open(connection, topic, 1)
        reply = self.fetch(connection, session, 1, topic, [1])
        assert [p.partition_index for p in reply.responses[0].partitions] == [1]

    def test_wrong_epochs_and_sessions_are_refused(
        self, connection: Connection, raw_topic: RawTopic
    ) -> None:
        session = self.open(connection, raw_topic, 1)
        wrong = self.fetch(connection, session, 5)
        assert wrong.error_code == ErrorCode.invalid_fetch_session_epoch
        unknown = self.fetch(connection, 123_456, 1)
        assert unknown.error_code == ErrorCode.fetch_session_id_not_found

    def test_a_session_is_closed_by_the_final_epoch(
        self, connection: Connection, raw_topic: RawTopic
    ) -> None:
        session = self.open(connection, raw_topic, 1)
        final = self.fetch(connection, session, -1, raw_topic, [0])
        assert (final.error_code, final.session_id) == (ErrorCode.none, 0)
        gone = self.fetch(connection, session, 1)
        assert gone.error_code == ErrorCode.fetch_session_id_not_found


def fetch(
    connection: Connection, *topics: tuple[uuid.UUID, list[dict[str, Any]]], **fields: Any
) -> Any:
    of_request = {"max_wait": 0, "min_bytes": 1, "max_bytes": 1 << 20, "session_epoch": -1}
    places = [
        {"topic_id": topic_id, "partitions": [{"partition_max_bytes": 1 << 20, **p} for p in parts]}
        for topic_id, parts in topics
    ]
    return connection.ask("fetch", 17, **{**of_request, **fields}, topics=places)


def told(reply: Any) -> list[tuple[uuid.UUID, list[int]]]:
    return [(one.topic_id, [p.partition_index for p in one.partitions]) for one in reply.responses]


def test_a_new_session_without_partitions_has_an_id(connection: Connection) -> None:
    first = fetch(connection, session_epoch=0)
    assert (first.error_code, first.responses) == (ErrorCode.none, ())
    assert first.session_id != 0
    again = fetch(connection, session_id=first.session_id, session_epoch=1)
    assert (again.error_code, again.session_id) == (ErrorCode.none, 0)


def test_the_partitions_of_a_full_fetch_keep_their_order_in_the_next(
    connection: Connection, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(partitions=3)
    for partition in range(3):
        topic.produce(batch([b"v"]), partition)
    asked = (topic.id, [{"partition": n} for n in (2, 0, 1)])
    first = fetch(connection, asked, session_epoch=0)
    assert told(first) == [(topic.id, [2, 0, 1])]
    session = {"session_id": first.session_id}
    second = fetch(connection, **session, session_epoch=1, max_bytes=1)
    assert told(second) == [(topic.id, [2])]
    third = fetch(connection, **session, session_epoch=2, max_bytes=1)
    assert told(third) == [(topic.id, [0])]


def test_a_partition_that_is_named_twice_is_told_once_as_it_was_named_last(
    connection: Connection, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(partitions=2)
    topic.fill(b"v", b"w")
    parts = [{"partition": 0, "fetch_offset": 9}, {"partition": 1}, {"partition": 0}]
    reply = fetch(connection, (topic.id, parts))
    assert told(reply) == [(topic.id, [0, 1])]
    assert reply.responses[0].partitions[0].error_code == ErrorCode.none


def test_what_is_not_there_is_told_after_the_rest(
    connection: Connection, make_raw_topic: MakeRawTopic
) -> None:
    first, second, nobodys = make_raw_topic(), make_raw_topic(), uuid.uuid4()
    second.fill(b"v")
    parts = [{"partition": 9}, {"partition": 0}]
    topics = ((first.id, parts), (nobodys, [{"partition": 0}]), (second.id, [{"partition": 0}]))
    reply = fetch(connection, *topics)
    assert told(reply) == [(first.id, [0]), (second.id, [0]), (nobodys, [0]), (first.id, [9])]


def test_what_is_added_and_forgotten_at_once_is_told_without_a_session(
    connection: Connection, raw_topic: RawTopic
) -> None:
    session = fetch(connection, session_epoch=0).session_id
    place = (raw_topic.id, [{"partition": 0}])
    gone = [{"topic_id": raw_topic.id, "partitions": [0]}]
    reply = fetch(
        connection, place, session_id=session, session_epoch=1, forgotten_topics_data=gone
    )
    assert (reply.session_id, told(reply)) == (0, [(raw_topic.id, [0])])


@pytest.mark.parametrize(
    ("epoch", "error"),
    [(-1, ErrorCode.not_leader_or_follower), (0, ErrorCode.unknown_leader_epoch)],
)
def test_a_node_that_is_no_replica_hears_that_this_is_not_known(
    connection: Connection, raw_topic: RawTopic, epoch: int, error: ErrorCode
) -> None:
    place = (raw_topic.id, [{"partition": 0, "current_leader_epoch": epoch}])
    reply = fetch(connection, place, replica_state={"replica_id": 5, "replica_epoch": -1})
    assert reply.responses[0].partitions[0].error_code == error
    assert reply.node_endpoints == ()


def test_a_batch_that_is_years_later_begins_a_segment_even_if_it_is_refused(
    connection: Connection, raw_topic: RawTopic
) -> None:
    """An answer has batches of one segment."""
    ids: dict[str, Any] = {"producer_id": connection.new_producer_id(), "sequence": 0}
    first = batch([b"a"], timestamp=1)
    raw_topic.produce(first)
    raw_topic.produce(batch([b"b"], timestamp=1, producer_epoch=1, **ids))
    late = batch([b"c"], timestamp=1_700_000_000_000, producer_epoch=0, **ids)
    assert raw_topic.produce(late).error_code == ErrorCode.invalid_producer_epoch
    raw_topic.produce(batch([b"d"], timestamp=1))
    assert len(raw_topic.fetch().records) == 2 * len(first)
    assert len(raw_topic.fetch(fetch_offset=2).records) == len(first)


def test_the_batch_that_a_limit_cuts_off_counts_against_the_rest(
    connection: Connection, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(2)
    topic.produce(batch([b"a"]))
    topic.produce(batch([b"b" * 200]))
    topic.produce(batch([b"c"]), partition=1)
    places = [{"partition": n, "fetch_offset": 0, "partition_max_bytes": 1 << 20} for n in (0, 1)]
    size = len(batch([b"a"]))

    def sizes(max_bytes: int) -> list[int]:
        asked = [{"topic": topic.name, "partitions": places}]
        fields = {"max_wait": 0, "min_bytes": 1, "max_bytes": max_bytes, "topics": asked}
        reply = connection.ask("fetch", 11, **fields)
        return [len(one.records or b"") for one in reply.responses[0].partitions]

    assert sizes(2 * size)[1] == 0
    assert sizes(1000)[1] == size


@pytest.mark.parametrize(
    ("replica", "codes"),
    [
        (-1, [ErrorCode.unknown_topic_id, ErrorCode.unknown_topic_or_partition]),
        (5, [ErrorCode.unknown_topic_or_partition, ErrorCode.unknown_topic_id]),
    ],
)
def test_followers_hear_of_what_is_not_there_in_the_order_in_which_they_asked(
    connection: Connection, raw_topic: RawTopic, replica: int, codes: list[ErrorCode]
) -> None:
    places = [{"partition": 9, "fetch_offset": 0, "partition_max_bytes": 1 << 20}]
    topics = [{"topic_id": raw_topic.id}, {"topic_id": uuid.uuid4()}]
    asked = [{**topic, "partitions": places} for topic in topics]
    fields = {"max_wait": 0, "min_bytes": 1, "max_bytes": 1 << 20, "replica_id": replica}
    reply = connection.ask("fetch", 14, **fields, topics=asked)
    assert [one.partitions[0].error_code for one in reply.responses] == codes
