"""What is produced can be fetched: replies of every version, waiting, sessions, the disk."""

import asyncio
import time
from typing import Any

import pytest

from ottla.broker.transport.pending_reply import PendingReply
from ottla.errors import ErrorCode
from ottla.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from ottla.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from ottla.wire.record_batch import NewRecord, build_batch, iterate_batches

TOPIC = "t"


def batch(*values: bytes) -> bytes:
    now_ms = int(time.time() * 1000)
    return build_batch([NewRecord(now_ms, None, value) for value in values or (b"x",)])


def idempotent_batch(*, transactional: bool = False) -> bytes:
    record = NewRecord(int(time.time() * 1000), None, b"x")
    return build_batch(
        [record], producer_id=7, producer_epoch=0, base_sequence=0, transactional=transactional
    )


def produce(asking: Any, records: bytes, *, acks: int = -1, partition: int = 0) -> ProduceRequest:
    return ProduceRequest(
        acks=acks,
        timeout_ms=1000,
        topic_data=[
            TopicProduceData(
                name=TOPIC,
                topic_id=topic_id(asking),
                partition_data=[PartitionProduceData(index=partition, records=records)],
            )
        ],
    )


def topic_id(asking: Any) -> bytes:
    topic_id: bytes = asking.node.publisher.image.topics_by_name[TOPIC].id
    return topic_id


def fetch(asking: Any, offset: int = 0, **fields: Any) -> FetchRequest:
    wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    fields.setdefault("session_epoch", -1)
    topics = [FetchTopic(topic=TOPIC, topic_id=topic_id(asking), partitions=[wanted])]
    return FetchRequest(topics=topics, min_bytes=1, **fields)


def only(response: Any) -> Any:
    (topic,) = response.responses
    (partition,) = (
        topic.partition_responses if hasattr(topic, "partition_responses") else (topic.partitions)
    )
    return partition


@pytest.mark.parametrize("version", range(3, 14))
def test_every_version_of_produce_is_answered_with_the_first_offset(
    serving: Any, run: Any, version: int
) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            await asking.ask(produce(asking, batch(b"a", b"b")), version)
            answer = only(await asking.ask(produce(asking, batch(b"c")), version))
            assert (answer.index, answer.error_code, answer.base_offset) == (0, 0, 2)

    run(scenario())


@pytest.mark.parametrize("version", range(4, 19))
def test_every_version_of_fetch_returns_the_bytes_that_came(
    serving: Any, run: Any, version: int
) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            sent = batch(b"a", b"b")
            await asking.ask(produce(asking, sent), 9)
            answer = only(await asking.ask(fetch(asking), version))
            assert (answer.error_code, answer.high_watermark) == (0, 2)
            assert bytes(answer.records)[61:] == sent[61:]

    run(scenario())


def test_a_fetch_at_the_end_waits_for_the_next_append(serving: Any, run: Any) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            waiting = asking.take(fetch(asking, max_wait_ms=5000), 12)
            assert isinstance(waiting, PendingReply)
            woken = asyncio.Event()
            waiting.then(lambda body: woken.set())
            await asking.ask(produce(asking, batch()), 9)
            await asyncio.wait_for(woken.wait(), 1)

    run(scenario())


def test_a_fetch_that_waits_ends_with_its_time(serving: Any, run: Any) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            answer = only(await asking.ask(fetch(asking, max_wait_ms=30), 12, timeout_s=2))
            assert len(answer.records) == 0

    run(scenario())


def test_a_topic_that_is_deleted_ends_the_wait(serving: Any, run: Any) -> None:
    from ottla.wire.messages.delete_topics import DeleteTopicsRequest

    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            waiting = asyncio.ensure_future(asking.ask(fetch(asking, max_wait_ms=5000), 12))
            await asyncio.sleep(0)
            await asking.ask(DeleteTopicsRequest(topic_names=[TOPIC], timeout_ms=1000), 5)
            answer = only(await asyncio.wait_for(waiting, 1))
            assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    run(scenario())


def test_an_incremental_session_tells_only_what_changed(serving: Any, run: Any) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            first = await asking.ask(fetch(asking, session_epoch=0), 12)
            session = {"session_id": first.session_id, "topics": []}
            assert first.session_id > 0
            quiet = await asking.ask(FetchRequest(session_epoch=1, **session), 12)
            assert quiet.responses == []
            await asking.ask(produce(asking, batch(b"new")), 9)
            news = await asking.ask(FetchRequest(session_epoch=2, **session), 12)
            assert only(news).high_watermark == 1
            late = await asking.ask(FetchRequest(session_epoch=2, **session), 12)
            assert late.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH

    run(scenario())


def test_a_session_that_forgets_its_last_partition_ends(serving: Any, run: Any) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            first = await asking.ask(fetch(asking, session_epoch=0), 12)
            forgotten = [ForgottenTopic(topic=TOPIC, partitions=[0])]
            request = FetchRequest(
                session_id=first.session_id, session_epoch=1, forgotten_topics_data=forgotten
            )
            assert (await asking.ask(request, 12)).responses == []
            again = FetchRequest(session_id=first.session_id, session_epoch=2)
            answer = await asking.ask(again, 12)
            assert answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND

    run(scenario())


def test_a_fetch_never_holds_more_than_it_may_but_always_one_batch(serving: Any, run: Any) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            for _ in range(3):
                await asking.ask(produce(asking, batch(bytes(1000))), 9)
            request = fetch(asking, max_bytes=1500)
            answer = only(await asking.ask(request, 12))
            assert len(list(iterate_batches(answer.records))) == 1
            request.topics[0].partitions[0].partition_max_bytes = 1
            answer = only(await asking.ask(request, 12))
            assert len(list(iterate_batches(answer.records))) == 1

    run(scenario())


def test_an_epoch_that_is_not_the_leaders_is_told_so(serving: Any, run: Any) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            request = fetch(asking)
            request.topics[0].partitions[0].current_leader_epoch = 7
            answer = only(await asking.ask(request, 12))
            assert answer.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH

    run(scenario())


def test_with_flush_messages_1_an_acknowledged_record_is_on_disk(serving: Any, run: Any) -> None:
    async def scenario() -> None:
        async with serving(log_flush_interval_messages="1") as asking:
            await asking.make_topic(TOPIC)
            replies = [
                asking.ask(produce(asking, batch(), acks=acks), 9) for acks in (1, -1, 1, -1)
            ]
            answers = await asyncio.gather(*replies)
            assert [only(answer).base_offset for answer in answers] == [0, 1, 2, 3]
            assert asking.broker.partitions.leader(TOPIC, 0).log.recovery_point == 4

    run(scenario())


def test_with_flush_messages_1_a_repeated_batch_waits_for_the_disk_too(
    serving: Any, run: Any
) -> None:
    async def scenario() -> None:
        async with serving(log_flush_interval_messages="1") as asking:
            await asking.make_topic(TOPIC)
            once = idempotent_batch()
            first = asking.take(produce(asking, once), 9)
            again = asking.take(produce(asking, once), 9)
            assert isinstance(first, PendingReply)
            assert isinstance(again, PendingReply)
            answer = await asking.ask(produce(asking, once), 9)
            assert only(answer).base_offset == 0
            assert asking.broker.partitions.leader(TOPIC, 0).log.recovery_point == 1

    run(scenario())


def test_with_flush_messages_1_a_groups_commit_and_a_marker_wait_for_the_disk_too(
    serving: Any, run: Any
) -> None:
    async def scenario() -> None:
        async with serving(log_flush_interval_messages="1") as asking:
            await asking.make_topic(TOPIC, "__consumer_offsets")
            partitions = asking.broker.partitions
            place = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
            commit = OffsetCommitRequest(
                group_id="g",
                topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=[place])],
            )
            answer = await asking.ask(commit, 8)
            assert answer.topics[0].partitions[0].error_code == 0
            logs = [replica.log for replica in partitions]
            (kept,) = [log for log in logs if log.topic_partition.topic != TOPIC and log.size]
            assert kept.recovery_point == kept.log_end_offset
            topic = WritableTxnMarkerTopic(name=TOPIC, partition_indexes=[0])
            marker = WritableTxnMarker(
                producer_id=7, transaction_result=True, topics=[topic], transaction_version=1
            )
            answer = await asking.ask(WriteTxnMarkersRequest(markers=[marker]), 2)
            assert answer.markers[0].topics[0].partitions[0].error_code == 0
            assert partitions.leader(TOPIC, 0).log.recovery_point == 1

    run(scenario())


def test_a_batch_of_a_transaction_needs_the_transactions_name(serving: Any, run: Any) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            stray = idempotent_batch(transactional=True)
            answer = await asking.ask(produce(asking, stray), 9)
            code = ErrorCode(only(answer).error_code)
            assert code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            log = asking.broker.partitions.leader(TOPIC, 0).log
            await asking.ask(produce(asking, batch()), 9)
            assert log.last_stable_offset == log.high_watermark == 1

    run(scenario())


def test_a_fetch_waits_for_no_more_than_a_reply_can_hold(serving: Any, run: Any) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            for _ in range(12):
                await asking.ask(produce(asking, batch(bytes(900_000))), 9)
            wanted = fetch(asking, max_wait_ms=60_000, max_bytes=50_000_000)
            wanted.min_bytes = 10_000_000
            wanted.topics[0].partitions[0].partition_max_bytes = 50_000_000
            answer = only(await asking.ask(wanted, 12, timeout_s=20))
            assert 7_000_000 < len(answer.records) < 8 * 1024 * 1024

    run(scenario())


def test_what_a_thread_will_read_counts_towards_the_bytes_a_fetch_waits_for(
    serving: Any, run: Any
) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            for _ in range(3):
                await asking.ask(produce(asking, batch(bytes(900_000))), 9)
            wanted = fetch(asking, max_wait_ms=60_000, max_bytes=50_000_000)
            wanted.min_bytes = 5_000_000
            wanted.topics[0].partitions[0].partition_max_bytes = 50_000_000
            reply = asking.take(wanted, 12)
            assert isinstance(reply, PendingReply)
            arrived = asyncio.get_running_loop().create_future()
            reply.then(arrived.set_result)
            for _ in range(3):
                assert not arrived.done()
                await asking.ask(produce(asking, batch(bytes(900_000))), 9)
            assert sum(map(len, await asyncio.wait_for(arrived, 20))) > 5_400_000

    run(scenario())


def test_a_batch_larger_than_the_limit_leaves_nothing_for_the_others(
    serving: Any, run: Any
) -> None:
    async def scenario() -> None:
        async with serving(num_partitions="2") as asking:
            await asking.make_topic(TOPIC)
            for partition in (0, 1):
                await asking.ask(produce(asking, batch(bytes(100_000)), partition=partition), 9)
                log = asking.broker.partitions.leader(TOPIC, partition).log
                log.tail.clear(log.log_end_offset, log.active.size)
            wanted = fetch(asking, max_bytes=1)
            wanted.topics[0].partitions.append(
                FetchPartition(partition=1, fetch_offset=0, partition_max_bytes=1 << 20)
            )
            first, second = (await asking.ask(wanted, 12)).responses[0].partitions
            assert len(first.records) > 100_000
            assert (second.error_code, second.records) == (ErrorCode.NONE, b"")

    run(scenario())


def test_a_full_disk_refuses_produce_and_goes_on_serving(serving: Any, run: Any) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            await asking.ask(produce(asking, batch()), 9)
            (directory,) = asking.node.directories
            directory.health.full = True
            answer = only(await asking.ask(produce(asking, batch()), 9))
            assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
            assert only(await asking.ask(fetch(asking), 12)).high_watermark == 1
            directory.health.full = False
            assert only(await asking.ask(produce(asking, batch()), 9)).base_offset == 1

    run(scenario())


def test_unknown_topics_and_partitions_are_told_as_kafka_tells_them(serving: Any, run: Any) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            answer = only(await asking.ask(produce(asking, batch(), partition=9), 9))
            assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            request = produce(asking, batch())
            request.topic_data[0].topic_id = bytes(15) + b"\x07"
            answer = only(await asking.ask(request, 13))
            assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_ID
            wanted = fetch(asking)
            wanted.topics[0].topic_id = bytes(15) + b"\x07"
            answer = only(await asking.ask(wanted, 13))
            assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_ID

    run(scenario())


def test_internal_topics_take_nothing_from_clients(serving: Any, run: Any) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic("__consumer_offsets")
            request = ProduceRequest(
                acks=1,
                topic_data=[
                    TopicProduceData(
                        name="__consumer_offsets",
                        partition_data=[PartitionProduceData(index=0, records=batch())],
                    )
                ],
            )
            answer = only(await asking.ask(request, 9))
            assert answer.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION

    run(scenario())
