"""An event loop of asyncio in virtual time: drivers run as they are, and waiting takes no time."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from heapq import heappop, heappush
from itertools import count
from typing import Any, TypeVar

T = TypeVar("T")


class Stuck(AssertionError):
    """Everybody waits, and nothing is left that could wake anyone."""


class VirtualLoop(asyncio.BaseEventLoop):
    """There are no sockets: to wait is to move the clock."""

    _ready: "deque[asyncio.Handle]"

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self._agenda: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._order = count()  # of two things at the same moment the first planned comes first

    def time(self) -> float:
        return self.now

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heappush(self._agenda, (when, next(self._order), timer))
        return timer

    def _run_once(self) -> None:
        """As asyncio's own, without the sockets, which are most of its cost."""
        ready, agenda = self._ready, self._agenda
        while agenda and agenda[0][2].cancelled():
            heappop(agenda)
        if not ready:
            if not agenda:
                raise Stuck("nothing is left to wait for")
            self.now = max(self.now, agenda[0][0])
        while agenda and agenda[0][0] <= self.now:
            ready.append(heappop(agenda)[2])
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle.cancelled():
                handle._run()

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Any, *args: Any
    ) -> "asyncio.Future[Any]":
        """One thread tells one story."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def _write_to_self(self) -> None:
        """No other thread ever wakes this loop."""


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end; what is still running then is cancelled."""
    loop = VirtualLoop()
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(main)
    finally:
        while left := asyncio.all_tasks(loop):
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        asyncio.set_event_loop(None)
        loop.close()
