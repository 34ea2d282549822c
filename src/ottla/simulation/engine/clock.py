"""Virtual time: things happen in the order of their moments, and nothing takes time by itself."""

import asyncio
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Protocol


class Agenda(Protocol):
    """Where things that happen later are noted."""

    @property
    def now(self) -> float: ...

    def at(self, moment: float, action: Callable[[], None]) -> None: ...

    def after(self, delay: float, action: Callable[[], None]) -> None: ...


class LoopClock:
    """The time of the event loop that runs, which is a virtual one."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    @property
    def now(self) -> float:
        return self._loop.time()

    def at(self, moment: float, action: Callable[[], None]) -> None:
        self._loop.call_at(moment, action)

    def after(self, delay: float, action: Callable[[], None]) -> None:
        self._loop.call_later(delay, action)


class VirtualClock:
    def __init__(self) -> None:
        self.now = 0.0
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()  # of two things at the same moment the first planned comes first

    def at(self, moment: float, action: Callable[[], None]) -> None:
        heappush(self._agenda, (max(moment, self.now), next(self._order), action))

    def after(self, delay: float, action: Callable[[], None]) -> None:
        self.at(self.now + delay, action)

    def run_until(self, end: float) -> None:
        while self._agenda and self._agenda[0][0] <= end:
            self.now, _, action = heappop(self._agenda)
            action()
        self.now = end
