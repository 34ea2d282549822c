"""Opening a partition's directory: after a clean stop by trust, after a crash by reading.

Recovery reads from the recovery point on, cuts what is torn, and rebuilds indexes, epochs and
producer states from the batches. What an interrupted cleaning left is finished or undone first.
"""

import os
from logging import getLogger
from pathlib import Path

from ottla.ids import ZERO_UUID, TopicPartition, Uuid, parse_uuid
from ottla.log.config import LogConfig
from ottla.log.damage import keep_segments, keep_what_follows
from ottla.log.epochs import LeaderEpochs
from ottla.log.files import (
    CLEANED,
    DELETED,
    LEADER_EPOCHS,
    LOG,
    SEGMENT_SUFFIXES,
    SNAPSHOT,
    SWAP,
    FileHandle,
    file_name,
    read_file,
)
from ottla.log.health import DirectoryHealth
from ottla.log.new_directories import PARTITION_METADATA, make_directory
from ottla.log.partition_log import LogResources, PartitionLog
from ottla.log.producer_snapshots import ProducerSnapshots
from ottla.log.producers import ProducerStates
from ottla.log.rebuilding import rebuild_producers
from ottla.log.scanning import scan
from ottla.log.segment import RELATIVE_OFFSET_MAX, Segment
from ottla.ports.disk import UNFINISHED

logger = getLogger(__name__)

_OWNER = b"version: 0\ntopic_id: "  # written without a sync, so it may be torn
_OWNER_BYTES = len(_OWNER) + 22


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
    if topic_id is not None and not os.path.isdir(path):
        resources.files.new_directories.promise(str(path), topic_id, health)
        return _new_log(path, topic_partition, topic_id, config, resources, health, now_ms)
    names = _names(path)
    bases, snapshot_offsets = _tidy(path, names, config, resources)
    epochs = LeaderEpochs(path / LEADER_EPOCHS)
    if not (LEADER_EPOCHS in names and epochs.load()):
        recovery_point = 0  # epochs are in every batch: all have to be read
    producers = ProducerStates()
    snapshots = ProducerSnapshots(path, snapshot_offsets)
    segments = [
        Segment(
            path,
            base,
            resources.files,
            config,
            now_ms=now_ms,
            size=os.stat(f"{path}/{file_name(base, LOG)}").st_size,
            fresh=False,
        )
        for base in bases
    ]
    if segments:
        if not clean:
            checked_from = _recover(segments, epochs, config, recovery_point)
            # Aborted transactions are found anew on the way to the log's end: from a snapshot
            # further on they would be missed.
            snapshots.remove_outside(0, checked_from)
        log_end_offset = segments[-1].next_offset()
        log_start_offset = max(log_start_offset, segments[0].base_offset)
    if not segments or log_end_offset < log_start_offset:
        for segment in segments:  # the start was moved beyond all that is left
            segment.rename("", DELETED)
        segments = [Segment(path, log_start_offset, resources.files, config, now_ms=now_ms)]
        if log_start_offset > 0:
            segments[0].handle  # noqa: B018  (its name holds the offset)
        log_end_offset = log_start_offset
    epochs.truncate_from_end(log_end_offset)
    epochs.truncate_from_start(log_start_offset)
    snapshots.remove_strays([segment.base_offset for segment in segments])
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


def _new_log(
    path: Path,
    topic_partition: TopicPartition,
    topic_id: Uuid,
    config: LogConfig,
    resources: LogResources,
    health: DirectoryHealth,
    now_ms: int,
) -> PartitionLog:
    """Without a look at the disk: a request may ask for thousands."""
    return PartitionLog(
        path,
        topic_partition,
        topic_id,
        config,
        resources,
        [Segment(path, 0, resources.files, config, now_ms=now_ms)],
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


# --- what lies in the directory


def _names(path: Path) -> list[str]:
    """Empty for a directory that had to be made."""
    try:
        return os.listdir(path)
    except FileNotFoundError:
        os.mkdir(path)
        return []


def _tidy(
    path: Path, names: list[str], config: LogConfig, resources: LogResources
) -> tuple[list[int], list[int]]:
    """Finish or undo what was under way; base offsets of segments and offsets of snapshots."""
    for name in names:
        if name.endswith(UNFINISHED):
            os.unlink(path / name)
    if any(name.endswith((CLEANED, SWAP, DELETED)) for name in names):
        _finish_swaps(path, names, config, resources)
        names = os.listdir(path)
    bases, snapshots = [], []
    for name in names:
        stem = name[:20]
        if not stem.isdigit():
            continue
        if name[20:] == LOG:
            bases.append(int(stem))
        elif name[20:] == SNAPSHOT:
            snapshots.append(int(stem))
    known = set(bases)
    for name in names:
        if name[20:] in SEGMENT_SUFFIXES and name[:20].isdigit() and int(name[:20]) not in known:
            os.unlink(path / name)  # an index without its log
    return sorted(bases), sorted(snapshots)


def _finish_swaps(path: Path, names: list[str], config: LogConfig, resources: LogResources) -> None:
    """A `.cleaned` was not complete: undo. A `.swap` was: it replaces the segments it covers."""
    for name in names:
        if name.endswith((CLEANED, DELETED)):
            (path / name).unlink(missing_ok=True)
    unfinished = [int(name[:20]) for name in names if name.endswith(CLEANED)]
    swaps = [int(name[:20]) for name in names if name[20:] == LOG + SWAP]
    bases = [int(name[:20]) for name in names if name[20:] == LOG]
    for base in sorted(swaps):
        if unfinished and base >= min(unfinished):
            continue  # one segment was being split into several, and not all parts are there
        swap = path / file_name(base, LOG + SWAP)
        end = _end_of(swap, base)
        for covered in bases:
            if base <= covered < end:
                for suffix in SEGMENT_SUFFIXES:
                    (path / file_name(covered, suffix)).unlink(missing_ok=True)
        for suffix in SEGMENT_SUFFIXES:
            source = path / file_name(base, suffix + SWAP)
            if source.exists():
                os.replace(source, path / file_name(base, suffix))
    for name in os.listdir(path):
        if name.endswith(SWAP):
            (path / name).unlink()


def _end_of(file: Path, base: int) -> int:
    handle = FileHandle(str(file))
    end = base + 1
    for _, header in scan(handle, 0, os.fstat(handle.fd).st_size):
        end = header.next_offset
    return end


# --- reading what was not flushed


def _recover(
    segments: list[Segment], epochs: LeaderEpochs, config: LogConfig, recovery_point: int
) -> int:
    """Check everything from the recovery point on, or from further back where an index is not to
    be trusted: the offset it began at. The first damage ends the log."""
    first = max(
        (n for n, segment in enumerate(segments) if segment.base_offset <= recovery_point),
        default=0,
    )
    checked_from = recovery_point
    for n in range(first, len(segments)):
        segment = segments[n]
        size = segment.size
        checked_from = min(checked_from, recover_segment(segment, epochs, config, recovery_point))
        if segment.size < size:
            logger.warning(
                "cut %d bytes that were not written whole off %s",
                size - segment.size,
                segment.log_path,
            )
            keep_segments(segments[n + 1 :])
            del segments[n + 1 :]
            break
        if n + 1 < len(segments):
            segment.seal()
    return checked_from


def _end_of_flushed(segment: Segment, recovery_point: int) -> int:
    """Where the batches below the recovery point end; 0 if they are not all there: a disk may
    forget what it said was safe."""
    end, next_offset = 0, -1
    for position, header in scan(segment.handle, segment.index.last_position(), segment.size):
        if header.last_offset >= recovery_point:
            return position
        end, next_offset = position + header.size, header.next_offset
    return end if next_offset == recovery_point else 0


def recover_segment(
    segment: Segment, epochs: LeaderEpochs, config: LogConfig, recovery_point: int = 0
) -> int:
    """Rebuild indexes and epochs of a segment from `recovery_point` on; cut at the first damage.

    Below the recovery point batches and index entries were flushed, and are trusted if they agree.
    Returns the offset from which on transactions have to be looked for anew.
    """
    start = 0
    if recovery_point > segment.base_offset and segment.index.is_sane(segment.size):
        segment.index.truncate_to(recovery_point)
        segment.times.truncate_to(recovery_point)
        start = _end_of_flushed(segment, recovery_point)
        segment.reload_largest_timestamp(start)
    if start == 0:
        segment.index.clear()
        segment.times.clear()
        segment.max_timestamp = -1
    segment.bytes_since_index_entry = start - segment.index.last_position()
    checked_from = recovery_point if start else segment.base_offset
    segment.aborted.truncate_to(checked_from)
    end, latest = start, epochs.latest
    for position, header in scan(segment.handle, start, segment.size, check=True):
        if header.last_offset - segment.base_offset > RELATIVE_OFFSET_MAX:
            break
        segment.note(header.last_offset, header.max_timestamp, position, header.size, config)
        if header.leader_epoch > latest:
            latest = header.leader_epoch
            epochs.assign(latest, header.base_offset)
        end = position + header.size
    if end < segment.size:
        keep_what_follows(segment, end)
        os.ftruncate(segment.handle.fd, end)
        segment.size = end
    segment.unsynced = True
    return checked_from
