"""The newest batches of every log, kept in memory for readers at the head.

One byte budget for all logs: what was appended first leaves first, whichever log it is in, and what
is old leaves though there is room: who still reads it is not at the head. Of large batches only the
position is kept; reading them from the page cache costs little more.
"""

from bisect import bisect_right
from collections import deque
from typing import NamedTuple

LARGEST_KEPT = 32 * 1024
STALE_MIN = 10_000
AGES = 6  # calls of `age` that a batch sees before it is old
DROPPED_AT_ONCE = 2_000  # of them: the event loop waits for it
_BOOKKEEPING = 200  # bytes that an entry costs beside its data


class Found(NamedTuple):
    """Whole batches: their bytes if all were kept, where they lie in the segment, and the offset
    after the last."""

    data: bytes | None
    start: int
    stop: int
    end_offset: int


class TailCache:
    def __init__(self, budget: int = 32 * 1024 * 1024) -> None:
        self.budget = budget
        self.size = 0
        self._order: deque[Tail] = deque()  # one entry for each batch, and some that are stale
        self._stale = 0
        self._appended = 0  # entries ever: those before the first in order are gone
        self._ages: deque[int] = deque()  # how many there were at the last calls of `age`

    def make_room(self, tail: "Tail", cost: int) -> None:
        self._order.append(tail)
        self._appended += 1
        self.size += cost
        while self.size > self.budget and self._order:
            self._order.popleft().drop_oldest()

    def age(self) -> int:
        """Time has passed: let go of what is old; how many bytes that was."""
        before = self.size
        self._ages.append(self._appended)
        if len(self._ages) > AGES:
            old = self._ages.popleft() - (self._appended - len(self._order))
            for _ in range(min(old, DROPPED_AT_ONCE)):
                self._order.popleft().drop_oldest()
        return before - self.size

    def cleared(self, count: int) -> None:
        """So many batches of a tail are gone: where they stood in the order is forgotten once
        most of it is that."""
        self._stale += count
        if self._stale > STALE_MIN and 2 * self._stale > len(self._order):
            left: dict[Tail, int] = {}
            kept: deque[Tail] = deque()
            for tail in reversed(self._order):
                count = left.get(tail, tail.count)
                if count:
                    kept.appendleft(tail)
                    left[tail] = count - 1
            self._order, self._stale = kept, 0
            self._ages.clear()  # which of them are old is found out anew


class Tail:
    """The tail of one segment: consecutive batches up to its end."""

    __slots__ = (
        "_cache",
        "_data",
        "_dropped",
        "_ends",
        "_large",
        "_stops",
        "start",
        "start_offset",
    )

    def __init__(self, cache: TailCache, start_offset: int, start: int) -> None:
        self._cache = cache
        self._ends: list[int] = []  # offset after each batch
        self._stops: list[int] = []  # position after each batch
        self._data: list[bytes | None] = []
        self._dropped = 0  # entries at the front of the lists that are gone
        self._large = 0  # entries without data
        self.start_offset = start_offset
        self.start = start

    def add(self, end_offset: int, stop: int, data: bytes | None) -> None:
        self._ends.append(end_offset)
        self._stops.append(stop)
        self._data.append(data)
        if data is None:
            self._large += 1
            self._cache.make_room(self, _BOOKKEEPING)
        else:
            self._cache.make_room(self, _BOOKKEEPING + len(data))

    def drop_oldest(self) -> None:
        n = self._dropped
        if n == len(self._ends):  # was cleared meanwhile
            return
        data = self._data[n]
        if data is None:
            self._large -= 1
            self._cache.size -= _BOOKKEEPING
        else:
            self._cache.size -= _BOOKKEEPING + len(data)
            self._data[n] = None
        self.start_offset, self.start = self._ends[n], self._stops[n]
        self._dropped = n + 1
        if n > 1000 and n * 2 > len(self._ends):
            del self._ends[: n + 1], self._stops[: n + 1], self._data[: n + 1]
            self._dropped = 0

    @property
    def count(self) -> int:
        return len(self._ends) - self._dropped

    def clear(self, start_offset: int, start: int) -> None:
        count = self.count
        for data in self._data[self._dropped :]:
            self._cache.size -= _BOOKKEEPING + (len(data) if data else 0)
        self._ends, self._stops, self._data, self._dropped, self._large = [], [], [], 0, 0
        self.start_offset, self.start = start_offset, start
        self._cache.cleared(count)

    def find(self, offset: int, bytes_max: int, upto: int, at_least_one: bool) -> Found | None:
        """Batches from the one with `offset` on that end by `upto`; None if it is not here."""
        if offset < self.start_offset:
            return None
        ends, stops, low = self._ends, self._stops, self._dropped
        first = bisect_right(ends, offset, low)
        if first == len(ends):
            return None
        start = stops[first - 1] if first > low else self.start
        last = bisect_right(stops, start + bytes_max, first)
        if upto < ends[-1]:
            last = min(last, bisect_right(ends, upto, first))
        if last == first:
            if not at_least_one or ends[first] > upto:
                return Found(b"", start, start, offset)
            last = first + 1
        kept = self._data[first:last]
        data = kept[0]
        if last - first > 1:
            whole = not self._large or None not in kept
            data = b"".join(kept) if whole else None  # type: ignore[arg-type]
        return Found(data, start, stops[last - 1], ends[last - 1])

    def position_of(self, offset: int) -> int | None:
        """Where the batch with `offset` begins."""
        if offset < self.start_offset:
            return None
        at = bisect_right(self._ends, offset, self._dropped)
        if at == len(self._ends):
            return None
        return self._stops[at - 1] if at > self._dropped else self.start
