"""A topic that is deleted and made again under the same name: its records must not rise again.

Every record carries the id of the topic it was sent to. A node that slept through a deletion has
an old log under the new topic's name, and must not take it for that topic's.
"""

import asyncio

from ottla.log.partition_log import PartitionLog
from ottla.ports.network import LinkLost
from ottla.replication.partitions import Replica
from ottla.simulation.cluster.clients import ALL, SimulatedClient
from ottla.simulation.cluster.invariants import Teller
from ottla.wire.codec import MalformedMessage
from ottla.wire.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from ottla.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from ottla.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from ottla.wire.record_batch import NewRecord, build_batch, iterate_batches, iterate_records

TOPIC = "recreated"
CREATE, DELETE, PRODUCE = 7, 5, 13
READ_BYTES = 1 << 20
EXISTS_S_MAX = 10.0


class TopicRecreator(SimulatedClient):
    """Makes the topic, writes its id into it, deletes it, again and again."""

    async def run(self) -> None:
        while not self.stopped:
            try:
                await self._recreate()
            except (LinkLost, MalformedMessage):
                await self.pause()

    async def _recreate(self) -> None:
        topic = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=3)
        await self.cluster.ask_any(
            CreateTopicsRequest(topics=[topic]), CREATE, CreateTopicsResponse
        )
        if not await self.cluster.refresh():
            return await self.pause()
        for _ in range(self.rng.randint(1, 3)):
            await self._write()
        await asyncio.sleep(EXISTS_S_MAX * self.rng.random())
        await self.cluster.ask_any(
            DeleteTopicsRequest(topic_names=[TOPIC], timeout_ms=1000), DELETE, DeleteTopicsResponse
        )
        return None

    async def _write(self) -> None:
        topic_id = self.cluster.topic_id
        data = PartitionProduceData(records=build_batch([NewRecord(0, None, topic_id)]))
        request = ProduceRequest(
            acks=ALL,
            timeout_ms=500,
            topic_data=[TopicProduceData(topic_id=topic_id, partition_data=[data])],
        )
        await self.cluster.ask_leader(0, request, PRODUCE, ProduceResponse)


class RecreatedTopicInvariants:
    """Looks into every replica of the topic for records of its predecessors."""

    def __init__(self, world: Teller) -> None:
        self.world = world
        self.records = 0
        self._ends: dict[int, tuple[PartitionLog, int]] = {}

    def look_at(self, node_id: int, table: dict[int, Replica]) -> None:
        replica = table[0]
        log = replica.log
        known = self._ends.get(node_id)
        if known is None or known[0] is not log or known[1] != log.log_end_offset:
            self._ends[node_id] = log, log.log_end_offset
            self._read(node_id, log, replica.topic_id)

    def _read(self, node_id: int, log: PartitionLog, topic_id: bytes) -> None:
        if log.log_end_offset == log.log_start_offset:
            return
        data = log.read(log.log_start_offset, READ_BYTES, upto=log.log_end_offset).fetch_cold()
        for at, header in iterate_batches(data):
            for record in iterate_records(data, at, header):
                self.records += 1
                if record.value != topic_id:
                    self.world.violated(f"node {node_id} has a record of a topic that is gone")
