"""Who takes records of a window, and how many.

New records are locked in whole batches of the log, records that came back in what is left of the
batches they were given out in. Near the delivery limit fewer are given out together, in the end
one at a time: a record that nobody can process does not take its neighbours with it.
"""

from collections.abc import Iterable, Sequence
from math import ceil
from typing import NamedTuple

from ottla.groups.share.delivery import (
    Acquired,
    Delivery,
    DeliveryState,
    InFlightBatch,
)
from ottla.groups.share.window import Window

ISOLATION_LIMIT_MIN = 2

Span = tuple[int, int]
"""First and last offset of a batch that was read."""


class Taking(NamedTuple):
    """What a member asks for."""

    member: str
    records_max: int
    deadline: float  # of the locks
    batch_size: int = 500  # so many records at least in what is told as one
    is_record_limit: bool = False  # `records_max` is not exceeded for whole batches


def acquire(
    window: Window, taking: Taking, fetch_offset: int, read: Sequence[Span]
) -> list[Acquired]:
    """Lock what is free of the batches that were read from `fetch_offset` on."""
    if taking.records_max <= 0 or not read or read[-1][1] < window.start_offset:
        return []
    last, left = _bounds(window, fetch_offset, taking.records_max, read[-1][1])
    if left <= 0:
        return []
    first = read[0][0]
    if fetch_offset < first and window.archive(
        fetch_offset, first - 1, state=DeliveryState.AVAILABLE
    ):
        window.may_have_available = True  # compaction took them away
    acquisition = _Acquisition(window, taking, read, last, left)
    acquisition.run()
    return acquisition.acquired


def _bounds(window: Window, fetch_offset: int, records_max: int, last: int) -> tuple[int, int]:
    """Up to where, and how many: what came back may be taken even if too much is in flight."""
    left = min(records_max, window.locks_max - window.in_flight_count)
    if left <= 0 and fetch_offset < window.end_offset:
        left = min(records_max, window.end_offset - fetch_offset)
        last = min(last, window.end_offset - 1)
    return last, left


def isolation_limit(delivery_limit: int) -> int:
    """Records delivered so often are given out in smaller and smaller parts."""
    return max(ISOLATION_LIMIT_MIN, ceil(delivery_limit / 2))


class _Acquisition:
    def __init__(
        self, window: Window, taking: Taking, read: Sequence[Span], last: int, left: int
    ) -> None:
        self._window = window
        self._taking = taking
        self._read = read
        self._first = read[0][0]
        self._last = last
        self._left = left
        self._isolation_limit = isolation_limit(window.delivery_limit)
        self.acquired: list[Acquired] = []

    def run(self) -> None:
        window = self._window
        begin = self._begin()
        known = window.from_to(min(self._first, begin), self._last)
        if not known:
            self._take_new(begin, self._last)
            return
        after_known = known[-1].last + 1
        for batch in known:
            if self._left <= 0:
                break
            if window.gap is not None:
                if begin < batch.first:
                    self._take_new(begin, batch.first - 1)
                begin = batch.last + 1
                if self._left <= 0:
                    break
            self._take_known(batch)
        if self._left > 0 and after_known <= self._last:
            self._take_new(after_known, self._last)
        if self.acquired:
            window.close_gap_upto(self.acquired[-1].last + 1)

    def _begin(self) -> int:
        """Where the batch begins in which the first one that was read lies."""
        window = self._window
        found = window.floor(self._first)
        if found < 0:
            return max(self._first, window.start_offset)
        batch = window.batches[found]
        return batch.first if batch.last >= self._first else self._first

    def _note(self, acquired: Iterable[Acquired]) -> None:
        for one in acquired:
            self.acquired.append(one)
            self._left -= one.last - one.first + 1

    # -- records that came back ---------------------------------------------------------------

    def _take_known(self, batch: InFlightBatch) -> None:
        is_isolated = self._is_isolated(batch)
        if is_isolated and self.acquired:
            self._left = 0  # for a request of its own
            return
        whole = batch.whole
        if whole is not None:
            if not whole.is_available:
                return
            is_part = batch.first < self._first or batch.last > self._last
            is_part |= self._taking.is_record_limit and len(batch) > self._left
            if not is_part and not is_isolated:
                whole.acquire(self._taking.member, self._taking.deadline)
                self._window.expect(self._taking.deadline)
                self._note([Acquired(batch.first, batch.last, whole.count)])
                return
            batch.split()
        taken = self._take_some(batch)
        self._note(taken)
        if is_isolated and taken:
            self._left = 0

    def _is_isolated(self, batch: InFlightBatch) -> bool:
        if batch.whole is not None:
            return batch.whole.is_available and batch.whole.count >= self._isolation_limit
        return any(
            delivery.is_available and delivery.count >= self._isolation_limit
            for _, delivery in batch.between(self._first, self._last)
        )

    def _take_some(self, batch: InFlightBatch) -> list[Acquired]:
        taking, limit = self._taking, self._window.delivery_limit
        taken: list[tuple[int, int]] = []
        taken_max = self._left if taking.is_record_limit else None
        part_max: int | None = None
        for offset, delivery in batch.between(self._first, self._last):
            if not delivery.is_available:
                continue
            is_last_chance = limit > ISOLATION_LIMIT_MIN and delivery.count == limit - 1
            if is_last_chance and taken:
                break
            if part_max is None and delivery.count >= self._isolation_limit:
                part_max = max(1, len(batch) >> (delivery.count - self._isolation_limit + 1))
            delivery.acquire(taking.member, taking.deadline)
            taken.append((offset, delivery.count))
            if is_last_chance or len(taken) in (taken_max, part_max):
                break
        if taken:
            self._window.expect(taking.deadline)
        return _told(taken)

    # -- new ones -----------------------------------------------------------------------------

    def _take_new(self, first: int, last: int) -> None:
        window, taking, left = self._window, self._taking, self._left
        if not window.batches:
            first = max(first, window.end_offset)
        until = last
        if left < last - first + 1:
            until = self._end_of_batch(first + left - 1)
            if window.gap is not None:
                until = min(until, last)
        if taking.is_record_limit and until - first + 1 > left:
            acquired = [self._take_part(first, until, left)]
        else:
            acquired = [Acquired(*span, 1) for span in self._told_batches(first, until)]
            for one in acquired:
                window.add(InFlightBatch(one.first, one.last, self._taken()))
        window.expect(taking.deadline)
        if window.batches[0].first == first:
            window.start_offset = first
        window.end_offset = max(window.end_offset, until + 1)
        window.close_gap_upto(acquired[-1].last + 1)
        self._note(acquired)

    def _taken(self) -> Delivery:
        return Delivery(DeliveryState.ACQUIRED, 1, self._taking.member, self._taking.deadline)

    def _take_part(self, first: int, last: int, count: int) -> Acquired:
        """Some records of a batch of the log; the others wait for the next who comes."""
        batch = InFlightBatch(first, last, self._taken())
        batch.split(taken_upto=count - 1)
        self._window.may_have_available = True
        self._window.add(batch)
        return Acquired(first, first + count - 1, 1)

    def _end_of_batch(self, offset: int) -> int:
        return next((last for first, last in self._read if first <= offset <= last), offset)

    def _told_batches(self, first: int, last: int) -> list[Span]:
        """In parts of so many records as the member wants at once, or more."""
        size = max(self._taking.batch_size, 1)
        if self._taking.is_record_limit or last - first + 1 <= size:
            return [(first, last)]
        spans: list[Span] = []
        for base, _ in self._read:
            if base > last:
                break
            if base - first >= size:
                spans.append((first, base - 1))
                first = base
        return [*spans, (first, last)]


def _told(taken: Sequence[tuple[int, int]]) -> list[Acquired]:
    runs: list[Acquired] = []
    for offset, count in taken:
        before = runs[-1] if runs else None
        if before is not None and before.last + 1 == offset and before.deliveries == count:
            runs[-1] = before._replace(last=offset)
        else:
            runs.append(Acquired(offset, offset, count))
    return runs


def without(acquired: Iterable[Acquired], hidden: Iterable[Span]) -> list[Acquired]:
    """What is left of what was taken when some of it must not be seen."""
    left = list(acquired)
    for first, last in hidden:
        parts: list[Acquired] = []
        for one in left:
            if one.last < first or one.first > last:
                parts.append(one)
                continue
            if one.first < first:
                parts.append(one._replace(last=first - 1))
            if one.last > last:
                parts.append(one._replace(first=last + 1))
        left = parts
    return left
