"""Deadlines by name, cheap to push back: a heartbeat does it thousands of times a second. Pure."""

from collections.abc import Hashable
from heapq import heappop, heappush
from itertools import count
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Timers(Generic[K]):
    """A later deadline for a known name only overwrites a number; the heap finds out lazily."""

    def __init__(self) -> None:
        self._deadlines: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._queued: dict[K, float] = {}  # the entry of the heap that counts for a name
        self._order = count()  # names need not be comparable

    def __contains__(self, name: K) -> bool:
        return name in self._deadlines

    def __len__(self) -> int:
        return len(self._deadlines)

    def get(self, name: K) -> float | None:
        return self._deadlines.get(name)

    def set(self, name: K, deadline: float) -> None:
        self._deadlines[name] = deadline
        queued = self._queued.get(name)
        if queued is None or deadline < queued:
            self._push(name, deadline)

    def cancel(self, name: K) -> None:
        self._deadlines.pop(name, None)

    def next(self) -> float | None:
        """A time at which `due` should be asked; it may find nothing then, never too late."""
        return self._heap[0][0] if self._heap else None

    def due(self, now: float) -> list[K]:
        """The names whose deadline has come, each once; they are forgotten."""
        names: list[K] = []
        while (name := self.pop_due(now)) is not None:
            names.append(name)
        return names

    def pop_due(self, now: float) -> K | None:
        """One name whose deadline has come; it is forgotten."""
        heap = self._heap
        while heap and heap[0][0] <= now:
            queued, _, name = heappop(heap)
            if self._queued.get(name) != queued:
                continue  # superseded by an earlier entry
            del self._queued[name]
            deadline = self._deadlines.get(name)
            if deadline is None:
                continue
            if deadline > now:
                self._push(name, deadline)
                continue
            del self._deadlines[name]
            return name
        return None

    def _push(self, name: K, deadline: float) -> None:
        self._queued[name] = deadline
        heappush(self._heap, (deadline, next(self._order), name))
