"""Replicas move between the log directories of this node, as AlterReplicaLogDirs asks.

A copy grows beside the log (`-future`). Once it has all, the controller is told where the replica
will be, and then, in one turn of the event loop, the copy takes the log's place. A move that a stop
or a crash interrupts goes on after the next start; so does one that Apache Kafka began.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any

from ottla.errors import ErrorCode, KafkaError
from ottla.ids import TopicPartition
from ottla.log.directory import LogDirectory
from ottla.log.directory_names import FUTURE, NAME_MAX
from ottla.log.reading import Damage
from ottla.replication.assignments import Assignments
from ottla.replication.directories import Directories
from ottla.replication.future_log import FutureLog
from ottla.replication.partitions import Partitions, Replica
from ottla.replication.quota import ReplicationQuota

log = logging.getLogger(__name__)

RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
PAUSE_S = 0.02
UNIQUE_LENGTH = 32


class DirectoryMoves:
    def __init__(
        self,
        partitions: Partitions,
        directories: Directories,
        assignments: Assignments,
        threads: Executor,
        *,
        now: Callable[[], float],
        now_ms: Callable[[], int],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        settings = partitions.settings
        self._partitions = partitions
        self._directories = directories
        self._assignments = assignments
        self._threads = threads
        self._now = now
        self._now_ms = now_ms
        self._spawn = spawn
        self._quota = ReplicationQuota(
            settings.int("alter.log.dirs.replication.quota.window.num"),
            settings.int("alter.log.dirs.replication.quota.window.size.seconds"),
        )
        self._moving: dict[TopicPartition, FutureLog] = {}
        partitions.subscribe(lambda replica: None, self._removed)

    # What is asked ---------------------------------------------------------------------------

    def alter(self, partition: TopicPartition, path: str) -> None:
        """Move a replica there; KafkaError where that cannot be. Where it is already: stay."""
        if len(f"{partition}.{FUTURE}") + UNIQUE_LENGTH > NAME_MAX:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic's name is too long.")
        target = self._target(path)
        replica = self._partitions.find(*partition)
        if replica is None:
            self._remember(partition, target)
            self._partitions.replica(*partition)
            return
        if self._directories.future(partition) not in (None, target):
            self._cancel(replica)
        home = self._directories.home(replica.log)
        if home is target or partition in self._moving:
            return
        target.create_future(partition, replica.topic_id, replica.log.config, now_ms=self._now_ms())
        self._begin(replica, home, target)

    def _target(self, path: str) -> LogDirectory:
        for directory in self._directories.directories:
            if str(directory.path.absolute()) == path:
                directory.health.refuse(client=False)
                if self._directories.is_cordoned(directory):
                    raise KafkaError(
                        ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{path} is cordoned: nothing new."
                    )
                return directory
        raise KafkaError(ErrorCode.LOG_DIR_NOT_FOUND, f"{path} is not one of log.dirs.")

    def _remember(self, partition: TopicPartition, target: LogDirectory) -> None:
        """A tool may name the directory before the replica is placed on this node."""
        self._directories.preferred[partition] = target

    def resume(self) -> None:
        """After a start: moves that were under way."""
        for directory in self._directories.directories:
            for partition, future in list(directory.futures.items()):
                replica = self._partitions.find(*partition)
                if replica is None or replica.topic_id != future.topic_id:
                    directory.drop_future(partition, now_ms=self._now_ms())
                    continue
                home = self._directories.home(replica.log)
                if home is directory:
                    directory.drop_future(partition, now_ms=self._now_ms())
                    continue
                target_id = self._directories.id_of(directory)
                if replica.state.directory(self._partitions.node_id) == target_id:
                    self._directories.moving_to[partition] = target_id
                self._begin(replica, home, directory)

    def lag(self, partition: TopicPartition) -> int:
        """Of a copy, in records; -1 where nothing is copied."""
        moving = self._moving.get(partition)
        return -1 if moving is None else moving.lag

    def _removed(self, replica: Replica) -> None:
        self._directories.preferred.pop(replica.topic_partition, None)
        self._forget(replica.topic_partition)

    def _cancel(self, replica: Replica) -> None:
        self._forget(replica.topic_partition)
        self._assignments.tell_of([replica])

    def _forget(self, partition: TopicPartition) -> None:
        self._moving.pop(partition, None)
        try:
            self._directories.drop_future(partition)
        except KafkaError as error:
            log.error("the copy of %s is left behind: %s", partition, error.message)

    # The move --------------------------------------------------------------------------------

    def _begin(self, replica: Replica, home: LogDirectory, target: LogDirectory) -> None:
        partition = replica.topic_partition
        moving = self._moving[partition] = FutureLog(replica.log, target.futures[partition])
        self._spawn(self._move(replica, moving, home, target))

    async def _move(
        self, replica: Replica, moving: FutureLog, home: LogDirectory, target: LogDirectory
    ) -> None:
        partition = replica.topic_partition
        log.info("%s moves from %s to %s", partition, home.path, target.path)
        try:
            if await self._copy(replica, moving, target):
                target.take_over(home, partition, now_ms=self._now_ms())
                log.info("%s is in %s now", partition, target.path)
        except (KafkaError, OSError, Damage) as error:
            log.error("%s could not be moved to %s: %s", partition, target.path, error)
            if self._is_current(partition, moving):
                self._cancel(replica)
            return
        if self._is_current(partition, moving):
            del self._moving[partition]
            self._directories.moving_to.pop(partition, None)
            self._assignments.tell_of([replica])

    def _is_current(self, partition: TopicPartition, moving: FutureLog) -> bool:
        """Not cancelled, nor begun anew."""
        return self._moving.get(partition) is moving

    async def _copy(self, replica: Replica, moving: FutureLog, target: LogDirectory) -> bool:
        """True when the copy may take the log's place, in this turn of the event loop."""
        partition, is_told = replica.topic_partition, False
        loop = asyncio.get_running_loop()
        while self._is_current(partition, moving):
            await self._await_quota()
            if not self._is_current(partition, moving):
                break
            now_ms = self._now_ms()
            read = moving.next(now_ms)
            read_at = moving.future.log_end_offset
            data = read.data
            if read.cold:
                data = await loop.run_in_executor(self._threads, read.fetch_cold)
                if not self._is_current(partition, moving):
                    break
            moving.took(data, read_at, now_ms)
            self._quota.spend(self._now(), len(data))
            if not moving.has_all:
                await asyncio.sleep(0)
            elif not is_told:
                await self._prepare(moving, replica, target)
                is_told = True
            elif replica.log.is_being_flushed or moving.future.is_being_flushed:
                await asyncio.sleep(PAUSE_S)
            else:
                return True
        return False

    async def _await_quota(self) -> None:
        self._quota.bytes_per_s = self._partitions.settings.int(RATE)
        while self._quota.is_spent(self._now()):
            await asyncio.sleep(PAUSE_S)
            self._quota.bytes_per_s = self._partitions.settings.int(RATE)

    async def _prepare(self, moving: FutureLog, replica: Replica, target: LogDirectory) -> None:
        """Most of the copy is made durable, and the controller knows where the replica will be."""
        job = moving.future.begin_flush()
        await asyncio.get_running_loop().run_in_executor(self._threads, job.run)
        moving.future.end_flush(job)
        partition = replica.topic_partition
        if self._moving.get(partition) is moving:
            self._directories.moving_to[partition] = self._directories.id_of(target)
            await self._assignments.tell_of_now([replica])
