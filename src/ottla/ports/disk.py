"""Files as the quorum uses them: appended to, read, cut and synced; small ones replaced whole.

`LocalDisk` is the real one; the simulation has another that tears and forgets what was not synced.
Logs of partitions are read and written without it, by the shortest way; what they have of this is
`sync`, which is handed to them.
"""

import ctypes
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

Sync = Callable[[int], None]
"""Returns when content and length of the file with this descriptor are on the disk."""


def sync(descriptor: int) -> None:
    os.fdatasync(descriptor)


def sync_directory(path: Path) -> None:
    """Make files created, renamed or removed in it durable as such."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


UNFINISHED = ".tmp"  # was to replace the file without this ending


def write_durably(path: Path, content: bytes, sync: Sync | None) -> None:
    """Replace a small file so that either the old or the new content is found after a crash; of
    the host too, with `sync`."""
    temporary = f"{path}{UNFINISHED}"
    with open(temporary, "wb", buffering=0) as file:
        file.write(content)
        if sync is not None:
            sync(file.fileno())
    os.replace(temporary, path)
    if sync is not None:
        sync_directory(path.parent)


class File(Protocol):
    """A file that grows at its end."""

    @property
    def size(self) -> int: ...
    def append(self, data: bytes) -> None: ...
    def read(self, position: int, size: int) -> bytes: ...
    def truncate(self, size: int) -> None: ...
    def sync(self) -> None:
        """May run in a thread, while the file is read and appended to."""

    def close(self) -> None: ...


class Disk(Protocol):
    def open(self, path: Path) -> File:
        """The file, created empty where it is missing."""

    def read(self, path: Path) -> bytes | None:
        """All of a small file; None where it is missing."""

    def replace(self, path: Path, data: bytes) -> None:
        """Write a small file so that a crash leaves the old content or the new, then sync."""

    def rewrite(self, path: Path, data: bytes) -> None:
        """The same, of a file that is replaced again and again: room for the next time is kept,
        so that others may have filled the disk up by then."""

    def remove(self, path: Path) -> None: ...
    def names(self, directory: Path) -> list[str]: ...
    def make_directory(self, path: Path) -> None: ...
    def sync_directory(self, path: Path) -> None:
        """Make files created, renamed or removed in it durable as such."""


AHEAD_BYTES = 1024 * 1024
"""Room that a growing file has for itself: on a disk that others filled up, the metadata log must
still take the deletion that makes room again."""
REWRITTEN_BYTES = 32 * 1024
"""Room for a file that is rewritten: without its vote and its epochs a node would have to stop when
a leader of the metadata is elected while its disk is full."""
_KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE


def reserve(descriptor: int, start: int, size: int) -> None:
    """Take blocks behind the end of a file without making it longer; where that is not known,
    and where there is no room, without it."""
    with suppress(OSError, AttributeError):
        allocate = ctypes.CDLL(None).fallocate
        offset = ctypes.c_int64
        allocate(descriptor, _KEEP_SIZE, offset(start), offset(size))


def rewrite(path: Path, content: bytes, sync: Sync) -> None:
    """Into the room that is kept under another name, which then becomes the file."""
    temporary = f"{path}{UNFINISHED}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        reserve(descriptor, 0, REWRITTEN_BYTES)  # what this one leaves behind, the next one takes
        written = 0
        while written < len(content):
            written += os.pwrite(descriptor, memoryview(content)[written:], written)
        if os.fstat(descriptor).st_size > len(content):  # of one that a crash left
            os.ftruncate(descriptor, len(content))
        sync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(temporary, path)
    sync_directory(path.parent)
    with suppress(OSError):
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        reserve(descriptor, 0, REWRITTEN_BYTES)
        os.close(descriptor)


class LocalFile:
    def __init__(self, path: Path, sync: Sync = sync) -> None:
        self._sync = sync
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._size = os.fstat(self._descriptor).st_size
        self._reserved = 0

    @property
    def size(self) -> int:
        return self._size

    def append(self, data: bytes) -> None:
        written = 0
        while written < len(data):
            written += os.pwrite(self._descriptor, memoryview(data)[written:], self._size + written)
        self._size += len(data)
        if self._reserved - self._size < AHEAD_BYTES // 2:
            reserve(self._descriptor, self._size, AHEAD_BYTES)
            self._reserved = self._size + AHEAD_BYTES

    def read(self, position: int, size: int) -> bytes:
        return os.pread(self._descriptor, size, position)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)
        self._size = self._reserved = size

    def sync(self) -> None:
        self._sync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


class LocalDisk:
    def __init__(self, sync: Sync = sync) -> None:
        self._sync = sync

    def open(self, path: Path) -> File:
        return LocalFile(path, self._sync)

    def read(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None

    def replace(self, path: Path, data: bytes) -> None:
        write_durably(path, data, self._sync)

    def rewrite(self, path: Path, data: bytes) -> None:
        rewrite(path, data, self._sync)

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def names(self, directory: Path) -> list[str]:
        return sorted(os.listdir(directory)) if directory.is_dir() else []

    def make_directory(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.sync_directory(path.parent)

    def sync_directory(self, path: Path) -> None:
        sync_directory(path)
