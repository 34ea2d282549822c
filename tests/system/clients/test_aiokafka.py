"""aiokafka: an asyncio client with a protocol implementation of its own."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import TopicAlreadyExistsError
from aiokafka.structs import OffsetAndMetadata

from system.clients.conftest import MakeTopic

SECONDS_MAX = 30
T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(SECONDS_MAX):
            return await work

    return asyncio.run(bounded())


async def take(consumer: AIOKafkaConsumer, count: int) -> list[ConsumerRecord]:
    return [await consumer.getone() for _ in range(count)]


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_records_of_every_codec_come_back(bootstrap: str, topic: str, codec: str | None) -> None:
    async def work() -> None:
        async with AIOKafkaProducer(
            bootstrap_servers=bootstrap, compression_type=codec, linger_ms=20
        ) as producer:
            futures = [
                await producer.send(topic, b"value %d" % n * 10, key=b"k", headers=[("h", b"1")])
                for n in range(100)
            ]
            assert [(await future).offset for future in futures] == list(range(100))
        async with AIOKafkaConsumer(
            topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest"
        ) as consumer:
            records = await take(consumer, 100)
        assert [r.value for r in records] == [b"value %d" % n * 10 for n in range(100)]
        assert all(r.key == b"k" and r.headers == (("h", b"1"),) for r in records)

    run(work())


def test_an_idempotent_producer_gets_consecutive_offsets(bootstrap: str, topic: str) -> None:
    async def work() -> list[int]:
        async with AIOKafkaProducer(
            bootstrap_servers=bootstrap, enable_idempotence=True
        ) as producer:
            sent = [await producer.send_and_wait(topic, b"%d" % n) for n in range(50)]
            return [metadata.offset for metadata in sent]

    assert run(work()) == list(range(50))


def test_a_group_goes_on_where_it_committed(bootstrap: str, topic: str, group: str) -> None:
    def member() -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )

    async def work() -> None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
            for n in range(10):
                await producer.send_and_wait(topic, b"%d" % n)
        place = TopicPartition(topic, 0)
        async with member() as consumer:
            await take(consumer, 6)
            await consumer.commit({place: OffsetAndMetadata(6, "six")})
            assert await consumer.committed(place) == 6
        async with member() as consumer:
            assert [r.offset for r in await take(consumer, 4)] == [6, 7, 8, 9]
            consumer.seek(place, 2)
            assert (await consumer.getone()).offset == 2
            assert await consumer.beginning_offsets([place]) == {place: 0}
            assert await consumer.end_offsets([place]) == {place: 10}

    run(work())


def test_two_members_share_a_topic(bootstrap: str, make_topic: MakeTopic, group: str) -> None:
    topic = make_topic(partitions=4)

    def member() -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            topic, bootstrap_servers=bootstrap, group_id=group, heartbeat_interval_ms=200
        )

    async def work() -> None:
        async with member() as first, member() as second:
            while not (len(first.assignment()) == 2 == len(second.assignment())):
                await asyncio.sleep(0.05)
            held = first.assignment() | second.assignment()
            assert held == {TopicPartition(topic, n) for n in range(4)}

    run(work())


def test_the_admin_client_makes_and_lists_topics(bootstrap: str, group: str) -> None:
    async def work() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await admin.start()
        try:
            name = f"aio-{group}"
            await admin.create_topics([NewTopic(name, 2, 1)])
            assert name in await admin.list_topics()
            [described] = await admin.describe_topics([name])
            assert len(described["partitions"]) == 2
            reply = await admin.create_topics([NewTopic(name, 2, 1)])
            assert reply.topic_errors[0][1] == TopicAlreadyExistsError.errno
            await admin.delete_topics([name])
        finally:
            await admin.close()

    run(work())
