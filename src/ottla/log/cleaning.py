"""Cleaning segment files: of every key the newest record stays.

`clean` reads the segments of a plan and writes `.cleaned` files beside them; it never touches the
log itself, so it can run in a process of its own (`cleaning_process`). Deciding what to clean and
putting the result in place is `compaction`'s part. A segment that is damaged is left as it is.
"""

import os
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from ottla.errors import OttlaError
from ottla.log.config import LogConfig
from ottla.log.files import (
    CLEANED,
    LOG,
    SEGMENT_SUFFIXES,
    FileHandle,
    OpenFiles,
    file_name,
    sync_directory,
)
from ottla.log.indexes import AbortedTransaction
from ottla.log.reading import OLD_MAGIC, Damage
from ottla.log.scanning import scan
from ottla.log.segment import RELATIVE_OFFSET_MAX, Segment
from ottla.log.transactions_seen import TransactionsSeen
from ottla.wire.compression import Codec, compress
from ottla.wire.record_batch import (
    CODEC_MASK,
    CONTROL,
    DELETE_HORIZON,
    LOG_APPEND_TIME,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    BatchHeader,
    Record,
    encode_record,
    iterate_records,
    seal_batch,
)

KEYS_MAX = 1_000_000  # about 128 MiB, what Kafka's log.cleaner.dedupe.buffer.size allows
OUTPUT_MAX = 1 << 30  # what was once accepted must be readable here
_SHORT_KEY = 32
_MAGIC_AT = 16


class SourceSegment(NamedTuple):
    base_offset: int
    size: int


class ProducerEnd(NamedTuple):
    """The last batch of a producer that is still active: it is kept, be it empty."""

    last_data_offset: int  # -1: it wrote only markers
    epoch: int


class CleaningPlan(NamedTuple):
    directory: str
    segments: tuple[SourceSegment, ...]  # all below `first_uncleanable`
    first_dirty: int
    first_uncleanable: int
    aborted: tuple[AbortedTransaction, ...]
    producers: dict[int, ProducerEnd]
    config: LogConfig
    now_ms: int
    truncations: int = 0  # of the log, when it was planned
    keys_max: int = KEYS_MAX


class CleanedGroup(NamedTuple):
    """Segments and the one `.cleaned` segment that replaces them, named after the first."""

    replaced: tuple[SourceSegment, ...]
    size: int


class CleaningResult(NamedTuple):
    groups: tuple[CleanedGroup, ...]
    end_offset: int  # everything below has been cleaned


def clean(plan: CleaningPlan) -> CleaningResult:
    keys, latest = newest_offsets(plan)
    transactions = TransactionsSeen(plan.aborted)
    covered = [segment for segment in plan.segments if segment.base_offset <= latest]
    groups = []
    for group in grouped(covered, plan):
        groups.append(_clean_group(group, plan, keys, latest, transactions))
    sync_directory(Path(plan.directory))
    return CleaningResult(tuple(groups), latest + 1)


def newest_offsets(plan: CleaningPlan) -> tuple[dict[bytes, int], int]:
    """Key → newest offset over the dirty part, and the offset up to which that was found out."""
    keys: dict[bytes, int] = {}
    latest = plan.first_dirty - 1
    transactions = TransactionsSeen(plan.aborted)
    for n, segment in enumerate(plan.segments):
        last = n + 1 == len(plan.segments)
        end = plan.first_uncleanable if last else plan.segments[n + 1].base_offset
        if end <= plan.first_dirty:
            continue
        for data, header in _batches(plan, segment):
            if header.last_offset < plan.first_dirty or transactions.discards(data, header):
                continue
            if not header.is_control:
                for record in iterate_records(data, 0, header, OUTPUT_MAX):
                    if record.key is not None and record.offset >= plan.first_dirty:
                        if len(keys) >= plan.keys_max:
                            return keys, latest
                        keys[fingerprint(record.key)] = record.offset
            latest = header.last_offset
        latest = max(latest, end - 1)
    return keys, latest


def fingerprint(key: bytes) -> bytes:
    """Long keys take the room of sixteen bytes; two that collide do not occur in practice."""
    return key if len(key) <= _SHORT_KEY else blake2b(key, digest_size=16).digest()


def grouped(segments: list[SourceSegment], plan: CleaningPlan) -> Iterator[list[SourceSegment]]:
    """Neighbours that together fit into one segment are cleaned into one."""
    group: list[SourceSegment] = []
    size = 0
    for n, segment in enumerate(segments):
        last = n + 1 == len(segments)
        end = plan.first_uncleanable if last else segments[n + 1].base_offset
        fits = group and (
            size + segment.size <= plan.config.segment_bytes
            and (segment.size == 0 or end - 1 - group[0].base_offset <= RELATIVE_OFFSET_MAX)
        )
        if group and not fits:
            yield group
            group, size = [], 0
        group.append(segment)
        size += segment.size
    if group:
        yield group


def _clean_group(
    group: list[SourceSegment],
    plan: CleaningPlan,
    keys: dict[bytes, int],
    latest: int,
    transactions: TransactionsSeen,
) -> CleanedGroup:
    directory, base = Path(plan.directory), group[0].base_offset
    target = Segment(directory, base, OpenFiles(), plan.config, now_ms=plan.now_ms)
    for part in (target.index, target.times, target.aborted):
        part.path += CLEANED
    target.log_path += CLEANED
    for suffix in SEGMENT_SUFFIXES:
        (directory / file_name(base, suffix + CLEANED)).unlink(missing_ok=True)
    for segment in group:
        for data, header in _batches(plan, segment):
            kept = retained(data, header, plan, keys, latest, transactions)
            if kept is not None:
                new, batch = kept
                position = target.size
                target.write((batch,), len(batch))
                target.note(new.last_offset, new.max_timestamp, position, len(batch), plan.config)
        for aborted in transactions.take_kept_aborts():
            target.aborted.append(aborted)
    _make_durable(target, directory / file_name(group[-1].base_offset, LOG))
    return CleanedGroup(tuple(group), target.size)


def _make_durable(target: Segment, last_source: Path) -> None:
    """Retention by time goes by the file's date where records have none: hand it on."""
    target.seal()
    os.fdatasync(target.handle.fd)
    for path in target.index_paths():
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        os.fdatasync(fd)
        os.close(fd)
    modified = os.stat(last_source).st_mtime_ns
    os.utime(target.log_path, ns=(modified, modified))


def _batches(plan: CleaningPlan, segment: SourceSegment) -> Iterator[tuple[bytes, BatchHeader]]:
    """All of a segment: what cannot be read must not be taken for what is not there."""
    handle = FileHandle(str(Path(plan.directory) / file_name(segment.base_offset, LOG)))
    end, next_offset = 0, segment.base_offset
    for position, header in scan(handle, 0, segment.size, check=True):
        yield handle.read(position, header.size), header
        end, next_offset = position + header.size, header.next_offset
    if end < segment.size:
        magic = handle.read(end + _MAGIC_AT, 1)
        if magic and magic[0] in OLD_MAGIC:
            raise OttlaError(f"The batch at offset {next_offset} is in a format before Kafka 0.11.")
        raise Damage(next_offset)


def retained(
    data: bytes,
    header: BatchHeader,
    plan: CleaningPlan,
    keys: dict[bytes, int],
    latest: int,
    transactions: TransactionsSeen,
) -> tuple[BatchHeader, bytes] | None:
    """What stays of a batch: all of it, a smaller batch, an empty one that marks its place."""
    useless = transactions.discards(data, header)
    horizon = header.delete_horizon
    discard = useless and (
        not header.is_control or (horizon is not None and horizon <= plan.now_ms)
    )
    keep_empty = _is_last_of_producer(header, plan) or header.next_offset == plan.first_uncleanable
    if discard and not keep_empty:
        return None
    records = [] if discard else list(iterate_records(data, 0, header, OUTPUT_MAX))
    stay = [
        record
        for record in records
        if header.is_control or _stays(record, horizon, plan.now_ms, keys, latest)
    ]
    if not stay:
        return _emptied(header) if keep_empty else None
    tombstones = any(record.value is None for record in stay)
    if horizon is None and (tombstones or (useless and header.is_control)):
        horizon = plan.now_ms + plan.config.delete_retention_ms
    elif len(stay) == len(records):
        return header, data
    return _rebuilt(header, stay, horizon)


def _stays(
    record: Record, horizon: int | None, now_ms: int, keys: dict[bytes, int], latest: int
) -> bool:
    if record.offset > latest:
        return True
    if record.key is None or record.offset < keys.get(fingerprint(record.key), -1):
        return False
    return record.value is not None or horizon is None or now_ms < horizon


def _is_last_of_producer(header: BatchHeader, plan: CleaningPlan) -> bool:
    end = plan.producers.get(header.producer_id)
    if end is None:
        return False
    if end.last_data_offset >= 0:
        return header.last_offset == end.last_data_offset
    return header.is_control and header.producer_epoch == end.epoch


def _emptied(header: BatchHeader) -> tuple[BatchHeader, bytes]:
    attributes = header.attributes & (LOG_APPEND_TIME | TRANSACTIONAL | CONTROL)
    new = header._replace(attributes=attributes, base_timestamp=NO_TIMESTAMP, count=0)
    return new, seal_batch(new, b"")


def _rebuilt(
    header: BatchHeader, records: list[Record], horizon: int | None
) -> tuple[BatchHeader, bytes]:
    """The same batch with fewer records; its range of offsets and sequences is unchanged."""
    attributes = header.attributes & ~DELETE_HORIZON
    base_timestamp = records[0].timestamp
    if horizon is not None:
        attributes |= DELETE_HORIZON
        base_timestamp = horizon
    max_timestamp = header.max_timestamp
    if not header.log_append_time:
        max_timestamp = max(record.timestamp for record in records)
    payload = b"".join(
        encode_record(record.offset - header.base_offset, record.timestamp - base_timestamp, record)
        for record in records
    )
    new = header._replace(
        attributes=attributes,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        count=len(records),
    )
    return new, seal_batch(new, compress(Codec(attributes & CODEC_MASK), payload))
