"""How far the delivery of records is: of a run of them, or of one. Pure.

A change that has to be written down first is begun with `begin` and ended with `finish`; until
then nobody takes the records, and if it could not be written everything is as before.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple


class DeliveryState(IntEnum):
    """The numbers are those of the persisted state."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4


DONE = (DeliveryState.ACKNOWLEDGED, DeliveryState.ARCHIVED)
NOBODY = ""


class StateBatch(NamedTuple):
    """A run of records as it is persisted."""

    first: int
    last: int
    state: DeliveryState
    deliveries: int


class Acquired(NamedTuple):
    """A run of records as a member is told of it."""

    first: int
    last: int
    deliveries: int


class Delivery:
    __slots__ = ("before", "count", "deadline", "is_final", "member", "state")

    def __init__(
        self,
        state: DeliveryState,
        count: int,
        member: str = NOBODY,
        deadline: float | None = None,
    ) -> None:
        self.state = state
        self.count = count
        self.member = member
        self.deadline = deadline  # of the lock
        self.before: tuple[DeliveryState, str] | None = None  # while a change is written down
        self.is_final = False  # whatever becomes of the change

    @property
    def is_available(self) -> bool:
        return self.state is DeliveryState.AVAILABLE and self.before is None

    @property
    def is_done(self) -> bool:
        return self.state in DONE

    def copy(self) -> "Delivery":
        return Delivery(self.state, self.count, self.member, self.deadline)

    def acquire(self, member: str, deadline: float) -> None:
        self.state, self.member, self.deadline = DeliveryState.ACQUIRED, member, deadline
        self.count += 1

    def give_back(self, limit: int, *, is_gone: bool = False) -> None:
        """For others, unless it was delivered too often, or the record `is_gone` from the log."""
        spent = is_gone or self.count >= limit
        self.state = DeliveryState.ARCHIVED if spent else DeliveryState.AVAILABLE
        self.member = NOBODY
        self.deadline = None

    def begin(self, state: DeliveryState, limit: int) -> None:
        self.before = (self.state, self.member)
        if state is DeliveryState.AVAILABLE and self.count >= limit:
            state = DeliveryState.ARCHIVED
        self.state, self.member = state, NOBODY

    def finish(self, is_written: bool, limit: int, now: float) -> None:
        if self.before is None:
            return
        state, member = self.before
        self.before = None
        if is_written or self.is_final:
            self.deadline = None
        elif self.deadline is not None and self.deadline <= now:
            self.give_back(limit)  # the lock ran out meanwhile
        else:
            self.state, self.member = state, member

    def archive(self) -> None:
        self.is_final = True
        self.state, self.member, self.deadline = DeliveryState.ARCHIVED, NOBODY, None


class InFlightBatch:
    """Records that were given out together. They share one state for as long as they can."""

    __slots__ = ("first", "last", "offsets", "whole")

    def __init__(self, first: int, last: int, delivery: Delivery) -> None:
        self.first = first
        self.last = last
        self.whole: Delivery | None = delivery
        self.offsets: list[Delivery] = []  # one for each, when they do not share one

    def __len__(self) -> int:
        return self.last - self.first + 1

    def split(self, taken_upto: int | None = None) -> None:
        """Each record has its own state from now on; those after `taken_upto` were not taken."""
        whole = self.whole
        if whole is None:
            return
        self.offsets = [whole.copy() for _ in range(len(self))]
        self.whole = None
        for delivery in self.offsets[len(self) if taken_upto is None else taken_upto + 1 :]:
            delivery.state, delivery.member = DeliveryState.AVAILABLE, NOBODY
            delivery.deadline = None
            delivery.count -= 1

    def at(self, offset: int) -> Delivery:
        return self.whole if self.whole is not None else self.offsets[offset - self.first]

    def between(self, first: int, last: int) -> Iterable[tuple[int, Delivery]]:
        """Of a batch that is split: its records from `first` to `last`."""
        start = max(first, self.first)
        return enumerate(self.offsets[start - self.first : last + 1 - self.first], start)

    def runs(self) -> Iterable[tuple[int, int, Delivery]]:
        if self.whole is not None:
            yield self.first, self.last, self.whole
        else:
            for offset, delivery in enumerate(self.offsets, self.first):
                yield offset, offset, delivery


def joined(batches: Iterable[StateBatch]) -> list[StateBatch]:
    """Neighbours in the same state are one."""
    runs: list[StateBatch] = []
    for batch in sorted(batches):
        before = runs[-1] if runs else None
        if before is not None and before.last + 1 == batch.first and before[2:] == batch[2:]:
            runs[-1] = before._replace(last=batch.last)
        else:
            runs.append(batch)
    return runs


class StateChange(NamedTuple):
    """What has to be persisted before anyone is told; `InFlight.complete` ends it."""

    start_offset: int
    batches: Sequence[StateBatch]
    complete: int  # records from the start on that are done
    begun: Sequence[Delivery] = ()
