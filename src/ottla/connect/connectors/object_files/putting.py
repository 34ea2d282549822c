"""Several files on their way to a store at once: most of the time each of them is waited for.

Their order is nobody's affair: the group moves when all of them are there.
"""

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from types import TracebackType

from ottla.connect.connectors.object_files.stores import Store

AT_ONCE = 8
BYTES_MAX = 64 * 1024 * 1024  # of all that are on their way; a file that is larger goes alone


class Putting:
    """What a file fails with is raised at one of the next, or at the end of the block."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="files")
        self._pending: dict[Future[None], int] = {}  # with their bytes
        self._size = 0

    def __enter__(self) -> "Putting":
        return self

    def put(self, path: str, data: bytes) -> None:
        while self._pending and not self._takes(len(data)):
            done, _ = wait(self._pending, return_when=FIRST_COMPLETED)
            for one in done:
                self._size -= self._pending.pop(one)
                one.result()
        self._pending[self._threads.submit(self._store.put, path, data)] = len(data)
        self._size += len(data)

    def _takes(self, more: int) -> bool:
        return len(self._pending) < AT_ONCE and self._size + more <= BYTES_MAX

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
