"""Who only looks at a group, as tools that show lag and assignments do, often and at any moment."""

from typing import TYPE_CHECKING

from ottla.errors import KafkaError
from ottla.groups.classic.group import ClassicGroup, ClassicGroupState
from ottla.groups.offsets.fetching import NO_OFFSET, fetch
from ottla.simulation.groups.classic_member import given_in
from ottla.simulation.groups.members import GROUP, TOPIC
from ottla.wire.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
)

if TYPE_CHECKING:
    from ottla.simulation.groups.world import GroupWorld

LOOKS_EVERY_S = 0.15


class Onlooker:
    """Asks whoever coordinates by now, also one that was elected a moment ago."""

    def __init__(self, world: "GroupWorld") -> None:
        self._world = world
        self._committed: set[int] = set()  # partitions whose offset must be there
        world.clock.after(LOOKS_EVERY_S, self._look)

    def expect(self, partition: int) -> None:
        self._committed.add(partition)

    def forget(self, partition: int) -> None:
        self._committed.discard(partition)

    def _look(self) -> None:
        self._world.clock.after(LOOKS_EVERY_S, self._look)
        self._look_at_offsets()
        self._look_at_assignments()

    def _look_at_offsets(self) -> None:
        partitions = sorted(self._committed)
        topic = OffsetFetchRequestTopics(name=TOPIC, partition_indexes=partitions)
        request = OffsetFetchRequestGroup(group_id=GROUP, topics=[topic])
        self._world.coordinator.submit(
            lambda groups, _now, _ticket: fetch(groups, request, require_stable=False), self._told
        )

    def _told(self, reply: object) -> None:
        if isinstance(reply, KafkaError):
            return
        assert isinstance(reply, OffsetFetchResponseGroup)
        for partition in reply.topics[0].partitions:
            index = partition.partition_index
            if partition.committed_offset == NO_OFFSET and index in self._committed:
                self._world.fail(f"the offset of {index} was committed, and none is shown")

    def _look_at_assignments(self) -> None:
        group = self._world.group()
        if not isinstance(group, ClassicGroup) or group.state is not ClassicGroupState.STABLE:
            return
        for member_id, given in self._world.given.get(group.generation, {}).items():
            member = group.members.get(member_id)
            if member is not None and given_in(member.assignment) != given:
                self._world.fail(f"{member_id} was given {sorted(given)}, and it is not shown")
