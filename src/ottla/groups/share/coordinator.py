"""The share coordinator of one broker: share partitions' states on their shards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.coordination.shards import Shards

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ottla.coordination.log import ShardLog
    from ottla.groups.share.in_flight import Batch
    from ottla.groups.share.states import Place, ShareStates, State

TOPIC = "__share_group_state"


class ShareCoordinator:
    def __init__(
        self, updates_per_snapshot: int, write_timeout_s: float, wall_ms: Callable[[], int]
    ) -> None:
        def new_machine(partition: int) -> ShareStates:
            from ottla.groups.share.states import ShareStates  # wanted by few

            return ShareStates(updates_per_snapshot)

        self.shards: Shards[ShareStates] = Shards(TOPIC, new_machine, wall_ms, write_timeout_s)

    def elected(self, partition: int, log: ShardLog) -> None:
        self.shards.elected(partition, log)

    def resigned(self, partition: int) -> None:
        self.shards.resigned(partition)

    def resize(self, partition_count: int) -> None:
        self.shards.resize(partition_count)

    def initialize(self, place: Place, state_epoch: int, start_offset: int) -> Awaitable[None]:
        return self.shards.of(place.key()).submit(
            lambda states, now, _: states.initialize(now, place, state_epoch, start_offset)
        )

    def read(self, place: Place, leader_epoch: int) -> Awaitable[State]:
        return self.shards.of(place.key()).submit(
            lambda states, now, _: states.read(now, place, leader_epoch)
        )

    def summary(self, place: Place) -> State | None:
        state = self.shards.of(place.key()).machine.states.get(place)
        return None if state is None else state.first_undone()

    def write(
        self,
        place: Place,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        complete: int,
        batches: Sequence[Batch],
    ) -> Awaitable[None]:
        return self.shards.of(place.key()).submit(
            lambda states, now, _: states.write(
                now, place, state_epoch, leader_epoch, start_offset, complete, batches
            )
        )

    def delete(self, place: Place) -> Awaitable[None]:
        return self.shards.of(place.key()).submit(lambda states, now, _: states.delete(place))
