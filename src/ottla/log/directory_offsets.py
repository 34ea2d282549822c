"""The offsets of all logs in a directory as its checkpoint files have them: read at the start,
written again and again."""

from pathlib import Path
from typing import NamedTuple

from ottla.ids import TopicPartition
from ottla.log.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    CheckpointJob,
    Checkpoints,
    OffsetFile,
    read_offsets,
)
from ottla.log.partition_log import PartitionLog
from ottla.ports.disk import Sync


class SavedOffsets(NamedTuple):
    """What was written down of the logs here; a log that is missing counts from 0."""

    recovery_points: dict[TopicPartition, int]
    log_starts: dict[TopicPartition, int]
    high_watermarks: dict[TopicPartition, int]
    cleaned: dict[TopicPartition, int]

    @classmethod
    def read(cls, directory: Path) -> "SavedOffsets":
        names = RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS, CLEANER_OFFSETS
        return cls(*(read_offsets(directory / name) for name in names))

    def partitions(self) -> set[TopicPartition]:
        return {partition for offsets in self for partition in offsets}


class DirectoryOffsets:
    """What the next checkpoint says; only what changed is put into words again."""

    def __init__(self, directory: Path, sync: Sync) -> None:
        self._checkpoints = Checkpoints(sync)
        self._recovery_points = OffsetFile(directory / RECOVERY_POINTS)
        self._log_starts = OffsetFile(directory / LOG_STARTS)
        self._high_watermarks = OffsetFile(directory / HIGH_WATERMARKS)
        self._cleaner_offsets = OffsetFile(directory / CLEANER_OFFSETS)
        self._files = (
            self._recovery_points,
            self._log_starts,
            self._high_watermarks,
            self._cleaner_offsets,
        )

    def note(self, log: PartitionLog) -> None:
        """As they are now."""
        partition = log.topic_partition
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

    def forget(self, partition: TopicPartition) -> None:
        """Its log is gone."""
        for file in self._files:
            file.forget(partition)
        self._checkpoints.gone(partition)

    def may_tell_of_a_former(self, partition: TopicPartition) -> bool:
        """Whether the files may have that name from a log that is gone."""
        return self._checkpoints.may_tell_of_a_former(partition)

    def checkpoint(self) -> CheckpointJob:
        return self._checkpoints.take(tuple(file.encoded() for file in self._files))


def _moved(log: PartitionLog) -> bool:
    """Kafka writes down a start only where it is not plain from the first segment's name."""
    return log.log_start_offset > log.segments[0].base_offset
