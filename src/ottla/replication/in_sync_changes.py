"""Changes of in-sync sets on their way to the controller: all of one turn in one request.

A proposal stands until it is known what became of it: a leader that forgot one which the controller
has taken would commit records without a replica that counts. So it is withdrawn only where the
controller says that nothing was changed. Where the answer is lost, or the controller's state is
newer than the leader's, it is asked again until the image tells.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable

from ottla.errors import ErrorCode, KafkaError
from ottla.ids import TopicPartition, Uuid
from ottla.metadata.image import Image
from ottla.replication.controller_channel import ControllerChannel
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

PAUSE_S = 0.1
UNCHANGED = {ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED}
"""Nothing was changed, and nothing was before: the leader may propose something else."""

Proposals = dict[TopicPartition, tuple[Leader, frozenset[int]]]


class InSyncChanges:
    def __init__(
        self,
        controller: ControllerChannel,
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
        self._proposals: Proposals = {}
        self._task: asyncio.Task[None] | None = None

    def propose(self, leader: Leader, in_sync: frozenset[int]) -> None:
        self._proposals[leader.topic_partition] = leader, in_sync
        self._send_soon()

    def _send_soon(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        try:
            while self._proposals:
                await asyncio.sleep(0)  # those of the same turn go together
                proposals, self._proposals = self._proposals, {}
                try:
                    await self._send(proposals)
                except Exception as error:
                    log.warning(
                        "Whether in-sync sets were changed is not known: %s",
                        error,
                        exc_info=not isinstance(error, KafkaError),
                    )
                    for leader, in_sync in proposals.values():
                        self._later(self._propose_again, leader, in_sync)
        finally:
            self._task = None

    async def _send(self, proposals: Proposals) -> None:
        by_topic: defaultdict[Uuid, list[RequestPartitionData]] = defaultdict(list)
        for (topic, index), (leader, in_sync) in proposals.items():
            replica = self._partitions().find(topic, index)
            if replica is not None and replica.leader is leader and stands(leader, in_sync):
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
        asked = {(one[0].topic_id, tp.partition): one for tp, one in proposals.items()}
        for topic_data in response.topics:
            for data in topic_data.partitions:
                found = asked.get((topic_data.topic_id, data.partition_index))
                if found is not None:
                    self._take(*found, data)

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

    def _take(self, leader: Leader, in_sync: frozenset[int], data: ResponsePartitionData) -> None:
        if leader.deposed:
            return
        code = ErrorCode(data.error_code)
        if code is not ErrorCode.NONE:
            log.info("%s keeps its in-sync set: %s", leader.topic_partition, code.name)
            then = self._refuse if code in UNCHANGED else self._propose_again
            self._later(then, leader, in_sync)
            return
        replica = self._partitions().find(*leader.topic_partition)
        if replica is not None and replica.state.partition_epoch < data.partition_epoch:
            leader.perform(leader.in_sync.decided(self._now(), replica.state.replicas, data.isr))

    def _later(
        self, act: Callable[[Leader, frozenset[int]], None], leader: Leader, in_sync: frozenset[int]
    ) -> None:
        """After a pause, unless another proposal or the controller's word came first."""

        def act_if_it_stands() -> None:
            if stands(leader, in_sync):
                act(leader, in_sync)

        asyncio.get_running_loop().call_later(PAUSE_S, act_if_it_stands)

    def _propose_again(self, leader: Leader, in_sync: frozenset[int]) -> None:
        self._proposals.setdefault(leader.topic_partition, (leader, in_sync))
        self._send_soon()

    def _refuse(self, leader: Leader, in_sync: frozenset[int]) -> None:
        leader.perform(leader.in_sync.refused(self._now()))


def stands(leader: Leader, in_sync: frozenset[int]) -> bool:
    """Whether this very proposal is still the leader's, not one like it that came later."""
    return not leader.deposed and leader.in_sync.proposed is in_sync
