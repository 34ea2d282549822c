"""What has to be done from time to time: flushes, retention, compaction, checkpoints, disk room.

Decisions are made on the event loop; threads only run what the log hands out as jobs.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING, NamedTuple

from ottla.config import Settings
from ottla.ids import TopicPartition
from ottla.log.directory import LogDirectory
from ottla.log.partition_log import PartitionLog
from ottla.ports.memory import give_back_memory
from ottla.ports.recurring import every

if TYPE_CHECKING:
    from ottla.log.compaction import Compactor

log = logging.getLogger(__name__)

FLUSH_BYTES = 32 * 1024 * 1024
GIVEN_BACK_BYTES = 4 * 1024 * 1024
"""When so much was let go of, its memory is given back; less is soon taken again."""


class MaintenanceIntervals(NamedTuple):
    """Others are options."""

    flush_check_s: float = 0.2
    space_check_s: float = 1.0
    sweep_s: float = 5.0
    checkpoint_s: float = 5.0


USUAL = MaintenanceIntervals()


class LogMaintenance:
    def __init__(
        self,
        directories: list[LogDirectory],
        settings: Settings,
        threads: Executor,
        now_ms: Callable[[], int],
        start_moved: Callable[[TopicPartition], None] = lambda partition: None,
        intervals: MaintenanceIntervals = USUAL,
    ) -> None:
        """`start_moved` is called where retention dropped the beginning of a log."""
        self._directories = directories
        self._settings = settings
        self._threads = threads
        self._now_ms = now_ms
        self._start_moved = start_moved
        self._intervals = intervals
        self._compactors: list[Compactor] | None = None  # none yet
        self._watched: dict[
            LogDirectory, dict[PartitionLog, None]
        ] = {}  # they may have to be flushed
        self._let_go_bytes = 0  # of old batches in memory, since that was given back
        self._cuts = 0  # truncations that were seen: what was written down before is too high
        self._jobs: set[asyncio.Future[None]] = set()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        intervals = self._intervals
        retention_s = self._settings.int("log.retention.check.interval.ms") / 1000
        expiry_s = self._settings.int("producer.id.expiration.check.interval.ms") / 1000
        for interval_s, work in (
            (intervals.flush_check_s, self._flush_overdue),
            (intervals.space_check_s, self._check_space),
            (intervals.sweep_s, self._sweep),
            (intervals.checkpoint_s, self._checkpoint),
            (retention_s, self._retain),
            (expiry_s, self._expire_producers),
            (self._settings.int("log.cleaner.backoff.ms") / 1000, self._compact),
        ):
            what = f"maintenance ({work.__name__.strip('_')})"
            task = asyncio.get_running_loop().create_task(every(interval_s, work, what))
            self._tasks.append(task)

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        # What a thread has begun ends before the directory is closed.
        await asyncio.gather(*self._jobs, return_exceptions=True)
        for compactor in self._compactors or ():
            await compactor.stop()

    async def _in_thread(self, job: Callable[[], None]) -> None:
        await asyncio.shield(self._begin(job))

    def _begin(self, job: Callable[[], None]) -> "asyncio.Future[None]":
        running = asyncio.get_running_loop().run_in_executor(self._threads, job)
        self._jobs.add(running)
        running.add_done_callback(self._jobs.discard)
        return running

    async def _flush_overdue(self) -> None:
        """Bounds what a recovery has to read, and keeps write-back from coming all at once.

        Only a log that has changed can need it, or one whose flush.ms is running out.
        Of a log that was cut less is flushed and compacted than was written down, and it grows
        again: that is put right without waiting for the next checkpoint.
        """
        flushed, now_ms = False, self._now_ms()
        for directory in self._healthy():
            watched = self._watched.setdefault(directory, {})
            watched |= directory.take_changed()
            for partition_log in list(watched):
                if not partition_log.abandoned and partition_log.needs_flush(FLUSH_BYTES, now_ms):
                    await self._flush(directory, partition_log)
                    flushed = True
                if partition_log.abandoned or not partition_log.awaits_flush:
                    watched.pop(partition_log, None)
        cuts = sum(directory.health.changes.cuts for directory in self._directories)
        if flushed or cuts != self._cuts:
            self._cuts = cuts
            await self._checkpoint()

    async def _flush(self, directory: LogDirectory, partition_log: PartitionLog) -> None:
        job = partition_log.begin_flush()
        try:
            await self._in_thread(job.run)
        except OSError as error:
            if partition_log.abandoned:  # the topic was deleted meanwhile, with its files
                return
            directory.health.fail(error)
            log.error("%s cannot be flushed: %s", partition_log.path, error)
            return
        partition_log.end_flush(job)

    async def _check_space(self) -> None:
        for directory in self._healthy():
            was_full = directory.health.full
            has_room = directory.health.check_space()
            if was_full and has_room:
                log.warning("there is room again in %s: produce goes on", directory.path)
            elif not was_full and not has_room:
                log.error("the disk of %s is full: produce is refused", directory.path)

    def make_directories(self) -> None:
        """Of the logs that are new, by a thread."""
        for new in {one.resources.files.new_directories for one in self._healthy()}:
            if new:
                self._begin(new.make_all)

    async def _sweep(self) -> None:
        self.make_directories()  # that for which there was no room before
        for directory in self._healthy():
            await self._in_thread(directory.sweep(self._now_ms()))
        for tails in {one.resources.tails for one in self._directories}:
            self._let_go_bytes += tails.age()
        if self._let_go_bytes >= GIVEN_BACK_BYTES:
            self._let_go_bytes = 0
            await self._in_thread(give_back_memory)

    async def _checkpoint(self) -> None:
        for directory in self._healthy():
            try:
                await self._in_thread(directory.checkpoint().run)
            except OSError as error:
                directory.health.report(error)

    async def _retain(self) -> None:
        now_ms = self._now_ms()
        for directory in self._healthy():
            for partition_log in list(directory.logs.values()):
                # The files of one that is abandoned may be another topic's by now.
                if not partition_log.abandoned and partition_log.enforce_retention(now_ms):
                    self._start_moved(partition_log.topic_partition)
                await asyncio.sleep(0)

    async def _compact(self) -> None:
        """Clean until nothing is dirty enough; each log in a child process."""
        if self._compactors is None:
            from ottla.log.compaction import Compactor

            cleaned = self._directories if self._settings.flag("log.cleaner.enable") else []
            self._compactors = [Compactor(directory) for directory in cleaned]
        for compactor in self._compactors:
            while (
                compactor.directory.health.failure is None
                and await compactor.clean_dirtiest(self._now_ms()) is not None
            ):
                pass

    async def _expire_producers(self) -> None:
        now_ms = self._now_ms()
        for directory in self._healthy():
            for partition_log in list(directory.logs.values()):
                oldest_ms = now_ms - partition_log.config.producer_expiration_ms
                partition_log.producers.expire(oldest_ms)

    def _healthy(self) -> list[LogDirectory]:
        return [one for one in self._directories if one.health.failure is None]
