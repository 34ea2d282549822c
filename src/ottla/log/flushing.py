"""Making appended batches durable off the loop, and letting many who wait share one fsync."""

import asyncio
import os
from concurrent.futures import Executor
from errno import EDQUOT, ENOSPC
from pathlib import Path
from typing import NamedTuple, Protocol

from ottla.log.files import FileHandle
from ottla.log.health import DirectoryHealth
from ottla.ports.disk import Sync, sync_directory


class FlushJob(NamedTuple):
    """Files to sync, and the producers' states at the offset that recovery may then start from."""

    handles: tuple[FileHandle, ...]
    paths: tuple[str, ...]
    offset: int
    snapshot_path: Path | None
    snapshot: bytes
    directory: Path
    truncations: int  # of the log, when it was begun
    sync: Sync

    def run(self) -> None:
        """Blocks; an OSError means that the directory can no longer be trusted: never retry it."""
        for handle in self.handles:
            self.sync(handle.fd)
        for path in self.paths:
            _sync_file(path, self.sync)
        if self.snapshot_path is not None:
            _write_snapshot(self.snapshot_path, self.snapshot, self.sync)
        sync_directory(self.directory)


def _write_snapshot(path: Path, content: bytes, sync: Sync) -> None:
    """On a full disk there is none: recovery then reads a little more."""
    try:
        with open(path, "wb", buffering=0) as file:
            file.write(content)
            sync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        if error.errno not in (ENOSPC, EDQUOT):
            raise


def _sync_file(path: str, sync: Sync) -> None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:  # dropped by retention meanwhile
        return
    try:
        sync(fd)
    finally:
        os.close(fd)


class Flushable(Protocol):
    recovery_point: int
    log_end_offset: int
    abandoned: bool
    health: DirectoryHealth

    def begin_flush(self) -> FlushJob: ...
    def end_flush(self, job: FlushJob) -> None: ...


class GroupCommit:
    """One flush of a log at a time; whoever comes while it runs shares the next."""

    def __init__(self, log: Flushable, executor: Executor) -> None:
        self._log = log
        self._executor = executor
        self._running: asyncio.Future[None] | None = None

    async def flushed(self, offset: int) -> None:
        """Returns once everything below `offset` is on disk; OSError if the directory failed.

        What was cut off or deleted meanwhile is waited for by nobody.
        """
        log = self._log
        while not log.abandoned and log.recovery_point < min(offset, log.log_end_offset):
            log.health.refuse(client=False)
            if self._running is None:
                self._running = asyncio.ensure_future(self._flush())
            await asyncio.shield(self._running)

    async def _flush(self) -> None:
        try:
            if self._log.abandoned:  # since it was asked for
                return
            try:
                job = self._log.begin_flush()
            except OSError as error:
                raise self._log.health.report(error) from error
            await asyncio.get_running_loop().run_in_executor(self._executor, job.run)
            self._log.end_flush(job)
        except OSError as error:
            if not self._log.abandoned:
                self._log.health.fail(error)
            raise
        finally:
            self._running = None
