"""One of the node's log.dirs: its lock, its identity, its checkpoints and the logs in it.

The metadata log lies in one of them too; it is opened by the quorum, not here.
"""

import ctypes
import os
from collections.abc import Callable
from functools import partial
from logging import getLogger
from pathlib import Path

from ottla.ids import TopicPartition, Uuid
from ottla.log.checkpoints import (
    CheckpointJob,
    MetaProperties,
    read_meta_properties,
    take_clean_shutdown,
    write_clean_shutdown,
)
from ottla.log.config import LogConfig
from ottla.log.directory_lock import DirectoryLock
from ottla.log.directory_names import (
    DELETE,
    METADATA_TOPIC,
    STRAY,
    future_name,
    name_aside,
    parse_future,
    parse_partition,
)
from ottla.log.directory_offsets import DirectoryOffsets, SavedOffsets
from ottla.log.files import DELETED
from ottla.log.health import DirectoryHealth
from ottla.log.new_directories import make_directory
from ottla.log.partition_log import LogResources, PartitionLog
from ottla.log.recovery import open_log
from ottla.ports.chance import uuid4
from ottla.ports.disk import UNFINISHED, sync_directory

logger = getLogger(__name__)
FEW = 8  # logs that are synced one by one at a stop; more of them by one call for the file system

OpenOne = Callable[[TopicPartition, Path], PartitionLog]


class LogDirectory:
    def __init__(self, path: Path, resources: LogResources) -> None:
        self.path = path
        self.resources = resources
        self.health = DirectoryHealth(path)
        self.logs: dict[TopicPartition, PartitionLog] = {}
        self.futures: dict[TopicPartition, PartitionLog] = {}
        """Copies that are to take the place of logs in other directories, once they have all."""
        self.unusable: dict[TopicPartition, str] = {}  # logs that could not be opened, and why
        self.previous_broker_epoch: int | None = None  # None: the last stop was not clean
        self._lock = DirectoryLock(path)
        self._offsets = DirectoryOffsets(path, resources.sync)
        self._unseen: dict[PartitionLog, None] = {}  # changed since `take_changed`
        self._doomed: list[tuple[int, Path]] = []  # (time to remove it, a file or directory)

    # --- opening

    def lock(self) -> None:
        self._lock.take()

    def unlock(self) -> None:
        self._lock.release()

    def meta_properties(self) -> MetaProperties | None:
        return read_meta_properties(self.path)

    def open_all(self, config_of: Callable[[str], LogConfig], *, now_ms: int) -> None:
        """Open every partition found here, recovering them unless the last stop was clean."""
        self.previous_broker_epoch = take_clean_shutdown(self.path)
        saved = SavedOffsets.read(self.path)
        open_one = partial(self._open_as_left, config_of, saved, now_ms)
        for entry in os.scandir(self.path):
            if not entry.is_dir():
                if entry.name.endswith(UNFINISHED):
                    os.unlink(entry.path)
            elif entry.name.endswith(DELETE):
                self._doomed.append((now_ms, Path(entry.path)))
            elif future := parse_future(entry.name):
                self._open_future(future, Path(entry.path), open_one, now_ms)
            elif (found := parse_partition(entry.name)) and found.topic != METADATA_TOPIC:
                self._open_current(found, Path(entry.path), open_one)
        for partition in saved.partitions():
            if partition not in self.logs and partition not in self.futures:
                self._offsets.forget(partition)

    def _open_current(self, partition: TopicPartition, path: Path, open_one: OpenOne) -> None:
        """One log that cannot be read must not keep all others away."""
        try:
            self.logs[partition] = open_one(partition, path)
        except Exception as error:
            self.unusable[partition] = f"{type(error).__name__}: {error}"
            logger.exception(
                "%s cannot be opened and is offline; its files were left as they are. "
                "Restore them, or move the directory away to begin anew, and start again",
                path,
            )

    def _open_future(
        self, partition: TopicPartition, path: Path, open_one: OpenOne, now_ms: int
    ) -> None:
        try:
            self.futures[partition] = open_one(partition, path)
        except Exception:  # what it is a copy of is still there
            logger.exception("%s cannot be opened and is removed", path)
            self._doomed.append((now_ms, path))

    def _open_as_left(
        self,
        config_of: Callable[[str], LogConfig],
        saved: SavedOffsets,
        now_ms: int,
        partition: TopicPartition,
        path: Path,
    ) -> PartitionLog:
        log = open_log(
            path,
            partition,
            config_of(partition.topic),
            self.resources,
            health=self.health,
            now_ms=now_ms,
            clean=self.previous_broker_epoch is not None,
            recovery_point=saved.recovery_points.get(partition, 0),
            log_start_offset=saved.log_starts.get(partition, 0),
        )
        log.advance_high_watermark(saved.high_watermarks.get(partition, 0))
        # Recovery may have cut the log: what is fetched again is not clean.
        log.cleaned_upto = min(saved.cleaned.get(partition, 0), log.log_end_offset)
        return log

    def give_up(self, error: OSError) -> None:
        """It cannot be used: logs that were opened before that was seen are let go."""
        self.health.fail(error)
        for partition in [*self.logs, *self.unusable]:
            self._let_go(partition)
        for partition in list(self.futures):
            self._let_go_of_future(partition)

    # --- partitions come and go

    def create(
        self, partition: TopicPartition, topic_id: Uuid, config: LogConfig, *, now_ms: int
    ) -> PartitionLog:
        self.health.refuse(client=False)
        try:
            if self._offsets.may_tell_of_a_former(partition):
                self.checkpoint().run()  # a crash must not find its offsets to be the new log's
            log = open_log(
                self.path / str(partition),
                partition,
                config,
                self.resources,
                health=self.health,
                now_ms=now_ms,
                topic_id=topic_id,
            )
        except OSError as error:
            raise self.health.report(error) from error
        self.logs[partition] = log
        return log

    # --- logs that move here from another directory

    def create_future(
        self, partition: TopicPartition, topic_id: Uuid, config: LogConfig, *, now_ms: int
    ) -> PartitionLog:
        """An empty copy, in a directory named as Kafka names it."""
        self.health.refuse(client=False)
        path = self.path / future_name(partition, self._unique())
        try:
            if self._offsets.may_tell_of_a_former(partition):
                self.checkpoint().run()
            make_directory(str(path), topic_id)
            log = self._open_clean(path, partition, config, now_ms)
        except OSError as error:
            raise self.health.report(error) from error
        self.futures[partition] = log
        return log

    def drop_future(self, partition: TopicPartition, *, now_ms: int) -> None:
        log = self._let_go_of_future(partition)
        if log is None:
            return
        doomed = self._aside(partition, DELETE)
        try:
            os.rename(log.path, doomed)
        except OSError as error:
            raise self.health.report(error) from error
        self._doomed.append((now_ms, doomed))

    def take_over(self, source: "LogDirectory", partition: TopicPartition, *, now_ms: int) -> None:
        """The future log becomes the log. Whoever holds the log keeps it: it lies here from now on.

        First the old files go aside, then the new ones take their name: what a crash leaves in
        between is the copy, and a controller that was told to look for the partition here.
        """
        log, future = source.logs[partition], self.futures[partition]
        source.resources.files.new_directories.make(f"{source.path}/{partition}")
        doomed = source._aside(partition, DELETE)
        future.close()
        try:
            os.rename(source.path / str(partition), doomed)
            sync_directory(source.path)
        except OSError as error:
            raise source.health.report(error) from error
        self.become_current(partition, now_ms=now_ms)
        log.move_to(self.logs[partition])
        self.logs[partition] = log
        source._unseen.pop(log, None)
        del source.logs[partition]
        source._offsets.forget(partition)
        source._doomed.append((now_ms + log.config.file_delete_delay_ms, doomed))

    def become_current(self, partition: TopicPartition, *, now_ms: int) -> PartitionLog:
        """The files of a future log that is closed, under the name of the log."""
        future = self.futures.pop(partition)
        path = self.path / str(partition)
        try:
            os.rename(future.path, path)
            sync_directory(self.path)
            log = self._open_clean(path, partition, future.config, now_ms)
        except OSError as error:
            raise self.health.report(error) from error
        log.advance_high_watermark(future.high_watermark)
        self.logs[partition] = log
        return log

    def _open_clean(
        self, path: Path, partition: TopicPartition, config: LogConfig, now_ms: int
    ) -> PartitionLog:
        return open_log(path, partition, config, self.resources, health=self.health, now_ms=now_ms)

    def _let_go_of_future(self, partition: TopicPartition) -> PartitionLog | None:
        log = self.futures.pop(partition, None)
        if log is not None:
            self._offsets.forget(partition)
            log.abandon()
        return log

    def delete(self, partition: TopicPartition, *, now_ms: int) -> None:
        """Put a partition out of sight; `sweep` removes its files after file.delete.delay.ms."""
        log = self.logs.get(partition)
        delay_ms = 0 if log is None else log.config.file_delete_delay_ms
        if self.resources.files.new_directories.forget(f"{self.path}/{partition}"):
            self._let_go(partition)
            return
        self._doomed.append((now_ms + delay_ms, self._move_aside(partition, DELETE)))

    def set_aside_stray(self, partition: TopicPartition) -> Path:
        """Keep the files of a partition that the cluster does not know, under another name."""
        return self._move_aside(partition, STRAY)

    def _let_go(self, partition: TopicPartition) -> None:
        log = self.logs.pop(partition, None)
        self.unusable.pop(partition, None)
        self._offsets.forget(partition)
        if log is not None:
            log.abandon()

    def _move_aside(self, partition: TopicPartition, suffix: str) -> Path:
        target = self._aside(partition, suffix)
        try:
            self.resources.files.new_directories.make(f"{self.path}/{partition}")
            os.rename(self.path / str(partition), target)
        except OSError as error:
            raise self.health.report(error) from error
        finally:  # no thread can open files by their old paths any more, which may be a new log's
            self._let_go(partition)
        return target

    def _aside(self, partition: TopicPartition, suffix: str) -> Path:
        return self.path / name_aside(partition, self._unique(), suffix)

    def _unique(self) -> str:
        return uuid4(self.resources.chance).hex

    def sweep(self, now_ms: int) -> Callable[[], None]:
        """What has been deleted long enough, as a job for a thread."""
        due = [path for at, path in self._doomed if at <= now_ms]
        self._doomed = [(at, path) for at, path in self._doomed if at > now_ms]
        for log in self.logs.values():
            due += log.take_deleted(now_ms)

        def remove() -> None:
            import shutil

            for path in due:
                if path.suffix == DELETED:
                    path.unlink(missing_ok=True)
                else:
                    shutil.rmtree(path, ignore_errors=True)

        return remove

    # --- checkpoints and the end

    def checkpoint(self) -> CheckpointJob:
        """Recovery points, log starts, high watermarks and what is compacted as they are now."""
        self._look()
        return self._offsets.checkpoint()

    def _look(self) -> None:
        """At what has changed."""
        for log in self.health.changes.take():
            assert isinstance(log, PartitionLog)
            partition = log.topic_partition
            if self.logs.get(partition) is log:
                self._unseen[log] = None
            elif self.futures.get(partition) is not log:
                continue
            self._offsets.note(log)

    def take_changed(self) -> dict[PartitionLog, None]:
        """The logs that have changed since this was last asked."""
        self._look()
        changed, self._unseen = self._unseen, {}
        return changed

    def close(self, broker_epoch: int | None = None) -> None:
        """A clean stop, marked as such with the broker's epoch (None: leave no mark)."""
        try:
            if self.health.failure is None:
                self._close_logs()
                self.checkpoint().run()
                if broker_epoch is not None:
                    write_clean_shutdown(self.path, broker_epoch, self.resources.sync)
        except OSError as error:
            raise self.health.report(error) from error
        finally:
            self.unlock()

    def _close_logs(self) -> None:
        self.resources.files.new_directories.make_all()
        logs = [*self.logs.values(), *self.futures.values()]
        together = sum(log.is_dirty for log in logs) > FEW
        for log in logs:
            log.close(sync=not together)
        if together:
            sync_file_system(self.path)


def sync_file_system(path: Path) -> None:
    """One call instead of an fsync for each of a thousand files."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(fd) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), str(path))
    finally:
        os.close(fd)
