"""Virtual time: things happen in the order of their moments, and nothing takes time by itself."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count


class Clock:
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
