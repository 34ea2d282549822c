"""Clients of a simulated cluster: idempotent producers and consumers that believe what they see.

They speak Kafka's protocol over simulated sockets, try again as real clients do, and hand what
they were told to the invariants.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import NamedTuple, TypeVar

from ottla.errors import ErrorCode
from ottla.ids import TopicPartition, Uuid
from ottla.ports.network import LinkLost, TcpNetwork
from ottla.replication.peers import Peers
from ottla.simulation.cluster.invariants import ClusterInvariants, Teller
from ottla.wire.codec import MalformedMessage
from ottla.wire.message import Message
from ottla.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from ottla.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from ottla.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
)
from ottla.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from ottla.wire.record_batch import (
    NewRecord,
    build_batch,
    iterate_batches,
    iterate_records,
    read_header,
)

M = TypeVar("M", bound=Message)

ALL, LATEST = -1, -1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
ASK_S = 1.5
ECHOES = 0.1  # of what is sent is sent twice
NEARBY = 0.3  # of what is read is read from any replica (KIP-392)
PRODUCE, FETCH, METADATA, INIT, LIST = 12, 16, 12, 4, 7
AGAIN = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,  # by a node that has not heard of it yet
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.KAFKA_STORAGE_ERROR,
}
"""What a producer with one batch under way may be told: all else would mean that acknowledged
ones are gone, or that its epoch is not its own."""
ELSEWHERE = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
}
"""What a reader may be told: then it asks who leads, and tries again."""


class ClusterClient:
    """The cluster as one client knows it."""

    def __init__(self, ports: dict[int, int], topic: str, rng: Random) -> None:
        self.topic = topic
        self.topic_id: Uuid = bytes(16)
        self.partitions: dict[int, MetadataResponsePartition] = {}
        self._rng = rng
        self._ports = ports
        self._nodes = sorted(ports)
        self._peers = Peers(TcpNetwork(), lambda node_id: ("127.0.0.1", ports[node_id]), "client")

    def again(self) -> "ClusterClient":
        """The same, over connections of its own."""
        return ClusterClient(self._ports, self.topic, self._rng)

    async def ask_any(self, request: Message, version: int, response: type[M]) -> M:
        return await self.ask(self._rng.choice(self._nodes), request, version, response)

    async def ask_leader(
        self, partition: int, request: Message, version: int, response: type[M]
    ) -> M:
        return await self.ask(self.leader(partition), request, version, response)

    async def ask(self, node_id: int, request: Message, version: int, response: type[M]) -> M:
        return await self._peers.ask(node_id, request, version, response, ASK_S)

    async def fetch(
        self, node_id: int, where: TopicPartition, offset: int, wait_ms: int, isolation_level: int
    ) -> PartitionData:
        wanted = FetchPartition(
            partition=where.partition,
            current_leader_epoch=self.epoch(where.partition),
            fetch_offset=offset,
            partition_max_bytes=1 << 16,
        )
        request = FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=1 << 20,
            isolation_level=isolation_level,
            topics=[FetchTopic(topic_id=self.topic_id, partitions=[wanted])],
        )
        answer = await self.ask(node_id, request, FETCH, FetchResponse)
        return answer.responses[0].partitions[0]

    def leader(self, partition: int) -> int:
        return self.partitions[partition].leader_id

    def any_replica(self, partition: int) -> int:
        return self._rng.choice(self.partitions[partition].replica_nodes)

    def epoch(self, partition: int) -> int:
        return self.partitions[partition].leader_epoch

    async def refresh(self) -> bool:
        """Ask anybody who leads; whether every partition has a leader."""
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=self.topic)], allow_auto_topic_creation=False
        )
        try:
            answer = await self.ask_any(request, METADATA, MetadataResponse)
        except (LinkLost, MalformedMessage):
            return False
        topic = answer.topics[0]
        if topic.error_code:
            return False
        if topic.topic_id != self.topic_id:  # another topic of the same name
            self.partitions.clear()
        self.topic_id = topic.topic_id
        for partition in topic.partitions:
            known = self.partitions.get(partition.partition_index)
            if known is None or known.leader_epoch <= partition.leader_epoch:
                self.partitions[partition.partition_index] = partition
        return all(each.leader_id >= 0 for each in self.partitions.values())


class ClientMeans(NamedTuple):
    """What every client is given."""

    world: Teller
    invariants: ClusterInvariants
    cluster: ClusterClient
    rng: Random
    wall_ms: Callable[[], int]


class SimulatedClient(ABC):
    def __init__(self, means: ClientMeans) -> None:
        self.world, self.invariants, self.cluster, self.rng, self.wall_ms = means
        self.stopped = False

    @abstractmethod
    async def run(self) -> None:
        """Live until it is stopped."""

    def stop(self) -> None:
        self.stopped = True

    async def pause(self) -> None:
        await asyncio.sleep(0.03 + 0.2 * self.rng.random())

    async def find_leaders(self) -> None:
        while not await self.cluster.refresh():
            await self.pause()


class Producer(SimulatedClient):
    """One batch under way at a time, acks=all, repeated until it is acknowledged."""

    def __init__(self, name: str, partition: int, pace_s: float, means: ClientMeans) -> None:
        super().__init__(means)
        self.name = name
        self.where = TopicPartition(self.cluster.topic, partition)
        self.pace_s = pace_s
        self.acknowledged = 0
        self._echo = self.cluster.again()

    async def run(self) -> None:
        await self.find_leaders()
        producer_id, epoch = await self._identity()
        sequence = 0
        while not self.stopped:
            values = [f"{self.name}-{sequence + n}" for n in range(self.rng.randint(1, 3))]
            batch = build_batch(
                [NewRecord(self.wall_ms(), None, value.encode()) for value in values],
                producer_id=producer_id,
                producer_epoch=epoch,
                base_sequence=sequence,
            )
            base = await self._send(batch)
            crc = read_header(batch).crc
            by = self.cluster.leader(self.where.partition)
            self.invariants.was_acknowledged(self.where, base, crc, values[0], by)
            self.acknowledged += 1
            sequence += len(values)
            await asyncio.sleep(self.pace_s * 2 * self.rng.random())

    async def _identity(self) -> tuple[int, int]:
        while True:
            try:
                answer = await self.cluster.ask_any(
                    InitProducerIdRequest(), INIT, InitProducerIdResponse
                )
                if not answer.error_code:
                    return answer.producer_id, answer.producer_epoch
            except (LinkLost, MalformedMessage):
                pass
            await self.pause()

    async def _send(self, batch: bytes) -> int:
        data = PartitionProduceData(index=self.where.partition, records=batch)
        request = ProduceRequest(
            acks=ALL,
            timeout_ms=1000,
            topic_data=[TopicProduceData(name=self.where.topic, partition_data=[data])],
        )
        while True:
            if self.rng.random() < ECHOES:
                asyncio.get_running_loop().create_task(self._repeat(request))
            try:
                answer = await self.cluster.ask_leader(
                    self.where.partition, request, PRODUCE, ProduceResponse
                )
                told = answer.responses[0].partition_responses[0]
                code = ErrorCode(told.error_code)
                if code is ErrorCode.NONE:
                    return told.base_offset
                if code not in AGAIN:
                    self.world.violated(f"producer {self.name} was told {code.name}")
            except (LinkLost, MalformedMessage):
                pass
            await self.pause()
            await self.find_leaders()

    async def _repeat(self, request: ProduceRequest) -> None:
        """The same request over another connection, before or after: it must not count twice."""
        leader_id = self.cluster.leader(self.where.partition)
        await asyncio.sleep(self.rng.choice((0.001, 0.01, 3.0)) * self.rng.random())
        with suppress(LinkLost, MalformedMessage):
            await self._echo.ask(leader_id, request, PRODUCE, ProduceResponse)


class Reader(SimulatedClient):
    """Reads one partition from its start, in order."""

    def __init__(self, partition: int, means: ClientMeans) -> None:
        super().__init__(means)
        self.where = TopicPartition(self.cluster.topic, partition)
        self.position = 0

    async def fetch(
        self, node_id: int, wait_ms: int, isolation_level: int = READ_UNCOMMITTED
    ) -> PartitionData | None:
        """What comes next; None if that node cannot tell."""
        data = await self.cluster.fetch(
            node_id, self.where, self.position, wait_ms, isolation_level
        )
        if data.error_code and data.error_code not in ELSEWHERE:
            code = ErrorCode(data.error_code)
            self.world.violated(f"a reader of {self.where} at {self.position} was told {code.name}")
        return None if data.error_code else data


class Consumer(Reader):
    """Without a gap; at times from a follower."""

    def __init__(self, partition: int, means: ClientMeans) -> None:
        super().__init__(partition, means)
        self._epoch = -1

    async def run(self) -> None:
        await self.find_leaders()
        while not self.stopped:
            try:
                epoch = self.cluster.epoch(self.where.partition)
                if epoch != self._epoch or self.rng.random() < 0.3:
                    self._epoch = epoch  # of a new leader the first question is where it ends
                    await self._ask_end()
                elif not await self._fetch():
                    await self.pause()
                    await self.find_leaders()
            except (LinkLost, MalformedMessage):
                await self.pause()
                await self.find_leaders()
            await asyncio.sleep(self.rng.random())

    async def _fetch(self) -> bool:
        partition = self.where.partition
        nearby = self.rng.random() < NEARBY
        asked = self.cluster.any_replica(partition) if nearby else self.cluster.leader(partition)
        data = await self.fetch(asked, wait_ms=500)
        if data is None:
            return False
        self._take(data.records or b"")
        return True

    def _take(self, records: "bytes | memoryview") -> None:
        for at, header in iterate_batches(records):
            for record in iterate_records(records, at, header):
                if record.offset < self.position:
                    continue
                if record.offset != self.position:
                    self.world.violated(f"a reader of {self.where} skips {self.position}")
                self.invariants.was_read(self.where, record.offset, record.value or b"")
                self.position = record.offset + 1

    async def _ask_end(self) -> None:
        partition = self.where.partition
        ask = ListOffsetsPartition(
            partition_index=partition,
            current_leader_epoch=self.cluster.epoch(partition),
            timestamp=LATEST,
        )
        request = ListOffsetsRequest(
            replica_id=-1,
            topics=[ListOffsetsTopic(name=self.where.topic, partitions=[ask])],
        )
        epoch, asked = ask.current_leader_epoch, len(self.invariants.acknowledged[self.where])
        answer = await self.cluster.ask_leader(partition, request, LIST, ListOffsetsResponse)
        told = answer.topics[0].partitions[0]
        if told.error_code:
            if told.error_code not in ELSEWHERE:
                code = ErrorCode(told.error_code)
                self.world.violated(f"who asked for the end of {self.where} was told {code.name}")
            await self.find_leaders()
        else:
            self.invariants.end_was_told(self.where, epoch, asked, told.offset)
