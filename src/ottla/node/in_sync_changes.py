"""Changes of in-sync sets on their way to the controller: all of one turn in one request.

A proposal is answered, or refused after a pause: the leader may then propose again.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable

from ottla.errors import ErrorCode, KafkaError
from ottla.ids import TopicPartition, Uuid
from ottla.metadata.image import Image
from ottla.node.active_controller import ActiveController
from ottla.replication.leader import Leader
from ottla.replication.partitions import Partitions, Replica
from ottla.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
    ResponsePartitionData,
)

log = logging.getLogger(__name__)

REFUSED_PAUSE_S = 0.1


class InSyncChanges:
    def __init__(
        self,
        controller: ActiveController,
        partitions: Callable[[], Partitions],
        node_id: int,
        broker_epoch: Callable[[], int],
        now: Callable[[], float],
    ) -> None:
        self._controller = controller
        self._partitions = partitions
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._now = now
        self._proposals: dict[TopicPartition, tuple[Leader, frozenset[int]]] = {}
        self._task: asyncio.Task[None] | None = None

    def propose(self, leader: Leader, in_sync: frozenset[int]) -> None:
        self._proposals[leader.topic_partition] = leader, in_sync
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        try:
            while self._proposals:
                await asyncio.sleep(0)  # those of the same turn go together
                proposals, self._proposals = self._proposals, {}
                try:
                    await self._send(proposals)
                except KafkaError as error:
                    log.warning("The controller took no change of in-sync sets: %s", error)
                    for leader, _ in proposals.values():
                        self._refuse_later(leader)
        finally:
            self._task = None

    async def _send(self, proposals: dict[TopicPartition, tuple[Leader, frozenset[int]]]) -> None:
        by_topic: defaultdict[Uuid, list[RequestPartitionData]] = defaultdict(list)
        for (topic, index), (leader, in_sync) in proposals.items():
            replica = self._partitions().find(topic, index)
            if replica is not None and replica.leader is leader:
                by_topic[leader.topic_id].append(self._describe(replica, leader, in_sync))
        if not by_topic:
            return
        response = await self._controller.ask(
            AlterPartitionRequest(
                broker_id=self._node_id,
                broker_epoch=self._broker_epoch(),
                topics=[RequestTopicData(topic_id=i, partitions=p) for i, p in by_topic.items()],
            ),
            AlterPartitionResponse,
        )
        if response.error_code:
            raise KafkaError(ErrorCode(response.error_code))
        leaders = {(each.topic_id, tp.partition): each for tp, (each, _) in proposals.items()}
        for topic_data in response.topics:
            for data in topic_data.partitions:
                found = leaders.get((topic_data.topic_id, data.partition_index))
                if found is not None:
                    self._take(found, data)

    def _describe(
        self, replica: Replica, leader: Leader, in_sync: frozenset[int]
    ) -> RequestPartitionData:
        image = self._partitions().image
        return RequestPartitionData(
            partition_index=replica.topic_partition.partition,
            leader_epoch=leader.epoch,
            new_isr_with_epochs=[
                BrokerState(broker_id=member, broker_epoch=self._epoch_of(member, leader, image))
                for member in sorted(in_sync)
            ],
            leader_recovery_state=0,
            partition_epoch=replica.state.partition_epoch,
        )

    def _epoch_of(self, member: int, leader: Leader, image: Image) -> int:
        """The incarnation that was seen fetching: an emptied one must not pass for it (KIP-903)."""
        if member == self._node_id:
            return self._broker_epoch()
        follower = leader.in_sync.followers.get(member)
        if follower is not None and follower.broker_epoch >= 0:
            return follower.broker_epoch
        known = image.brokers.get(member)
        return -1 if known is None else known.epoch

    def _take(self, leader: Leader, data: ResponsePartitionData) -> None:
        if leader.deposed:
            return
        if data.error_code:
            code = ErrorCode(data.error_code)
            log.info("%s keeps its in-sync set: %s", leader.topic_partition, code.name)
            self._refuse_later(leader)
            return
        replica = self._partitions().find(*leader.topic_partition)
        if replica is not None and replica.state.partition_epoch < data.partition_epoch:
            leader.perform(leader.in_sync.decided(self._now(), replica.state.replicas, data.isr))

    def _refuse_later(self, leader: Leader) -> None:
        def refuse() -> None:
            if not leader.deposed:
                leader.perform(leader.in_sync.refused(self._now()))

        asyncio.get_running_loop().call_later(REFUSED_PAUSE_S, refuse)
