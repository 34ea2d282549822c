"""The records of one partition that a share group is busy with. Pure.

Everything below `start_offset` is done, everything from `end_offset` on was never given to
anyone. Between them lie runs of records in the same state, without gaps. Who takes records holds
a lock on them for a while; records come back when it is released or runs out, until they have
been delivered too often.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple

from ottla.errors import ErrorCode, KafkaError


class DeliveryState(IntEnum):
    """The numbers are those of the persisted state."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4


DONE = (DeliveryState.ACKNOWLEDGED, DeliveryState.ARCHIVED)


class Acknowledge(IntEnum):
    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


class Batch(NamedTuple):
    """A run of records as it is persisted and told to clients."""

    first: int
    last: int
    state: DeliveryState
    deliveries: int


class Acquired(NamedTuple):
    first: int
    last: int
    deliveries: int


class Change(NamedTuple):
    """What has to be persisted before anyone is told."""

    start_offset: int
    batches: Sequence[Batch]
    complete: int  # records beyond the start that are done


class Run:
    __slots__ = ("count", "deadline", "first", "last", "member", "state")

    def __init__(
        self,
        first: int,
        last: int,
        state: DeliveryState,
        count: int,
        member: str = "",
        deadline: float = 0.0,
    ) -> None:
        self.first = first
        self.last = last
        self.state = state
        self.count = count
        self.member = member
        self.deadline = deadline  # of the lock

    def shown(self) -> Batch:
        return Batch(self.first, self.last, self.state, self.count)


class InFlight:
    def __init__(
        self,
        start_offset: int,
        batches: Iterable[Batch] = (),
        *,
        delivery_limit: int = 5,
        locks_max: int = 2_000,
    ) -> None:
        """As it was persisted: what was locked then is free again."""
        self.start_offset = start_offset
        self.delivery_limit = delivery_limit
        self.locks_max = locks_max
        self._runs: list[Run] = []
        for batch in sorted(batches):
            if batch.first > self.end_offset:  # given out, and never answered
                gap = Run(self.end_offset, batch.first - 1, DeliveryState.AVAILABLE, 0)
                self._runs.append(gap)
            state = batch.state
            if state is DeliveryState.ACQUIRED:
                state = DeliveryState.AVAILABLE
            self._runs.append(Run(batch.first, batch.last, state, batch.deliveries))
        self._advance()

    @property
    def end_offset(self) -> int:
        return self._runs[-1].last + 1 if self._runs else self.start_offset

    @property
    def next_fetch_offset(self) -> int | None:
        """Where to read for someone who wants records; None: too many are under way."""
        for run in self._runs:
            if run.state is DeliveryState.AVAILABLE:
                return run.first
        return self.end_offset if self.end_offset - self.start_offset < self.locks_max else None

    def deadline(self) -> float | None:
        """When the first lock runs out."""
        locks = (run.deadline for run in self._runs if run.state is DeliveryState.ACQUIRED)
        return min(locks, default=None)

    def runs(self) -> list[Batch]:
        return [run.shown() for run in self._runs]

    # -- taking -------------------------------------------------------------------------------

    def acquire(
        self,
        member: str,
        batches: Iterable[tuple[int, int]],
        records_max: int,
        deadline: float,
        *,
        read_from: int | None = None,
        whole_batches: bool = True,
    ) -> list[Acquired]:
        """Lock what is free of the batches that were read; new ones whole, unless told.

        Offsets from `read_from` on that no batch has hold no record: nobody will wait for them.
        """
        taken: list[Run] = []
        left = records_max
        for first, last in batches:
            if left <= 0:
                break
            if read_from is not None:
                self._pass_over(read_from, first - 1)
                read_from = last + 1
            known = self._take_known(member, first, last, left, deadline)
            taken += known
            left -= sum(run.last - run.first + 1 for run in known)
            if last >= self.end_offset and left > 0:
                if self.end_offset - self.start_offset >= self.locks_max:
                    break
                until = last if whole_batches else min(last, max(first, self.end_offset) + left - 1)
                run = self._take_new(member, first, until, deadline)
                taken.append(run)
                left -= run.last - run.first + 1
        return _merged(taken)

    def _pass_over(self, first: int, last: int) -> None:
        for run in self._between(max(first, self.start_offset), min(last, self.end_offset - 1)):
            if run.state is DeliveryState.AVAILABLE:
                run.state = DeliveryState.ARCHIVED

    def _take_known(
        self, member: str, first: int, last: int, left: int, deadline: float
    ) -> list[Run]:
        taken = []
        for run in self._between(max(first, self.start_offset), min(last, self.end_offset - 1)):
            if left <= 0:
                break
            if run.state is not DeliveryState.AVAILABLE:
                continue
            if run.last - run.first + 1 > left:
                self._split(run.first + left)
            run.state, run.member, run.deadline = DeliveryState.ACQUIRED, member, deadline
            run.count += 1
            taken.append(run)
            left -= run.last - run.first + 1
        return taken

    def _take_new(self, member: str, first: int, last: int, deadline: float) -> Run:
        self._extend_to(first)
        run = Run(self.end_offset, last, DeliveryState.ACQUIRED, 1, member, deadline)
        self._runs.append(run)
        return run

    # -- answering ----------------------------------------------------------------------------

    def acknowledge(
        self,
        member: str,
        acknowledgements: Iterable[tuple[int, int, Sequence[int]]],
        renewed_until: float,
    ) -> Change:
        """All or nothing: (first, last, one type for all or one for each)."""
        wanted = list(acknowledgements)
        for first, last, types in wanted:
            self._check(member, first, last, types)
        changed: list[Run] = []
        for first, last, types in wanted:
            for start, end, kind in _pieces(first, last, types):
                for run in self._between(max(start, self.start_offset), end):
                    self._settle(run, Acknowledge(kind), renewed_until)
                    if kind != Acknowledge.RENEW:
                        changed.append(run)
        return self._changed(changed)

    def _check(self, member: str, first: int, last: int, types: Sequence[int]) -> None:
        if first > last or not types or len(types) not in (1, last - first + 1):
            raise KafkaError(ErrorCode.INVALID_REQUEST, "The acknowledgement has no shape.")
        if any(kind not in Acknowledge._value2member_map_ for kind in types):
            raise KafkaError(ErrorCode.INVALID_REQUEST, "There is no such acknowledgement.")
        if last >= self.end_offset:
            raise KafkaError(ErrorCode.INVALID_RECORD_STATE, "The records were never given out.")
        for run in self._overlapping(max(first, self.start_offset), last):
            if run.state is not DeliveryState.ACQUIRED or run.member != member:
                raise KafkaError(
                    ErrorCode.INVALID_RECORD_STATE,
                    f"The records {run.first} to {run.last} are not locked by this member.",
                )

    def _settle(self, run: Run, kind: Acknowledge, renewed_until: float) -> None:
        match kind:
            case Acknowledge.ACCEPT:
                run.state = DeliveryState.ACKNOWLEDGED
            case Acknowledge.RELEASE:
                self._give_back(run)
            case Acknowledge.RENEW:
                run.deadline = renewed_until
                return
            case _:
                run.state = DeliveryState.ARCHIVED
        run.member = ""

    def _give_back(self, run: Run) -> None:
        spent = run.count >= self.delivery_limit
        run.state = DeliveryState.ARCHIVED if spent else DeliveryState.AVAILABLE
        run.member = ""

    def release(self, member: str) -> Change:
        """A member is gone: others may have what it had."""
        mine = [
            run
            for run in self._runs
            if run.state is DeliveryState.ACQUIRED and run.member == member
        ]
        for run in mine:
            self._give_back(run)
        return self._changed(mine)

    def tick(self, now: float) -> Change:
        """Locks that ran out."""
        late = [
            run for run in self._runs if run.state is DeliveryState.ACQUIRED and run.deadline <= now
        ]
        for run in late:
            self._give_back(run)
        return self._changed(late)

    def archive(self, batches: Iterable[tuple[int, int]]) -> Change:
        """Records that nobody may see (of aborted transactions): done without being given."""
        changed = []
        for first, last in batches:
            self._extend_to(first)
            if last >= self.end_offset:
                self._runs.append(Run(self.end_offset, last, DeliveryState.ARCHIVED, 0))
                changed.append(self._runs[-1])
            for run in self._between(max(first, self.start_offset), last):
                if run.state is DeliveryState.AVAILABLE:
                    run.state = DeliveryState.ARCHIVED
                    changed.append(run)
        return self._changed(changed)

    def log_starts_at(self, offset: int) -> Change:
        """Retention took records away: they are done."""
        if offset <= self.start_offset:
            return self._changed([])
        if offset >= self.end_offset:
            self._runs.clear()
            self.start_offset = offset
        else:
            self._split(offset)
            self._runs = [run for run in self._runs if run.first >= offset]
            self.start_offset = offset
        return Change(self.start_offset, (), self._complete())

    # -- runs ---------------------------------------------------------------------------------

    def _changed(self, runs: Iterable[Run]) -> Change:
        batches = sorted(run.shown() for run in runs)
        self._advance()
        kept = [batch for batch in batches if batch.last >= self.start_offset]
        return Change(self.start_offset, kept, self._complete())

    def _complete(self) -> int:
        return sum(run.last - run.first + 1 for run in self._runs if run.state in DONE)

    def _advance(self) -> None:
        done = 0
        while done < len(self._runs) and self._runs[done].state in DONE:
            self.start_offset = self._runs[done].last + 1
            done += 1
        del self._runs[:done]

    def _extend_to(self, offset: int) -> None:
        """Offsets that no record has lie between: they are done."""
        if offset > self.end_offset:
            self._runs.append(Run(self.end_offset, offset - 1, DeliveryState.ARCHIVED, 0))

    def _index(self, offset: int) -> int:
        return bisect_right(self._runs, offset, key=lambda run: run.first) - 1

    def _split(self, offset: int) -> None:
        """Let a run begin at `offset`."""
        at = self._index(offset)
        if at < 0:
            return
        run = self._runs[at]
        if run.first < offset <= run.last:
            rest = Run(offset, run.last, run.state, run.count, run.member, run.deadline)
            run.last = offset - 1
            self._runs.insert(at + 1, rest)

    def _between(self, first: int, last: int) -> list[Run]:
        """The runs of exactly these offsets."""
        if first > last:
            return []
        self._split(first)
        self._split(last + 1)
        return self._overlapping(first, last)

    def _overlapping(self, first: int, last: int) -> list[Run]:
        at = max(self._index(first), 0)
        found = []
        while at < len(self._runs) and self._runs[at].first <= last:
            if self._runs[at].last >= first:
                found.append(self._runs[at])
            at += 1
        return found


def _pieces(first: int, last: int, types: Sequence[int]) -> Iterable[tuple[int, int, int]]:
    if len(types) == 1:
        yield first, last, types[0]
        return
    start = first
    for offset in range(first, last + 1):
        if offset == last or types[offset + 1 - first] != types[offset - first]:
            yield start, offset, types[offset - first]
            start = offset + 1


def _merged(runs: list[Run]) -> list[Acquired]:
    merged: list[Acquired] = []
    for run in sorted(runs, key=lambda run: run.first):
        before = merged[-1] if merged else None
        if before is not None and before.last + 1 == run.first and before.deliveries == run.count:
            merged[-1] = before._replace(last=run.last)
        else:
            merged.append(Acquired(run.first, run.last, run.count))
    return merged
