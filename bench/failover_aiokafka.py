"""The same loads through aiokafka, which looks for a lost coordinator every tenth of a second."""

import asyncio
import time

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from bench.failover_loads import (
    GROUP,
    RECORDS_PER_TRANSACTION,
    TOPIC,
    TRANSACTIONAL_ID,
    Load,
    Sends,
)
from bench.reach import Reach

READ_MS = 50
DRAIN_S = 60.0


class AioCommits(Load):
    """A member of a group that reads what is sent and commits as it goes."""

    def __init__(self, reach: Reach, first: int) -> None:
        super().__init__(reach, first)
        self._sends = Sends(reach, first)

    def run(self) -> None:
        self._sends.start()
        asyncio.run(self._live())
        self.next, self.acknowledged = self._sends.next, self._sends.acknowledged
        self.failures += self._sends.failures

    async def _live(self) -> None:
        consumer = AIOKafkaConsumer(
            TOPIC,
            bootstrap_servers=self.reach.bootstrap,
            group_id=GROUP,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        await consumer.start()
        try:
            while not self.done.is_set():
                await self._read_and_commit(consumer)
            await asyncio.to_thread(self._sends.finish)
            deadline = time.perf_counter() + DRAIN_S
            sent = len(self._sends.acknowledged)
            while len(self.consumed) < sent and time.perf_counter() < deadline:
                await self._read_and_commit(consumer)
        finally:
            await consumer.stop()

    async def _read_and_commit(self, consumer: AIOKafkaConsumer) -> None:
        read = await consumer.getmany(timeout_ms=READ_MS)
        messages = read.get(TopicPartition(TOPIC, 0), [])
        if not messages:
            return
        self.consumed += [int(one.value or b"-1") for one in messages]
        try:
            await consumer.commit({TopicPartition(TOPIC, 0): messages[-1].offset + 1})
            self.moments.append(time.perf_counter())
        except KafkaError as error:
            self.failures.append(repr(error))


class AioTransactions(Load):
    """One transaction after another."""

    def run(self) -> None:
        asyncio.run(self._live())

    async def _live(self) -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=self.reach.bootstrap, transactional_id=TRANSACTIONAL_ID
        )
        await producer.start()
        try:
            while not self.done.is_set():
                await self._transact(producer)
        finally:
            await producer.stop()

    async def _transact(self, producer: AIOKafkaProducer) -> None:
        values = list(range(self.next, self.next + RECORDS_PER_TRANSACTION))
        self.next += RECORDS_PER_TRANSACTION
        try:
            async with producer.transaction():
                for value in values:
                    await producer.send(TOPIC, b"%d" % value, partition=0)
        except KafkaError as error:
            self.failures.append(repr(error))
            return
        self.moments.append(time.perf_counter())
        self.acknowledged += values
