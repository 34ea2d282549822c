"""Whether a log directory can be written to. Shared by the directory and the logs in it."""

import os
from errno import EDQUOT, ENOSPC
from pathlib import Path

from ottla.errors import ErrorCode, KafkaError
from ottla.log.changes import LogChanges

RESERVE_BYTES = 256 * 1024 * 1024
RESERVE_SHARE = 0.05


class DirectoryHealth:
    """A directory that failed stays failed: after a lost write nothing in it can be trusted.

    A full one refuses clients and recovers by itself when there is room again.
    """

    __slots__ = ("changes", "failure", "full", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.failure: OSError | None = None
        self.full = False
        self.changes = LogChanges()

    def report(self, error: OSError) -> KafkaError:
        """The refusal for a write that failed; running out of room is no failure."""
        if error.errno in (ENOSPC, EDQUOT):
            self.full = True
        else:
            self.fail(error)
        return KafkaError(
            ErrorCode.KAFKA_STORAGE_ERROR, f"Cannot write to {self.path}: {error.strerror}."
        )

    def fail(self, error: OSError) -> None:
        """An fsync failed, for whatever reason: pages may be lost, and a retry would hide it."""
        if self.failure is None:
            self.failure = error

    def check_space(self) -> bool:
        """Look how much is left; True if clients may write. Some is kept for the node itself."""
        try:
            usage = os.statvfs(self.path)
        except OSError as error:
            self.report(error)
            return False
        reserve = min(RESERVE_BYTES, int(usage.f_blocks * usage.f_frsize * RESERVE_SHARE))
        self.full = usage.f_bavail * usage.f_frsize < reserve
        return not self.full

    def refuse(self, *, client: bool) -> None:
        """KAFKA_STORAGE_ERROR if nothing, or nothing of a client's, may be written now."""
        if self.failure is not None:
            problem = f"The log directory {self.path} failed: {self.failure.strerror}."
        elif self.full and client:
            problem = f"The disk that holds {self.path} is full."
        else:
            return
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, problem)
