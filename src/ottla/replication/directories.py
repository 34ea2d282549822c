"""All log directories of this node as one: where a partition's log lies, or is to be made."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from ottla.errors import ErrorCode, KafkaError
from ottla.ids import UNASSIGNED_DIRECTORY, TopicPartition, Uuid
from ottla.log.config import LogConfig
from ottla.log.directory import LogDirectory
from ottla.log.new_directories import make_directory
from ottla.log.partition_log import PartitionLog

log = logging.getLogger(__name__)


def is_cordoned(directory: LogDirectory, names: Sequence[str]) -> bool:
    """Whether it is to get no new partitions; `names` is the value of `cordoned.log.dirs`."""
    return "*" in names or directory.path in map(Path, names)


class Directories:
    """Implements `partitions.Logs`. A new log goes where it is assigned, or where fewest are."""

    def __init__(
        self,
        directories: Sequence[LogDirectory],
        ids: Sequence[Uuid],
        now_ms: Callable[[], int],
        cordoned: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        """`cordoned` gives the value that `cordoned.log.dirs` has now."""
        self.directories = list(directories)
        self.ids = list(ids)
        self.some_unread = False
        """At the start a directory could not be used: a log that is not found may lie there."""
        self._now_ms = now_ms
        self._cordoned = cordoned
        self.moving_to: dict[TopicPartition, Uuid] = {}
        """Replicas of which the controller was told that they are where they are about to be."""
        self.preferred: dict[TopicPartition, LogDirectory] = {}
        """Where a replica is to be made that is not placed here yet."""
        self._left: set[tuple[LogDirectory, TopicPartition]] = set()  # deleted, but not the files

    def find(self, topic_partition: TopicPartition) -> PartitionLog | None:
        for directory in self.directories:
            found = directory.logs.get(topic_partition)
            if found is not None:
                return found
        return None

    def create(
        self, topic_partition: TopicPartition, topic_id: Uuid, config: LogConfig, directory: Uuid
    ) -> PartitionLog:
        for one in self.directories:
            if topic_partition in one.unusable:
                raise KafkaError(
                    ErrorCode.KAFKA_STORAGE_ERROR,
                    f"{topic_partition} could not be opened when the broker started "
                    f"({one.unusable[topic_partition]}).",
                )
            self._clear_the_way(one, topic_partition)
        if self.some_unread and not self._is_here_or_nowhere(directory):
            raise KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR,
                f"{topic_partition} is not found, and a log directory could not be used when the "
                "broker started.",
            )
        abandoned = self._abandoned(topic_partition, topic_id)
        if abandoned is not None:
            return abandoned
        chosen = self.preferred.pop(topic_partition, None) or self._choose(directory)
        return chosen.create(topic_partition, topic_id, config, now_ms=self._now_ms())

    def _abandoned(self, topic_partition: TopicPartition, topic_id: Uuid) -> PartitionLog | None:
        """A copy that had all, when a crash kept it from taking the name of what it copied."""
        for directory in self.directories:
            future = directory.futures.get(topic_partition)
            if future is not None and future.topic_id == topic_id:
                future.close()
                return directory.become_current(topic_partition, now_ms=self._now_ms())
        return None

    def future(self, topic_partition: TopicPartition) -> LogDirectory | None:
        """The directory that a replica moves to."""
        found = (one for one in self.directories if topic_partition in one.futures)
        return next(found, None)

    def home(self, partition_log: PartitionLog) -> LogDirectory:
        for directory in self.directories:
            if directory.logs.get(partition_log.topic_partition) is partition_log:
                return directory
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{partition_log.path} is not in use.")

    def drop_future(self, topic_partition: TopicPartition) -> None:
        self.moving_to.pop(topic_partition, None)
        directory = self.future(topic_partition)
        if directory is not None:
            directory.drop_future(topic_partition, now_ms=self._now_ms())

    def assign(self, partition_log: PartitionLog, topic_id: Uuid) -> None:
        try:
            make_directory(str(partition_log.path), topic_id)
        except OSError as error:
            raise partition_log.health.report(error) from error
        partition_log.topic_id = topic_id

    def delete(self, partition_log: PartitionLog) -> None:
        for directory in self.directories:
            if directory.logs.get(partition_log.topic_partition) is partition_log:
                self._delete_from(directory, partition_log.topic_partition)

    def delete_unusable(self, topic_partition: TopicPartition) -> None:
        for directory in self.directories:
            if topic_partition in directory.unusable:
                self._delete_from(directory, topic_partition)

    def _delete_from(self, directory: LogDirectory, topic_partition: TopicPartition) -> None:
        """A disk that refuses changes nothing: the partition is gone, and a node that starts finds
        its files to be strays."""
        try:
            directory.delete(topic_partition, now_ms=self._now_ms())
        except KafkaError as error:
            self._left.add((directory, topic_partition))
            log.error("the files of %s are left behind: %s", topic_partition, error.message)

    def _clear_the_way(self, directory: LogDirectory, topic_partition: TopicPartition) -> None:
        """A new topic must not find what one of the same name left behind in a full directory."""
        left = directory, topic_partition
        if left in self._left and directory.health.failure is None:
            directory.delete(topic_partition, now_ms=self._now_ms())
            self._left.discard(left)

    def set_aside_strays(self, known: Callable[[TopicPartition], bool]) -> None:
        """Logs that the cluster does not place here any more: kept, under another name."""
        for directory in self.directories:
            for topic_partition in list(directory.logs):
                if not known(topic_partition):
                    aside = directory.set_aside_stray(topic_partition)
                    log.warning("%s is not placed here: set aside as %s", topic_partition, aside)

    def directory_of(self, partition_log: PartitionLog) -> Uuid:
        """As the controller is to know it."""
        if (promised := self.moving_to.get(partition_log.topic_partition)) is not None:
            return promised
        for directory, directory_id in zip(self.directories, self.ids, strict=True):
            if directory.logs.get(partition_log.topic_partition) is partition_log:
                return directory_id
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def _is_here_or_nowhere(self, directory: Uuid) -> bool:
        """An empty log in place of one that cannot be reached could lead, and all would be lost."""
        return directory == UNASSIGNED_DIRECTORY or directory in self.ids_where(failed=False)

    def ids_where(self, *, failed: bool) -> list[Uuid]:
        return [
            directory_id
            for directory, directory_id in zip(self.directories, self.ids, strict=True)
            if (directory.health.failure is not None) == failed
        ]

    def id_of(self, directory: LogDirectory) -> Uuid:
        return self.ids[self.directories.index(directory)]

    def is_cordoned(self, directory: LogDirectory) -> bool:
        return is_cordoned(directory, self._cordoned())

    def cordoned_ids(self) -> list[Uuid]:
        names = self._cordoned()
        return [
            directory_id
            for directory, directory_id in zip(self.directories, self.ids, strict=True)
            if is_cordoned(directory, names)
        ]

    def _choose(self, directory: Uuid) -> LogDirectory:
        usable = [one for one in self.directories if one.health.failure is None]
        if directory in self.ids and self.directories[self.ids.index(directory)] in usable:
            return self.directories[self.ids.index(directory)]
        if not usable:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "No log directory is usable.")
        names = self._cordoned()
        return min(usable, key=lambda one: (is_cordoned(one, names), len(one.logs)))
