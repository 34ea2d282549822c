"""Opening a partition's directory: after a clean stop by trust, after a crash by reading.

Kafka: LogLoader. The steps: what lies there is tidied (`segment_files`), what was not flushed is
read and cut where it is torn (`segment_recovery`), the log's bounds are settled, and the states of
producers are made anew from the last snapshot on (`rebuilding`).
"""

import os
from pathlib import Path
from typing import NamedTuple

from ottla.ids import ZERO_UUID, TopicPartition, Uuid, parse_uuid
from ottla.log.config import LogConfig
from ottla.log.epochs import LeaderEpochs
from ottla.log.files import DELETED, LEADER_EPOCHS, LOG, file_name, read_file
from ottla.log.health import DirectoryHealth
from ottla.log.new_directories import PARTITION_METADATA, make_directory
from ottla.log.partition_log import LogResources, PartitionLog
from ottla.log.producer_snapshots import ProducerSnapshots
from ottla.log.producers import ProducerStates
from ottla.log.rebuilding import rebuild_producers
from ottla.log.segment import Segment
from ottla.log.segment_files import list_or_make, tidy
from ottla.log.segment_recovery import recover_segments

_OWNER = b"version: 0\ntopic_id: "  # written without a sync, so it may be torn
_OWNER_BYTES = len(_OWNER) + 22


class LogLocation(NamedTuple):
    """Where a log is opened, and by which rules."""

    path: Path
    topic_partition: TopicPartition
    config: LogConfig
    resources: LogResources
    health: DirectoryHealth
    now_ms: int

    def segment(self, base_offset: int) -> Segment:
        """A new one, without a file yet."""
        return Segment(
            self.path, base_offset, self.resources.files, self.config, now_ms=self.now_ms
        )

    def existing_segment(self, base_offset: int) -> Segment:
        return Segment(
            self.path,
            base_offset,
            self.resources.files,
            self.config,
            now_ms=self.now_ms,
            size=os.stat(f"{self.path}/{file_name(base_offset, LOG)}").st_size,
            fresh=False,
        )


def open_log(
    path: Path,
    topic_partition: TopicPartition,
    config: LogConfig,
    resources: LogResources,
    *,
    now_ms: int,
    clean: bool = True,
    recovery_point: int = 0,
    log_start_offset: int = 0,
    topic_id: Uuid | None = None,
    health: DirectoryHealth | None = None,
) -> PartitionLog:
    """The log in `path`, made if it is not there. `topic_id` is written down if none is yet."""
    health = health or DirectoryHealth(path.parent)
    location = LogLocation(path, topic_partition, config, resources, health, now_ms)
    if topic_id is not None and not os.path.isdir(path):
        return _new_log(location, topic_id)
    names = list_or_make(path)
    bases, snapshot_offsets = tidy(path, names)
    epochs = LeaderEpochs(path / LEADER_EPOCHS)
    if not (LEADER_EPOCHS in names and epochs.load()):
        recovery_point = 0  # epochs are in every batch: all have to be read
    segments = [location.existing_segment(base) for base in bases]
    snapshots = ProducerSnapshots(path, snapshot_offsets)
    if segments and not clean:
        checked_from = recover_segments(segments, epochs, config, recovery_point)
        # Aborted transactions are found anew on the way to the log's end: from a snapshot
        # further on they would be missed.
        snapshots.remove_outside(0, checked_from)
    segments, log_start_offset, log_end_offset = _settle_bounds(
        location, segments, log_start_offset
    )
    epochs.truncate_from_end(log_end_offset)
    epochs.truncate_from_start(log_start_offset)
    snapshots.remove_strays([segment.base_offset for segment in segments])
    producers = ProducerStates()
    oldest_ms = now_ms - config.producer_expiration_ms
    rebuild_producers(producers, snapshots, segments, log_start_offset, log_end_offset, oldest_ms)
    log = PartitionLog(
        path,
        topic_partition,
        _topic_id(path, names, topic_id),
        config,
        resources,
        segments,
        epochs=epochs,
        producers=producers,
        snapshots=snapshots,
        log_start_offset=log_start_offset,
        log_end_offset=log_end_offset,
        recovery_point=log_end_offset if clean else min(recovery_point, log_end_offset),
        health=health,
    )
    # What was checked now counts as unflushed: kills in a row must not add up to a long recovery.
    log.unflushed_bytes = sum(segment.size for segment in segments if segment.unsynced)
    return log


class Bounds(NamedTuple):
    segments: list[Segment]  # at least one
    log_start_offset: int
    log_end_offset: int


def _settle_bounds(location: LogLocation, segments: list[Segment], log_start_offset: int) -> Bounds:
    """From where to where it reaches, when it is to begin no earlier than `log_start_offset`."""
    if segments:
        log_end_offset = segments[-1].next_offset()
        log_start_offset = max(log_start_offset, segments[0].base_offset)
        if log_start_offset <= log_end_offset:
            return Bounds(segments, log_start_offset, log_end_offset)
    for segment in segments:  # the start was moved beyond all that is left
        segment.rename("", DELETED)
    first = location.segment(log_start_offset)
    if log_start_offset > 0:
        first.handle  # noqa: B018  (its name holds the offset)
    return Bounds([first], log_start_offset, log_start_offset)


def _new_log(location: LogLocation, topic_id: Uuid) -> PartitionLog:
    """Without a look at the disk: a request may ask for thousands."""
    path, topic_partition, config, resources, health, _ = location
    resources.files.new_directories.promise(str(path), topic_id, health)
    return PartitionLog(
        path,
        topic_partition,
        topic_id,
        config,
        resources,
        [location.segment(0)],
        epochs=LeaderEpochs(path / LEADER_EPOCHS),
        producers=ProducerStates(),
        snapshots=ProducerSnapshots(path),
        log_start_offset=0,
        log_end_offset=0,
        recovery_point=0,
        health=health,
    )


def _topic_id(path: Path, names: list[str], topic_id: Uuid | None) -> Uuid:
    """The id that is written down here, or else the one given, which then is."""
    if PARTITION_METADATA in names:
        content = read_file(f"{path}/{PARTITION_METADATA}")
        torn = len(content) < _OWNER_BYTES and content[: len(_OWNER)] == _OWNER[: len(content)]
        _, found, text = content.decode().partition("topic_id: ")
        if found and not torn:
            return parse_uuid(text.strip())
    if topic_id is None:
        return ZERO_UUID
    make_directory(str(path), topic_id)
    return topic_id
