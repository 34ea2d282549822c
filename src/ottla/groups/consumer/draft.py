"""A decision in the making: what it writes is seen by its own next step, and by nobody else."""

from collections.abc import Iterable

from ottla.coordination.machine import CoordinatorRecord
from ottla.groups.consumer import records
from ottla.groups.consumer.group import ConsumerGroup, ConsumerGroupMember


class ConsumerGroupDraft:
    """A copy of a group with the records that lead there."""

    __slots__ = ("group", "records")

    def __init__(self, group: ConsumerGroup) -> None:
        self.group = group.copy()
        self.records: list[CoordinatorRecord] = []

    def write(self, *entries: CoordinatorRecord) -> None:
        for entry in entries:
            records.apply(self.group, *entry)
            self.records.append(entry)

    def write_all(self, entries: Iterable[CoordinatorRecord]) -> None:
        self.write(*entries)

    def member(self, member_id: str) -> ConsumerGroupMember:
        return self.group.members[member_id]
