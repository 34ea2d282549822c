"""One of the node's log.dirs: its lock, its identity, its checkpoints and the logs in it.

The metadata log lies in one of them too; it is opened by the quorum, not here.
"""

import ctypes
import fcntl
import os
import re
from collections.abc import Callable
from logging import getLogger
from pathlib import Path

from ottla.errors import ErrorCode, KafkaError, OttlaError
from ottla.ids import TopicPartition, Uuid
from ottla.log.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    CheckpointJob,
    Checkpoints,
    MetaProperties,
    OffsetFile,
    read_meta_properties,
    read_offsets,
    take_clean_shutdown,
    write_clean_shutdown,
)
from ottla.log.config import LogConfig
from ottla.log.files import DELETED
from ottla.log.health import DirectoryHealth
from ottla.log.new_directories import make_directory
from ottla.log.partition_log import LogResources, PartitionLog
from ottla.log.recovery import open_log
from ottla.ports.chance import uuid4
from ottla.ports.disk import UNFINISHED, sync_directory

logger = getLogger(__name__)
METADATA_TOPIC = "__cluster_metadata"
NAME_MAX = 255
DELETE, FUTURE = "-delete", "-future"
FEW = 8  # logs that are synced one by one at a stop; more of them by one call for the file system
_PARTITION_DIRECTORY = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>\d+)")


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
        self._lock: int | None = None
        self._checkpoints = Checkpoints(resources.sync)
        self._recovery_points = OffsetFile(path / RECOVERY_POINTS)
        self._log_starts = OffsetFile(path / LOG_STARTS)
        self._high_watermarks = OffsetFile(path / HIGH_WATERMARKS)
        self._cleaner_offsets = OffsetFile(path / CLEANER_OFFSETS)
        self._unseen: dict[PartitionLog, None] = {}  # changed since `take_changed`
        self._doomed: list[tuple[int, Path]] = []  # (time to remove it, a file or directory)

    # --- opening

    def lock(self) -> None:
        """Keep other nodes out, be they Ottla or Kafka (which takes the POSIX kind of lock)."""
        self.path.mkdir(parents=True, exist_ok=True)
        fd = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(fd)
            raise OttlaError(
                f"{self.path} is in use by another broker. Stop it, or name another directory."
            ) from error
        self._lock = fd

    def meta_properties(self) -> MetaProperties | None:
        return read_meta_properties(self.path)

    def open_all(self, config_of: Callable[[str], LogConfig], *, now_ms: int) -> None:
        """Open every partition found here, recovering them unless the last stop was clean."""
        self.previous_broker_epoch = take_clean_shutdown(self.path)
        clean = self.previous_broker_epoch is not None
        recovery_points = read_offsets(self.path / RECOVERY_POINTS)
        starts = read_offsets(self.path / LOG_STARTS)
        high_watermarks = read_offsets(self.path / HIGH_WATERMARKS)
        cleaned = read_offsets(self.path / CLEANER_OFFSETS)
        for entry in os.scandir(self.path):
            if not entry.is_dir():
                if entry.name.endswith(UNFINISHED):
                    os.unlink(entry.path)
                continue
            if entry.name.endswith(DELETE):
                self._doomed.append((now_ms, Path(entry.path)))
                continue
            future = parse_future(entry.name)
            partition = future or parse_partition(entry.name)
            if partition is None or partition.topic == METADATA_TOPIC:
                continue
            try:
                log = open_log(
                    Path(entry.path),
                    partition,
                    config_of(partition.topic),
                    self.resources,
                    health=self.health,
                    now_ms=now_ms,
                    clean=clean,
                    recovery_point=recovery_points.get(partition, 0),
                    log_start_offset=starts.get(partition, 0),
                )
            except Exception as error:  # one log that cannot be read must not keep all others away
                if future is not None:  # what it is a copy of is still there
                    logger.exception("%s cannot be opened and is removed", entry.path)
                    self._doomed.append((now_ms, Path(entry.path)))
                    continue
                self.unusable[partition] = f"{type(error).__name__}: {error}"
                logger.exception(
                    "%s cannot be opened and is offline; its files were left as they are. "
                    "Restore them, or move the directory away to begin anew, and start again",
                    entry.path,
                )
                continue
            log.advance_high_watermark(high_watermarks.get(partition, 0))
            # Recovery may have cut the log: what is fetched again is not clean.
            log.cleaned_upto = min(cleaned.get(partition, 0), log.log_end_offset)
            (self.logs if future is None else self.futures)[partition] = log
        for partition in {*recovery_points, *starts, *high_watermarks, *cleaned}:
            if partition not in self.logs and partition not in self.futures:
                self._checkpoints.gone(partition)

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
            if self._checkpoints.may_tell_of_a_former(partition):
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
        path = self.path / f"{partition}.{uuid4(self.resources.chance).hex}{FUTURE}"
        try:
            if self._checkpoints.may_tell_of_a_former(partition):
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
        source._forget_offsets(partition)
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
            self._forget_offsets(partition)
            log.abandon()
        return log

    def _forget_offsets(self, partition: TopicPartition) -> None:
        for file in self._offset_files:
            file.forget(partition)
        self._checkpoints.gone(partition)

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
        return self._move_aside(partition, "-stray")

    def _let_go(self, partition: TopicPartition) -> None:
        log = self.logs.pop(partition, None)
        self.unusable.pop(partition, None)
        self._forget_offsets(partition)
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
        ending = f"-{partition.partition}.{uuid4(self.resources.chance).hex}{suffix}"
        return self.path / (partition.topic[: NAME_MAX - len(ending)] + ending)

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
        return self._checkpoints.take(tuple(file.encoded() for file in self._offset_files))

    @property
    def _offset_files(self) -> tuple[OffsetFile, ...]:
        return (
            self._recovery_points,
            self._log_starts,
            self._high_watermarks,
            self._cleaner_offsets,
        )

    def _look(self) -> None:
        """At what has changed."""
        for log in self.health.changes.take():
            assert isinstance(log, PartitionLog)
            partition = log.topic_partition
            if self.logs.get(partition) is log:
                self._unseen[log] = None
            elif self.futures.get(partition) is not log:
                continue
            self._recovery_points.put(partition, log.recovery_point)
            self._high_watermarks.put(partition, log.high_watermark)
            if _moved(log):
                self._log_starts.put(partition, log.log_start_offset)
            else:
                self._log_starts.forget(partition)
            if log.cleaned_upto:
                self._cleaner_offsets.put(partition, log.cleaned_upto)
            else:
                self._cleaner_offsets.forget(partition)

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

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def parse_partition(name: str) -> TopicPartition | None:
    """The partition whose directory has this name; None for any other directory."""
    match = _PARTITION_DIRECTORY.fullmatch(name)
    if match is None or name.endswith((DELETE, "-stray", FUTURE)):
        return None
    return TopicPartition(match["topic"], int(match["partition"]))


def parse_future(name: str) -> TopicPartition | None:
    """The partition whose future log has this name."""
    return parse_partition(name.rpartition(".")[0]) if name.endswith(FUTURE) else None


def _moved(log: PartitionLog) -> bool:
    """Kafka writes down a start only where it is not plain from the first segment's name."""
    return log.log_start_offset > log.segments[0].base_offset


def sync_file_system(path: Path) -> None:
    """One call instead of an fsync for each of a thousand files."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(fd) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), str(path))
    finally:
        os.close(fd)


def find_log(directories: list[LogDirectory], partition: TopicPartition) -> PartitionLog:
    """The log of a partition in whichever directory it lies."""
    for directory in directories:
        log = directory.logs.get(partition)
        if log is not None:
            directory.health.refuse(client=False)
            return log
    raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{partition} is not stored here.")
