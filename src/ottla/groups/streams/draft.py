"""A decision in the making: what it writes is seen by its own next step, and by nobody else."""

from ottla.coordination.machine import CoordinatorRecord
from ottla.groups.streams import records
from ottla.groups.streams.group import StreamsGroup


class StreamsGroupDraft:
    """A copy of a group with the records that lead there."""

    __slots__ = ("group", "records")

    def __init__(self, group: StreamsGroup) -> None:
        self.group = group.copy()
        self.records: list[CoordinatorRecord] = []

    def write(self, *entries: CoordinatorRecord) -> None:
        for entry in entries:
            records.apply(self.group, *entry)
            self.records.append(entry)
