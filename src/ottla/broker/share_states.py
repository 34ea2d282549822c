"""Where the state of a share partition is kept: asked of its coordinator, here or elsewhere."""

from typing import TYPE_CHECKING, Protocol, TypeVar

from ottla.broker.internal_topics import SHARE_GROUP_STATE, create_internal_topic
from ottla.coordination.shards import java_hash
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share.coordinator import ShareCoordinator
from ottla.groups.share.in_flight import Batch, Change, DeliveryState
from ottla.groups.share.states import Place, State
from ottla.ports.network import LinkLost
from ottla.wire.message import Message

if TYPE_CHECKING:
    from ottla.broker.broker import Broker

M = TypeVar("M", bound=Message)
TIMEOUT_S = 10.0
WRITE_VERSION = 1


class Peers(Protocol):
    async def ask(
        self, node_id: int, request: Message, version: int, response: type[M], timeout_s: float
    ) -> M: ...


class Result(Protocol):
    error_code: int
    error_message: str | None


class StateKeeper:
    """Implements reading and writing for queues, whichever broker has the state."""

    def __init__(self, broker: "Broker", coordinator: ShareCoordinator, peers: Peers) -> None:
        self._broker = broker
        self._coordinator = coordinator
        self._peers = peers

    async def initialize(self, place: Place, state_epoch: int, start_offset: int) -> None:
        node_id = await self._keeper_of(place)
        if node_id == self._broker.node_id:
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

    async def read(self, place: Place, leader_epoch: int) -> State:
        node_id = await self._keeper_of(place)
        if node_id == self._broker.node_id:
            return await self._coordinator.read(place, leader_epoch)
        from ottla.wire.messages import read_share_group_state as wire

        part = wire.PartitionData(partition=place.partition, leader_epoch=leader_epoch)
        topic = wire.ReadStateData(topic_id=place.topic_id, partitions=[part])
        request = wire.ReadShareGroupStateRequest(group_id=place.group_id, topics=[topic])
        response = await self._ask(node_id, request, 0, wire.ReadShareGroupStateResponse)
        found = response.results[0].partitions[0]
        _check(found)
        return State(
            state_epoch=found.state_epoch,
            leader_epoch=leader_epoch,
            start_offset=found.start_offset,
            batches=[
                Batch(
                    one.first_offset,
                    one.last_offset,
                    DeliveryState(one.delivery_state),
                    one.delivery_count,
                )
                for one in found.state_batches
            ],
        )

    async def summary(self, place: Place) -> State:
        """Where the queue starts; nobody is fenced by asking."""
        node_id = await self._keeper_of(place)
        if node_id == self._broker.node_id:
            return self._coordinator.summary(place) or State()
        from ottla.wire.messages import read_share_group_state_summary as wire

        part = wire.PartitionData(partition=place.partition, leader_epoch=-1)
        topic = wire.ReadStateSummaryData(topic_id=place.topic_id, partitions=[part])
        request = wire.ReadShareGroupStateSummaryRequest(group_id=place.group_id, topics=[topic])
        response = await self._ask(node_id, request, 1, wire.ReadShareGroupStateSummaryResponse)
        found = response.results[0].partitions[0]
        _check(found)
        return State(
            state_epoch=found.state_epoch,
            leader_epoch=found.leader_epoch,
            start_offset=found.start_offset,
            complete=found.delivery_complete_count,
        )

    async def write(
        self, place: Place, state_epoch: int, leader_epoch: int, change: Change
    ) -> None:
        node_id = await self._keeper_of(place)
        if node_id == self._broker.node_id:
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

    async def delete(self, place: Place) -> None:
        node_id = await self._keeper_of(place)
        if node_id == self._broker.node_id:
            await self._coordinator.delete(place)
            return
        from ottla.wire.messages import delete_share_group_state as wire

        part = wire.PartitionData(partition=place.partition)
        topic = wire.DeleteStateData(topic_id=place.topic_id, partitions=[part])
        request = wire.DeleteShareGroupStateRequest(group_id=place.group_id, topics=[topic])
        response = await self._ask(node_id, request, 0, wire.DeleteShareGroupStateResponse)
        _check(response.results[0].partitions[0])

    async def _keeper_of(self, place: Place) -> int:
        """The broker that leads the shard; the topic is made with the first share group."""
        if SHARE_GROUP_STATE not in self._broker.image.topics_by_name:
            await create_internal_topic(self._broker, SHARE_GROUP_STATE)
        topic = self._broker.image.topics_by_name.get(SHARE_GROUP_STATE)
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


def _check(result: Result) -> None:
    if result.error_code:
        raise KafkaError(ErrorCode(result.error_code), result.error_message)
