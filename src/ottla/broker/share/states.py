"""Where the state of a share partition is kept: asked of its coordinator, here or elsewhere.

A coordinator may just have been elected, or its topic just been made: it is asked again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from ottla.broker.internal_topics import SHARE_GROUP_STATE, create_internal_topic
from ottla.coordination.java_hash import java_hash
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share.coordinator import ShareCoordinator
from ottla.groups.share.delivery import DeliveryState, StateBatch, StateChange
from ottla.groups.share.states import SharePartitionKey, SharePartitionState
from ottla.ids import TopicPartition
from ottla.ports.network import LinkLost
from ottla.wire.message import Message

if TYPE_CHECKING:
    from ottla.broker.cluster_view import ClusterView
    from ottla.broker.services import ActiveController
    from ottla.replication.partitions import Partitions

M = TypeVar("M", bound=Message)
T = TypeVar("T")
TIMEOUT_S = 10.0
WRITE_VERSION = 1
LIST_OFFSETS_VERSION = 7
LATEST = -1
LOADING_TRIES = 20
LOADING_PAUSE_S = 0.1
NOT_READY = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class Peers(Protocol):
    async def ask(
        self, node_id: int, request: Message, version: int, response: type[M], timeout_s: float
    ) -> M: ...


class Result(Protocol):
    error_code: int
    error_message: str | None


class StateKeeper:
    """Implements reading and writing for queues, whichever broker has the state."""

    def __init__(
        self,
        cluster: "ClusterView",
        partitions: "Partitions",
        controller: "ActiveController",
        coordinator: ShareCoordinator,
        peers: Peers,
    ) -> None:
        self._cluster = cluster
        self._partitions = partitions
        self._controller = controller
        self._coordinator = coordinator
        self._peers = peers

    async def initialize(
        self, place: SharePartitionKey, state_epoch: int, start_offset: int
    ) -> None:
        await _when_ready(lambda: self._initialize(place, state_epoch, start_offset))

    async def read(self, place: SharePartitionKey, leader_epoch: int) -> SharePartitionState:
        return await _when_ready(lambda: self._read(place, leader_epoch))

    async def delete(self, place: SharePartitionKey) -> None:
        await _when_ready(lambda: self._delete(place))

    async def _initialize(
        self, place: SharePartitionKey, state_epoch: int, start_offset: int
    ) -> None:
        node_id = await self._keeper_of(place)
        if node_id == self._cluster.node_id:
            await self._coordinator.initialize(place, state_epoch, start_offset)
            return
        from ottla.wire.messages import initialize_share_group_state as wire

        part = wire.PartitionData(
            partition=place.partition, state_epoch=state_epoch, start_offset=start_offset
        )
        topic = wire.InitializeStateData(topic_id=place.topic_id, partitions=[part])
        request = wire.InitializeShareGroupStateRequest(group_id=place.group_id, topics=[topic])
        response = await self._ask(node_id, request, 0, wire.InitializeShareGroupStateResponse)
        _check(response.results[0].partitions[0])

    async def _read(self, place: SharePartitionKey, leader_epoch: int) -> SharePartitionState:
        node_id = await self._keeper_of(place)
        if node_id == self._cluster.node_id:
            return await self._coordinator.read(place, leader_epoch)
        from ottla.wire.messages import read_share_group_state as wire

        part = wire.PartitionData(partition=place.partition, leader_epoch=leader_epoch)
        topic = wire.ReadStateData(topic_id=place.topic_id, partitions=[part])
        request = wire.ReadShareGroupStateRequest(group_id=place.group_id, topics=[topic])
        response = await self._ask(node_id, request, 0, wire.ReadShareGroupStateResponse)
        found = response.results[0].partitions[0]
        _check(found)
        return SharePartitionState(
            state_epoch=found.state_epoch,
            leader_epoch=leader_epoch,
            start_offset=found.start_offset,
            batches=[
                StateBatch(
                    one.first_offset,
                    one.last_offset,
                    DeliveryState(one.delivery_state),
                    one.delivery_count,
                )
                for one in found.state_batches
            ],
        )

    async def summary(self, place: SharePartitionKey) -> SharePartitionState:
        """Where the queue starts; nobody is fenced by asking."""
        node_id = await self._keeper_of(place)
        if node_id == self._cluster.node_id:
            return self._coordinator.summary(place) or SharePartitionState()
        from ottla.wire.messages import read_share_group_state_summary as wire

        part = wire.PartitionData(partition=place.partition, leader_epoch=-1)
        topic = wire.ReadStateSummaryData(topic_id=place.topic_id, partitions=[part])
        request = wire.ReadShareGroupStateSummaryRequest(group_id=place.group_id, topics=[topic])
        response = await self._ask(node_id, request, 1, wire.ReadShareGroupStateSummaryResponse)
        found = response.results[0].partitions[0]
        _check(found)
        return SharePartitionState(
            state_epoch=found.state_epoch,
            leader_epoch=found.leader_epoch,
            start_offset=found.start_offset,
            complete=found.delivery_complete_count,
        )

    async def write(
        self, place: SharePartitionKey, state_epoch: int, leader_epoch: int, change: StateChange
    ) -> None:
        node_id = await self._keeper_of(place)
        if node_id == self._cluster.node_id:
            await self._coordinator.write(
                place,
                state_epoch,
                leader_epoch,
                change.start_offset,
                change.complete,
                change.batches,
            )
            return
        from ottla.wire.messages import write_share_group_state as wire

        part = wire.PartitionData(
            partition=place.partition,
            state_epoch=state_epoch,
            leader_epoch=leader_epoch,
            start_offset=change.start_offset,
            delivery_complete_count=change.complete,
            state_batches=[
                wire.StateBatch(
                    first_offset=batch.first,
                    last_offset=batch.last,
                    delivery_state=batch.state,
                    delivery_count=batch.deliveries,
                )
                for batch in change.batches
            ],
        )
        topic = wire.WriteStateData(topic_id=place.topic_id, partitions=[part])
        request = wire.WriteShareGroupStateRequest(group_id=place.group_id, topics=[topic])
        response = await self._ask(
            node_id, request, WRITE_VERSION, wire.WriteShareGroupStateResponse
        )
        _check(response.results[0].partitions[0])

    async def _delete(self, place: SharePartitionKey) -> None:
        node_id = await self._keeper_of(place)
        if node_id == self._cluster.node_id:
            await self._coordinator.delete(place)
            return
        from ottla.wire.messages import delete_share_group_state as wire

        part = wire.PartitionData(partition=place.partition)
        topic = wire.DeleteStateData(topic_id=place.topic_id, partitions=[part])
        request = wire.DeleteShareGroupStateRequest(group_id=place.group_id, topics=[topic])
        response = await self._ask(node_id, request, 0, wire.DeleteShareGroupStateResponse)
        _check(response.results[0].partitions[0])

    async def end_offset(self, topic: str, partition: int) -> int:
        """Up to where consumers may read, asked of the partition's leader."""
        place = TopicPartition(topic, partition)
        leader = self._cluster.leader_of(place)
        if leader is None:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE)
        replica = self._partitions.find(topic, partition)
        if replica is not None and replica.leader is not None:
            return replica.leader.log.high_watermark
        from ottla.wire.messages import list_offsets as wire

        part = wire.ListOffsetsPartition(
            partition_index=partition, current_leader_epoch=-1, timestamp=LATEST
        )
        asked = wire.ListOffsetsTopic(name=topic, partitions=[part])
        request = wire.ListOffsetsRequest(replica_id=-1, topics=[asked])
        response = await self._ask(leader, request, LIST_OFFSETS_VERSION, wire.ListOffsetsResponse)
        found = response.topics[0].partitions[0]
        if found.error_code:
            raise KafkaError(ErrorCode(found.error_code))
        return found.offset

    async def _keeper_of(self, place: SharePartitionKey) -> int:
        """The broker that leads the shard; the topic is made with the first share group."""
        if SHARE_GROUP_STATE not in self._cluster.image.topics_by_name:
            await create_internal_topic(SHARE_GROUP_STATE, self._cluster.settings, self._controller)
        topic = self._cluster.image.topics_by_name.get(SHARE_GROUP_STATE)
        if topic is None or not topic.partitions:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        leader = topic.partitions[java_hash(place.key()) % len(topic.partitions)].leader
        if leader < 0:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return leader

    async def _ask(self, node_id: int, request: Message, version: int, response: type[M]) -> M:
        try:
            return await self._peers.ask(node_id, request, version, response, TIMEOUT_S)
        except LinkLost as error:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, str(error)) from None


async def _when_ready(ask: Callable[[], Awaitable[T]]) -> T:
    for _ in range(LOADING_TRIES):
        try:
            return await ask()
        except KafkaError as refusal:
            if refusal.code not in NOT_READY:
                raise
            await asyncio.sleep(LOADING_PAUSE_S)
    return await ask()


def _check(result: Result) -> None:
    if result.error_code:
        raise KafkaError(ErrorCode(result.error_code), result.error_message)
