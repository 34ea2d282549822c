"""Several files on their way to a store at once: most of the time each of them is waited for.

Their order is nobody's affair: the group moves when all of them are there.
"""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from ottla.connect.connectors.object_files.stores import Store

AT_ONCE = 8


class Putting:
    """What a file fails with is raised at one of the next, or at the end of the block."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="files")
        self._pending: deque[Future[None]] = deque()

    def __enter__(self) -> "Putting":
        return self

    def put(self, path: str, data: bytes) -> None:
        if len(self._pending) == AT_ONCE:
            self._pending.popleft().result()
        self._pending.append(self._threads.submit(self._store.put, path, data))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._threads.shutdown(cancel_futures=error is not None)
        if error is None:
            for one in self._pending:
                one.result()
