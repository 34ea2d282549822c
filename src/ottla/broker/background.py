"""What goes on beside requests: tasks that nobody awaits, threads for what may block, and faults of
ours, told in full to the log and in general to the client."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar

from ottla.errors import ErrorCode, KafkaError

log = logging.getLogger(__name__)
T = TypeVar("T")


class Background:
    def __init__(self, threads: Executor | None = None) -> None:
        self._threads = threads
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Go on with something while the event loop does other things; a fault is logged."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a request failed", exc_info=error)

    def in_thread(
        self,
        work: Callable[[], T],
        finished: Callable[[T | Exception], None],
        threads: Executor | None = None,
    ) -> None:
        """Run what may block; `finished` is called on the event loop with result or error."""
        future = asyncio.get_running_loop().run_in_executor(threads or self._threads, work)

        def done(future: "asyncio.Future[T]") -> None:
            error = future.exception()
            if error is None:
                finished(future.result())
            else:
                assert isinstance(error, Exception)
                finished(error)

        future.add_done_callback(done)

    def unexpected(self, doing: str, error: Exception) -> KafkaError:
        log.error("failed while %s", doing, exc_info=error)
        return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "The broker failed; its log says how.")
