"""An event loop of asyncio in virtual time: drivers run as they are, and waiting takes no time.

Of asyncio's own loop it has what tasks, timers and futures ask for: there are neither sockets nor
other threads. `engine.host_loop` is the one for whole nodes.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from heapq import heappop, heappush
from typing import Any, TypeVar

from ottla.simulation.engine.planned import Planned, PlannedLoop

T = TypeVar("T")

ExceptionHandler = Callable[[Any, dict[str, Any]], object]

_log = logging.getLogger(__name__)


class Stuck(AssertionError):
    """Everybody waits, and nothing is left that could wake anyone."""


class VirtualLoop(PlannedLoop):
    def __init__(self) -> None:
        super().__init__()
        self._handler: ExceptionHandler | None = None

    # --- the course of time

    def run_until_complete(self, future: Any) -> Any:
        ended: list[object] = []
        work = asyncio.ensure_future(future, loop=self)
        work.add_done_callback(ended.append)
        asyncio._set_running_loop(self)
        try:
            while not ended:
                self._run_once()
        finally:
            asyncio._set_running_loop(None)
        return work.result()

    def _run_once(self) -> None:
        """Whatever is to be done now, or at the next moment at which something is."""
        ready, agenda = self._ready, self._agenda
        while agenda and agenda[0][3] is None:
            heappop(agenda)
        if not ready:
            if not agenda:
                raise Stuck("nothing is left to wait for")
            self.now = max(self.now, agenda[0][0])
        now = self.now
        while agenda and agenda[0][0] <= now:
            ready.append(heappop(agenda))
        for _ in range(len(ready)):
            _, _, context, callback, args = ready.popleft()
            if callback is None:
                continue
            try:
                context.run(callback, *args)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                message = f"{callback} failed"
                self.call_exception_handler({"message": message, "exception": error})

    # --- what asyncio needs of a loop

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Planned:
        planned = Planned((self.now, 0, context or copy_context(), callback, args))
        self._ready.append(planned)
        return planned

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> Planned:
        planned = Planned((when, next(self._order), context or copy_context(), callback, args))
        heappush(self._agenda, planned)
        return planned

    def create_task(
        self, coro: Coroutine[Any, Any, T] | Generator[Any, None, T], **options: Any
    ) -> "asyncio.Task[T]":
        return asyncio.Task(coro, loop=self, **options)

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

    def set_exception_handler(self, handler: ExceptionHandler | None) -> None:
        self._handler = handler

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if self._handler is not None:
            self._handler(self, context)
        else:
            _log.error(context["message"], exc_info=context.get("exception"))


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end; what is still running then is cancelled."""
    loop = VirtualLoop()  # type: ignore[abstract]  # it has what drivers use
    asyncio.set_event_loop(loop)
    try:
        result: T = loop.run_until_complete(main)
        return result
    finally:
        while left := asyncio.all_tasks(loop):
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        asyncio.set_event_loop(None)
        loop.close()
