"""Batches of many records that have to be walked hold up nobody else."""

import asyncio
import time
from typing import Any

from ottla.errors import ErrorCode
from ottla.wire.compression import Codec
from ottla.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.wire.record_batch import NewRecord, build_batch, iterate_records, read_header

TOPIC = "t"
MANY = 60_000


def many(key: bytes | None, codec: Codec = Codec.NONE, count: int = MANY) -> bytes:
    now_ms = int(time.time() * 1000)
    return build_batch([NewRecord(now_ms, key, b"") for _ in range(count)], codec=codec)


def produce(records: bytes, acks: int = -1) -> ProduceRequest:
    data = [PartitionProduceData(index=0, records=records)]
    return ProduceRequest(
        acks=acks, timeout_ms=1000, topic_data=[TopicProduceData(name=TOPIC, partition_data=data)]
    )


async def longest_pause(turns: list[float]) -> None:
    """How long each turn of the event loop took, in CPU time: other processes do not count."""
    while True:
        before = time.thread_time()
        await asyncio.sleep(0)
        turns.append(time.thread_time() - before)


def walked(request: ProduceRequest) -> float:
    """What a walk over the request's records costs, in CPU time."""
    records = request.topic_data[0].partition_data[0].records
    assert records is not None
    before = time.thread_time()
    assert sum(1 for _ in iterate_records(records, 0, read_header(records))) == MANY
    return time.thread_time() - before


def outcome(answer: Any) -> tuple[int, int]:
    partition = answer.responses[0].partition_responses[0]
    return partition.error_code, partition.base_offset


def test_a_long_walk_does_not_hold_the_event_loop(serving: Any, run: Any) -> None:
    async def scenario() -> None:
        async with serving(log_cleanup_policy="compact") as asking:
            await asking.make_topic(TOPIC)
            request = produce(many(b"k", Codec.ZSTD))
            turns: list[float] = []
            watching = asyncio.ensure_future(longest_pause(turns))
            assert outcome(await asking.ask(request, 9)) == (0, 0)
            assert outcome(await asking.ask(request, 9)) == (0, MANY)
            watching.cancel()
            assert max(turns) < walked(request) / 2

    run(scenario())


def test_what_the_walk_finds_is_what_the_client_hears(serving: Any, run: Any) -> None:
    async def scenario() -> None:
        async with serving(log_cleanup_policy="compact") as asking:
            await asking.make_topic(TOPIC)
            refused = ErrorCode.INVALID_RECORD, -1
            assert outcome(await asking.ask(produce(many(None)), 9)) == refused
            assert outcome(await asking.ask(produce(many(b"k")), 9)) == (0, 0)

    run(scenario())


def test_a_long_batch_is_compressed_anew(serving: Any, run: Any) -> None:
    async def scenario() -> None:
        async with serving(compression_type="lz4") as asking:
            await asking.make_topic(TOPIC)
            sent = many(None)
            assert outcome(await asking.ask(produce(sent), 9)) == (0, 0)
            assert asking.node.partitions.leader(TOPIC, 0).log.size < len(sent) / 2

    run(scenario())


def test_what_is_only_counted_is_answered_at_once(serving: Any, run: Any) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            for codec in Codec:
                usual = many(None, codec, count=10_000)
                assert isinstance(asking.take(produce(usual, acks=1), 9), list)

    run(scenario())
