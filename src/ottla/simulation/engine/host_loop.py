"""An event loop in virtual time: asyncio's own tasks, timers and futures, and nothing of the OS.

Real nodes run on it unchanged. Time passes only when nothing is left to do now, plus a microsecond
for each step, so that nobody can wait for ever in a moment that does not pass. Sockets are
`simulation.sockets`, threads are delays: a job is done, whole, at the moment it ends.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from heapq import heappop, heappush
from random import Random
from typing import Any, TypeVar

from ottla.simulation.engine.hosts import ENVIRONMENT, PROCESS, Process
from ottla.simulation.engine.planned import Planned, PlannedLoop
from ottla.simulation.engine.sockets import Connector, Listening

T = TypeVar("T")
STEP_S = 1e-6
THREAD_S = 0.001
TASKS_MAX = 4000


class HostLoop(PlannedLoop):
    def __init__(self, rng: Random, failed: Callable[[dict[str, Any]], None]) -> None:
        super().__init__()
        self.steps = 0
        self.failure: BaseException | None = None  # with which all ends after the step it was in
        self.sockets = Connector(self, rng)
        self._rng = rng
        self._failed = failed
        self._tasks: list[asyncio.Task[Any]] = []

    # --- the course of time

    def run_until(self, end: float) -> None:
        """Let everything happen that happens before `end`."""
        asyncio._set_running_loop(self)
        try:
            self._run_until(end)
        finally:
            asyncio._set_running_loop(None)
        self.now = max(self.now, end)

    def _run_until(self, end: float) -> None:
        """A hot path: most of what a simulation costs is steps that are small."""
        agenda, ready = self._agenda, self._ready
        while True:
            if not ready:
                if not agenda or agenda[0][0] > end:
                    return
                if agenda[0][0] > self.now:
                    self.now = agenda[0][0]
            while agenda and agenda[0][0] <= self.now:
                ready.append(heappop(agenda))
            step = ready.popleft()
            _, _, context, callback, args, process = step
            if callback is None or not process.alive:
                continue
            if process.paused:
                process.held.append(step)
                continue
            self.now += STEP_S
            self.steps += 1
            try:
                context.run(callback, *args)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                self._failed({"message": f"{callback} failed", "exception": error})
            if process.after_step is not None:
                process.after_step()
            if self.failure is not None:
                raise self.failure

    def resume(self, process: Process) -> None:
        """As by SIGCONT: what came meanwhile is done now."""
        process.paused = False
        held, process.held = process.held, []
        for step in held:
            assert isinstance(step, Planned)
            self._ready.append(step)

    # --- what asyncio needs of a loop

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Planned:
        if context is None:
            step = Planned((self.now, 0, copy_context(), callback, args, PROCESS.get()))
        else:
            process = context.get(PROCESS, ENVIRONMENT)
            step = Planned((self.now, 0, context, callback, args, process))
        if not self._closed:  # by then nothing is planned, by whatever is still being taken apart
            self._ready.append(step)
        return step

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> Planned:
        order = next(self._order)
        if context is None:
            step = Planned((when, order, copy_context(), callback, args, PROCESS.get()))
        else:
            process = context.get(PROCESS, ENVIRONMENT)
            step = Planned((when, order, context, callback, args, process))
        if not self._closed:
            heappush(self._agenda, step)
        return step

    def create_task(
        self, coro: Coroutine[Any, Any, T] | Generator[Any, None, T], **options: Any
    ) -> "asyncio.Task[T]":
        """Held on to: were a killed node's tasks collected, they would still clean up."""
        task = asyncio.Task(coro, loop=self, **options)
        self._tasks.append(task)
        if len(self._tasks) > TASKS_MAX:
            self._tasks = [each for each in self._tasks if not each.done()]
        return task

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., T], *args: Any
    ) -> "asyncio.Future[T]":
        future: asyncio.Future[T] = asyncio.Future(loop=self)

        def work() -> None:
            if future.cancelled():
                return
            try:
                future.set_result(func(*args))
            except Exception as error:
                future.set_exception(error)

        self.call_later(THREAD_S * self._rng.random() * 4, work)
        return future

    async def create_connection(  # type: ignore[override]
        self, protocol_factory: Callable[[], Any], host: str, port: int, **options: Any
    ) -> tuple[asyncio.Transport, Any]:
        return await self.sockets.connect(protocol_factory, port)

    async def create_server(  # type: ignore[override]
        self, protocol_factory: Callable[[], Any], host: str, port: int, **options: Any
    ) -> Listening:
        return self.sockets.bind(protocol_factory, port)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self._closed:
            self._failed(context)

    def set_default_executor(self, executor: Any) -> None:
        pass
