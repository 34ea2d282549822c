"""Names of the files in a log directory, and a bounded set of open ones.

A handle closes when its last user lets go of it, so a thread that still reads from a file whose
segment was dropped or whose descriptor made room for another keeps reading the right bytes.
"""

import os
from collections import OrderedDict
from errno import EAGAIN, EINTR, EOPNOTSUPP
from resource import RLIMIT_NOFILE, getrlimit
from threading import Lock

from ottla.log.new_directories import NewDirectories

LOG = ".log"
INDEX = ".index"
TIME_INDEX = ".timeindex"
TRANSACTION_INDEX = ".txnindex"
SNAPSHOT = ".snapshot"
SEGMENT_SUFFIXES = (LOG, INDEX, TIME_INDEX, TRANSACTION_INDEX)

DELETED = ".deleted"
CLEANED = ".cleaned"
SWAP = ".swap"
PARTIAL = ".part"  # a snapshot that was being fetched

LEADER_EPOCHS = "leader-epoch-checkpoint"

PROBED_BYTES = 1024 * 1024


def file_name(offset: int, suffix: str) -> str:
    """Twenty digits, so that names sort like offsets."""
    return f"{offset:020d}{suffix}"


def read_file(path: str) -> bytes:
    """A whole file of moderate size, with as few calls as can be."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, os.fstat(fd).st_size)
    finally:
        os.close(fd)


class FileHandle:
    """An open descriptor, closed with its last reference."""

    __slots__ = ("fd", "from_disk_upto")

    def __init__(self, path: str, *, create: bool = False) -> None:
        self.fd = -1
        self.from_disk_upto = 0  # what lies before may have left memory, and come back
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        self.fd = os.open(path, flags, 0o644)

    def __del__(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)

    def read(self, position: int, size: int) -> bytes:
        """Up to `size` bytes; waits for the disk where it must."""
        return os.pread(self.fd, size, position)

    def read_resident(self, position: int, size: int) -> memoryview | None:
        """The bytes if all of them are in memory, else None; never waits for the disk."""
        room = bytearray(size)
        try:
            count = os.preadv(self.fd, [room], position, os.RWF_NOWAIT)
        except OSError as error:
            if error.errno == EAGAIN:
                return None
            if error.errno in (EOPNOTSUPP, EINTR):  # not every file system can tell
                return memoryview(self.read(position, size))
            raise
        return memoryview(room) if count == size else None

    def will_need(self, position: int, size: int) -> None:
        """Have it read into memory; nobody waits for that here."""
        self.from_disk_upto = max(self.from_disk_upto, position + size)
        os.posix_fadvise(self.fd, position, size, os.POSIX_FADV_WILLNEED)

    def never_left_memory(self, position: int, size: int) -> bool:
        """As far as can be told by one page of each megabyte."""
        return position >= self.from_disk_upto and all(
            self.read_resident(at, 1) is not None
            for at in (*range(position, position + size, PROBED_BYTES), position + size - 1)
        )


class OpenFiles:
    """The most recently used handles of segments; one bound for the whole process.

    The one thing here that searches in threads share with the loop, hence the lock.
    """

    def __init__(self, limit: int | None = None) -> None:
        """Without a limit: half of what the process may open, the rest is for connections."""
        self.limit = limit or max(64, getrlimit(RLIMIT_NOFILE)[0] // 2)
        self.new_directories = NewDirectories()
        self._lock = Lock()
        self._handles: OrderedDict[str, FileHandle] = OrderedDict()

    def get(self, path: str, *, create: bool = False) -> FileHandle:
        with self._lock:
            handle = self._handles.get(path)
            if handle is not None:
                self._handles.move_to_end(path)
                return handle
            if create and self.new_directories:
                self.new_directories.make(os.path.dirname(path))
            while len(self._handles) >= self.limit:
                self._handles.popitem(last=False)
            handle = self._handles[path] = FileHandle(path, create=create)
            return handle

    def forget(self, path: str) -> None:
        with self._lock:
            self._handles.pop(path, None)
