"""The records of a partition that a share group is busy with, and where it goes on. Pure.

Everything below `start_offset` is done, everything from `end_offset` on was never given to
anyone. Between them lie batches, in order. Offsets that no batch has hold no record, unless the
state was read just now: a leader writes down only what was answered, so what lies between may
have been given out and never answered (`gap`).
"""

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator

from ottla.groups.share.delivery import (
    Delivery,
    DeliveryState,
    InFlightBatch,
    StateBatch,
)


class Gap:
    """From `start` to `end` offsets without a batch have to be given out; as long as nothing
    newer was."""

    __slots__ = ("end", "start")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end


class Window:
    def __init__(
        self,
        start_offset: int,
        batches: Iterable[StateBatch] = (),
        *,
        delivery_limit: int = 5,
        locks_max: int = 2_000,
    ) -> None:
        """As it was persisted: what was locked then is free again."""
        self.start_offset = start_offset
        self.end_offset = start_offset
        self.delivery_limit = delivery_limit
        self.locks_max = locks_max
        self.batches: list[InFlightBatch] = []
        self.may_have_available = False
        self._gap: Gap | None = None
        self._earliest: float | None = None  # no lock runs out before
        self._restore(sorted(batches))

    def _restore(self, persisted: list[StateBatch]) -> None:
        gap_start = None
        for first, last, state, deliveries in persisted:
            if gap_start is None and first > self.end_offset:
                gap_start = self.end_offset
            if state is DeliveryState.ACQUIRED:
                state = DeliveryState.AVAILABLE
            self.batches.append(InFlightBatch(first, last, Delivery(state, deliveries)))
            self.end_offset = last + 1
        if self.batches:
            self.may_have_available = True
            if gap_start is not None:
                self._gap = Gap(gap_start, self.end_offset)
            self.advance()

    # -- where to go on -----------------------------------------------------------------------

    @property
    def in_flight_count(self) -> int:
        return self.end_offset - self.start_offset if self.batches else 0

    @property
    def gap(self) -> Gap | None:
        gap = self._gap
        return gap if gap is not None and gap.end == self.end_offset else None

    def close_gap_upto(self, offset: int) -> None:
        gap = self._gap
        if gap is not None:
            if gap.end == self.end_offset and offset < gap.end:
                gap.start = offset
            else:
                self._gap = None

    @property
    def can_acquire(self) -> bool:
        if not self.batches or self.next_fetch_offset != self.end_offset:
            return True
        return self.in_flight_count < self.locks_max

    @property
    def next_fetch_offset(self) -> int:
        """Where to read for someone who wants records."""
        if self.may_have_available:
            found = self._first_available()
            if found is not None:
                return found
            self.may_have_available = False
        return self.end_offset

    def _first_available(self) -> int | None:
        if not self.batches or self.start_offset > self.batches[-1].last:
            return None
        gap = self.gap
        gap_start = gap.start if gap is not None else -1
        for batch in self.batches:
            if gap is not None:
                if batch.first > gap_start:
                    return gap_start
                gap_start = max(batch.last + 1, gap_start)
            for first, _, delivery in batch.runs():
                if delivery.is_available:
                    return first
        return None

    # -- batches ------------------------------------------------------------------------------

    def floor(self, offset: int) -> int:
        """The number of the last batch that begins at `offset` or before; -1: there is none."""
        return bisect_right(self.batches, offset, key=lambda batch: batch.first) - 1

    def from_to(self, first: int, last: int) -> list[InFlightBatch]:
        """Batches that begin in between."""
        return self.batches[self.floor(first - 1) + 1 : self.floor(last) + 1]

    def touching(self, first: int, last: int) -> list[InFlightBatch]:
        found = self.floor(first)
        if found < 0 or self.batches[found].last < first:
            found += 1
        return self.batches[found : self.floor(last) + 1]

    def add(self, batch: InFlightBatch) -> None:
        insort(self.batches, batch, key=lambda batch: batch.first)

    def runs(self) -> Iterator[StateBatch]:
        for batch in self.batches:
            for first, last, delivery in batch.runs():
                yield StateBatch(first, last, delivery.state, delivery.count)

    def complete_count(self) -> int:
        """Records from the start on that are done."""
        return sum(
            last + 1 - max(first, self.start_offset)
            for batch in self.batches
            for first, last, delivery in batch.runs()
            if delivery.is_done and last >= self.start_offset
        )

    # -- locks --------------------------------------------------------------------------------

    def expect(self, deadline: float) -> None:
        if self._earliest is None or deadline < self._earliest:
            self._earliest = deadline

    def deadline(self) -> float | None:
        """When the first lock runs out, or before."""
        return self._earliest

    def look_for_deadline(self) -> None:
        """Not among locks whose answers are being written: those end with that."""
        locks = (
            delivery.deadline
            for batch in self.batches
            for _, _, delivery in batch.runs()
            if delivery.deadline is not None and delivery.before is None
        )
        self._earliest = min(locks, default=None)

    # -- what is done -------------------------------------------------------------------------

    def archive(self, first: int, last: int, *, state: DeliveryState) -> bool:
        """Give up the records in this state: was there any?"""
        found = False
        for batch in self.touching(first, last):
            if batch.whole is not None and batch.whole.state is not state:
                continue
            if batch.whole is None or batch.first < first or batch.last > last:
                batch.split()
                for _, delivery in batch.between(first, last):
                    if delivery.state is state:
                        delivery.archive()
                        found = True
            else:
                batch.whole.archive()
                found = True
        return found

    def log_starts_at(self, offset: int) -> None:
        """Retention took records away: those that nobody holds are done."""
        if offset <= self.start_offset:
            return
        if self.batches and self.archive(
            self.start_offset, offset - 1, state=DeliveryState.AVAILABLE
        ):
            self.may_have_available = True
        self.start_offset = offset
        self.end_offset = max(self.end_offset, offset)

    def advance(self) -> bool:
        """Move the start over what is done."""
        last_done = self._last_done() if self._starts_with_done() else None
        if last_done is None:
            return False
        if last_done == self.batches[-1].last:
            self.start_offset = self.end_offset = last_done + 1
            self.batches.clear()
            return True
        found = self.floor(last_done)
        if last_done == self.batches[found].last:
            self.start_offset = max(self.start_offset, self.batches[found + 1].first)
            if self.gap is not None:
                self.start_offset = min(self.gap.start, self.start_offset)
            found += 1
        else:
            self.start_offset = max(self.start_offset, last_done + 1)
        del self.batches[:found]
        return True

    def _starts_with_done(self) -> bool:
        found = self.floor(self.start_offset)
        if found < 0:
            return False
        batch = self.batches[found]
        return batch.at(min(self.start_offset, batch.last)).is_done

    def _last_done(self) -> int | None:
        found, gap = None, self.gap
        for batch in self.batches:
            if gap is not None and batch.last >= gap.start:
                return found
            for _, last, delivery in batch.runs():
                if delivery.before is not None or not delivery.is_done:
                    return found
                found = last
        return found
