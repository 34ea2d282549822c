"""Transactions, request by request: which calls of a producer are taken, what the others hear."""

import itertools
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from support.batches import batch
from support.confluent import wait_until
from support.wire import Connection
from system.conformance.raw_topics import MakeRawTopic, RawTopic
from system.conformance.transactional import (
    AGAIN,
    NEW,
    OLD,
    TRANSACTIONAL,
    Transactional,
)


@pytest.fixture
def producer(connection: Connection, make_raw_topic: MakeRawTopic) -> Transactional:
    made = Transactional(connection, make_raw_topic(3))
    made.find()
    assert made.init().error_code == ErrorCode.none
    return made


def test_the_next_transaction_begins_while_markers_are_written(producer: Transactional) -> None:
    for _ in range(20):
        for partition in range(3):
            assert producer.write(partition=partition).error_code == ErrorCode.none
        assert producer.end(True).error_code == ErrorCode.none


def test_a_batch_does_not_overtake_one_that_is_still_being_verified(
    producer: Transactional,
) -> None:
    """The first request has a partition that is new to the transaction and one that is not; the
    second, which is read together with it, has only the latter."""
    for _ in range(10):
        assert producer.write(partition=0).error_code == ErrorCode.none
        first = producer.batches((0, 1), (1, 0))
        producer.connection.send_together("produce", 12, first, producer.batches((0, 2)))
        for _ in range(2):
            _, reply = producer.connection.receive("produce", 12)
            told = {each.error_code for each in reply.responses[0].partition_responses}
            assert told == {ErrorCode.none}
        assert producer.end(True).error_code == ErrorCode.none


def test_an_abort_right_after_a_commit_is_to_come_again_until_it_is_taken(
    producer: Transactional,
) -> None:
    for _ in range(20):
        for partition in range(3):
            assert producer.write(partition=partition).error_code == ErrorCode.none
        assert producer.end(True).error_code == ErrorCode.none
        told = producer.end(False, again=False).error_code
        assert told in (ErrorCode.none, ErrorCode.concurrent_transactions)
        if told != ErrorCode.none:
            assert producer.end(False).error_code == ErrorCode.none


def test_a_late_batch_of_the_old_epoch_is_refused(producer: Transactional) -> None:
    old = producer.epoch
    producer.ended(True)
    late = producer.write(epoch=old, sequence=1)
    assert late.error_code == ErrorCode.invalid_producer_epoch
    late = producer.write(epoch=old, partition=1)  # which has never heard of the producer
    assert late.error_code == ErrorCode.invalid_producer_epoch


@pytest.mark.parametrize(
    ("version", "told"),
    [(10, ErrorCode.invalid_txn_state), (11, ErrorCode.transaction_abortable)],
)
def test_a_late_batch_of_an_ended_transaction_of_version_1_is_refused(
    producer: Transactional, version: int, told: ErrorCode
) -> None:
    producer.ended(True, version=OLD)
    assert producer.write(version=version, sequence=1).error_code == told
    assert producer.write(version=version, partition=1).error_code == told


def test_version_1_goes_on_with_its_sequences_in_the_next_transaction(
    producer: Transactional,
) -> None:
    for sequence in range(5):
        assert producer.add().error_code == ErrorCode.none
        assert producer.write(version=11, sequence=sequence).error_code == ErrorCode.none
        assert producer.end(sequence % 2 == 0, version=OLD).error_code == ErrorCode.none


def test_a_producer_whose_transaction_the_coordinator_aborted_may_go_on(
    connection: Connection, make_raw_topic: MakeRawTopic
) -> None:
    producer = Transactional(connection, make_raw_topic())
    producer.find()
    assert producer.init(timeout_ms=100).error_code == ErrorCode.none
    known = {"producer_id": producer.id, "producer_epoch": producer.epoch}
    assert producer.write().error_code == ErrorCode.none
    producer.await_state("CompleteAbort")
    reply = producer.init(**known)
    assert reply.error_code == ErrorCode.none
    assert (reply.producer_id, reply.producer_epoch) == (known["producer_id"], 1)


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("version", range(5))
def test_an_old_end_with_the_epoch_before_is_fenced(
    producer: Transactional, version: int, commit: bool
) -> None:
    old = producer.epoch
    producer.ended(commit)
    told = producer.end(commit, version=version, epoch=old).error_code
    fenced = ErrorCode.producer_fenced if version >= 2 else ErrorCode.invalid_producer_epoch
    assert told == fenced


ENDS = list(itertools.product([True, False], [NEW, OLD], [True, False], [NEW, OLD], [0, 1]))


@pytest.mark.parametrize(("first", "by", "then", "asked_by", "back"), ENDS)
def test_an_end_after_an_end(
    producer: Transactional, first: bool, by: int, then: bool, asked_by: int, back: int
) -> None:
    assert producer.init().error_code == ErrorCode.none  # then there is an epoch before
    producer.ended(first, version=by)
    told = producer.end(then, version=asked_by, epoch=producer.epoch - back).error_code
    if asked_by < NEW:
        expected = ErrorCode.producer_fenced if back else ErrorCode.invalid_txn_state
        if not back and first == then:
            expected = ErrorCode.none
    elif back:
        expected = ErrorCode.none if first == then else ErrorCode.invalid_txn_state
    else:
        expected = ErrorCode.invalid_txn_state if then else ErrorCode.none
    assert told == expected


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("version", [NEW, OLD])
def test_an_end_of_what_never_began(producer: Transactional, version: int, commit: bool) -> None:
    may_abort = version >= NEW and not commit
    told = producer.end(commit, version=version).error_code
    assert told == (ErrorCode.none if may_abort else ErrorCode.invalid_txn_state)


def test_a_producer_id_without_an_epoch_is_no_request(connection: Connection) -> None:
    for known in ({"producer_id": 7}, {"producer_epoch": 3}):
        for name in (None, "some"):
            reply = connection.ask(
                "init_producer_id", 5, transactional_id=name, transaction_timeout=1_000, **known
            )
            assert reply.error_code == ErrorCode.invalid_request


def test_transactions_are_listed_by_a_pattern_of_their_names(producer: Transactional) -> None:
    def listed(pattern: str | None) -> Any:
        return producer.connection.ask(
            "list_transactions", 2, transactional_id_pattern=pattern, duration_filter=-1
        )

    def names(pattern: str | None) -> set[str]:
        return {each.transactional_id for each in listed(pattern).transaction_states}

    assert producer.name in names(None)
    assert producer.name in names("")
    assert names(producer.name) == {producer.name}
    assert names(f"{producer.name[:8]}.*") >= {producer.name}
    assert names(producer.name[:8]) == set()  # the whole name counts
    refused = listed("(")
    assert refused.error_code == ErrorCode.invalid_regular_expression
    assert refused.transaction_states == ()


@pytest.mark.parametrize("version", [11, 12])
def test_the_first_sequence_of_an_unknown_producer(producer: Transactional, version: int) -> None:
    if version < 12:
        assert producer.add().error_code == ErrorCode.none
    told = producer.write(version=version, sequence=5).error_code
    if version < 12:
        assert told == ErrorCode.none
    else:
        assert told == ErrorCode.out_of_order_sequence_number
        assert producer.write(version=version).error_code == ErrorCode.none


@pytest.mark.parametrize("version", [11, 12])
def test_without_a_transaction_an_unknown_producer_begins_anywhere(
    raw_topic: RawTopic, connection: Connection, version: int
) -> None:
    records = batch([b"v"], producer_id=connection.new_producer_id(), producer_epoch=0, sequence=5)
    assert raw_topic.produce(records, version=version).error_code == ErrorCode.none


def test_a_batch_of_a_transaction_without_a_producer_id_is_just_a_batch(
    producer: Transactional,
) -> None:
    told = producer.produce(batch([b"v"], attributes=TRANSACTIONAL), 12)
    assert (told.error_code, told.base_offset) == (ErrorCode.none, 0)


def test_one_batch_of_a_transaction_without_a_transactional_id_refuses_the_request(
    connection: Connection, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(2)
    records = [batch([b"v"], attributes=TRANSACTIONAL), batch([b"v"])]
    reply = connection.ask(
        "produce",
        12,
        acks=-1,
        timeout=5_000,
        transactional_id=None,
        topic_data=[
            {
                "name": topic.name,
                "partition_data": [
                    {"index": index, "records": each} for index, each in enumerate(records)
                ],
            }
        ],
    )
    told = [each.error_code for each in reply.responses[0].partition_responses]
    assert told == [ErrorCode.transactional_id_authorization_failed] * 2


def test_batches_of_two_producers_are_not_one_transaction(producer: Transactional) -> None:
    records = [
        batch(
            [b"v"],
            attributes=TRANSACTIONAL,
            producer_id=producer.id + other,
            producer_epoch=producer.epoch,
            sequence=0,
        )
        for other in (0, 1)
    ]
    reply = producer.connection.ask(
        "produce",
        12,
        acks=-1,
        timeout=5_000,
        transactional_id=producer.name,
        topic_data=[
            {
                "name": producer.topic.name,
                "partition_data": [
                    {"index": index, "records": each} for index, each in enumerate(records)
                ],
            }
        ],
    )
    told = [each.error_code for each in reply.responses[0].partition_responses]
    assert told == [ErrorCode.invalid_producer_id_mapping] * 2


def test_offsets_of_partitions_that_do_not_exist_are_refused_before_anything_else(
    producer: Transactional,
) -> None:
    def commit(version: int, group: str, *indexes: int, name: str = "") -> list[ErrorCode]:
        reply = producer.connection.ask(
            "txn_offset_commit",
            version,
            transactional_id=producer.name,
            group_id=group,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            generation_id=-1,
            member_id="",
            topics=[
                {
                    "name": name or producer.topic.name,
                    "partitions": [
                        {"partition_index": index, "committed_offset": 1} for index in indexes
                    ],
                }
            ],
        )
        parts = {
            part.partition_index: part.error_code
            for topic in reply.topics
            for part in topic.partitions
        }
        return [parts[index] for index in indexes]

    unknown = ErrorCode.unknown_topic_or_partition
    for version in (3, 4, 5):
        assert commit(version, "", 3, 99) == [unknown, unknown]
        assert commit(version, "g", 0, name="never-made") == [unknown]
    assert commit(5, "", 0, 99) == [ErrorCode.invalid_group_id, unknown]
    group = f"g-{producer.name}"
    await_group_coordinator(producer.connection, group)
    told: list[ErrorCode] = []

    def is_settled() -> bool:
        told[:] = commit(5, group, 0, 99)
        return told[0] not in AGAIN

    wait_until(is_settled)
    assert told == [ErrorCode.none, unknown]
    assert producer.end(True).error_code == ErrorCode.none


def await_group_coordinator(connection: Connection, group: str) -> None:
    def is_found() -> bool:
        reply = connection.ask("find_coordinator", 3, key=group, key_type=0)
        return bool(reply.error_code == ErrorCode.none)

    wait_until(is_found)


def test_of_a_transaction_whose_records_were_deleted_the_log_s_first_batch_is_told(
    producer: Transactional,
) -> None:
    """Where that batch begins is not stable, though the log may start within it."""
    topic = producer.topic
    assert producer.write().error_code == ErrorCode.none
    topic.produce(batch([b"v"] * 3))
    topic.produce(batch([b"v"]))

    def stable_after(deleted: int) -> int:
        places = [{"partition_index": 0, "offset": deleted}]
        asked = [{"name": topic.name, "partitions": places}]
        reply = producer.connection.ask("delete_records", 2, topics=asked, timeout=5000)
        assert reply.topics[0].partitions[0].low_watermark == deleted
        places = [{"partition_index": 0, "timestamp": -1, "current_leader_epoch": -1}]
        asked = [{"name": topic.name, "partitions": places}]
        fields = {"replica_id": -1, "isolation_level": 1, "topics": asked}
        found = producer.connection.ask("list_offsets", 5, **fields)
        return int(found.topics[0].partitions[0].offset)

    assert [stable_after(offset) for offset in (1, 3, 4, 5)] == [1, 1, 4, 5]
