"""What both loops in virtual time know of asyncio: tasks, timers and futures, in order of time.

Whose steps they are, and how time passes, is `virtual_loop`'s and `host_loop`'s.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context
from itertools import count
from typing import Any


class Planned(list[Any]):
    """What is to be done, at once or at a moment: asyncio's handles, as far as they are used.

    When, in which order among those of a moment, in which context, what, with what, and whatever a
    loop adds: a list, because it is made and compared twenty thousand times in a run, and lists do
    that by themselves.
    """

    __slots__ = ()

    def cancel(self) -> None:
        self[3] = None

    def cancelled(self) -> bool:
        return self[3] is None

    def when(self) -> float:
        when: float = self[0]
        return when


class PlannedLoop(asyncio.AbstractEventLoop):
    """To wait is to move the clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self._ready: deque[Planned] = deque()
        self._agenda: list[Planned] = []
        self._order = count()  # of two things at the same moment the first planned comes first
        self._closed = False

    def time(self) -> float:
        return self.now

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> Planned:
        planned: Planned = self.call_at(self.now + delay, callback, *args, context=context)  # type: ignore[assignment]
        return planned

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    get_debug = staticmethod(bool)  # never; each future and task asks, and needs no call for it

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._closed = True
        self._ready.clear()
        self._agenda.clear()
