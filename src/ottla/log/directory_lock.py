"""The lock of a log directory: it keeps other nodes out, be they Ottla or Kafka."""

import fcntl
import os
from pathlib import Path

from ottla.errors import OttlaError


class DirectoryLock:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._fd: int | None = None

    def take(self) -> None:
        """Both kinds: Kafka takes the POSIX one, which one process may take twice."""
        self._directory.mkdir(parents=True, exist_ok=True)
        fd = os.open(self._directory / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(fd)
            raise OttlaError(
                f"{self._directory} is in use by another broker. "
                "Stop it, or name another directory."
            ) from error
        self._fd = fd

    def release(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
