"""The share coordinator of one broker: share partitions' states on their shards."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, NamedTuple

from ottla.coordination.shard import Phase
from ottla.coordination.shards import Shards
from ottla.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from ottla.config import Settings
    from ottla.coordination.log import ShardLog
    from ottla.groups.share.delivery import StateBatch
    from ottla.groups.share.states import SharePartitionKey, SharePartitionState, ShareStates
    from ottla.ports.clock import Clock

logger = logging.getLogger(__name__)

TOPIC = "__share_group_state"


class ShareCoordinatorLimits(NamedTuple):
    """Kafka's `share.coordinator.…` options."""

    updates_per_snapshot: int = 500
    write_timeout_s: float = 5.0
    prune_interval_s: float = 300.0
    cold_interval_s: float = 300.0

    @classmethod
    def of(cls, settings: Settings) -> ShareCoordinatorLimits:
        return cls(
            settings.int("share.coordinator.snapshot.update.records.per.snapshot"),
            settings.int("share.coordinator.write.timeout.ms") / 1000,
            settings.int("share.coordinator.state.topic.prune.interval.ms") / 1000,
            settings.int("share.coordinator.cold.partition.snapshot.interval.ms") / 1000,
        )


class ShareCoordinator:
    def __init__(self, limits: ShareCoordinatorLimits, clock: Clock) -> None:
        def new_machine(partition: int) -> ShareStates:
            from ottla.groups.share.states import ShareStates  # wanted by few

            shard = self.shards.at(partition)
            return ShareStates(
                limits.updates_per_snapshot, lambda: shard.log_end_offset, limits.cold_interval_s
            )

        self._limits = limits
        self.shards: Shards[ShareStates] = Shards(TOPIC, new_machine, clock, limits.write_timeout_s)

    async def run(self) -> None:
        """Cut off what is not needed any more, again and again."""
        while True:
            await asyncio.sleep(self._limits.prune_interval_s)
            for shard in self.shards:
                if shard.phase is Phase.ACTIVE:
                    try:
                        shard.forget_before(shard.machine.redundant_before())
                    except KafkaError as error:
                        logger.info("%s: not pruned: %s", shard.name, error)

    def elected(self, partition: int, log: ShardLog) -> None:
        self.shards.elected(partition, log)

    def resigned(self, partition: int) -> None:
        self.shards.resigned(partition)

    def resize(self, partition_count: int) -> None:
        self.shards.resize(partition_count)

    def initialize(
        self, place: SharePartitionKey, state_epoch: int, start_offset: int
    ) -> Awaitable[None]:
        return self.shards.of(place.key()).submit(
            lambda states, now, _: states.initialize(now, place, state_epoch, start_offset)
        )

    def read(self, place: SharePartitionKey, leader_epoch: int) -> Awaitable[SharePartitionState]:
        return self.shards.of(place.key()).submit(
            lambda states, now, _: states.read(now, place, leader_epoch)
        )

    def summary(self, place: SharePartitionKey) -> SharePartitionState | None:
        return self.shards.of(place.key()).machine.states.get(place)

    def write(
        self,
        place: SharePartitionKey,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        complete: int,
        batches: Sequence[StateBatch],
    ) -> Awaitable[None]:
        return self.shards.of(place.key()).submit(
            lambda states, now, _: states.write(
                now, place, state_epoch, leader_epoch, start_offset, complete, batches
            )
        )

    def delete(self, place: SharePartitionKey) -> Awaitable[None]:
        return self.shards.of(place.key()).submit(lambda states, now, _: states.delete(place))
