"""Cleaning segment files: of every key the newest record stays.

`clean` reads the segments of a plan and writes `.cleaned` files beside them; it never touches the
log itself, so it can run in a process of its own (`cleaning_process`). Deciding what to clean and
putting the result in place is `compaction`'s part. A segment that is damaged is left as it is.
Records are looked at in columns (`wire.columns`), and copied as they are: of a million that are
cleaned again and again an object for each would be most of the work.
"""

import os
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import compress, repeat
from pathlib import Path
from typing import NamedTuple

from ottla.errors import OttlaError
from ottla.log.config import LogConfig
from ottla.log.files import (
    CLEANED,
    DELETED,
    LOG,
    SEGMENT_SUFFIXES,
    FileHandle,
    OpenFiles,
    file_name,
)
from ottla.log.indexes import AbortedTransaction
from ottla.log.reading import OLD_MAGIC, Damage
from ottla.log.scanning import scan_batches
from ottla.log.segment import RELATIVE_OFFSET_MAX, Segment
from ottla.log.transactions_seen import TransactionsSeen
from ottla.ports.disk import sync, sync_directory
from ottla.wire.columns import RecordColumns, read_columns
from ottla.wire.compression import Buffer, Codec
from ottla.wire.compression import compress as compressed
from ottla.wire.record_batch import (
    CODEC_MASK,
    CONTROL,
    DELETE_HORIZON,
    LOG_APPEND_TIME,
    MAGIC_AT,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    BatchHeader,
    corrupt,
    encode_record,
    payload_of,
    read_records,
    seal_batch,
)

KEYS_MAX = 1_000_000  # about 128 MiB, what Kafka's log.cleaner.dedupe.buffer.size allows
OUTPUT_MAX = 1 << 30  # what was once accepted must be readable here
_SHORT_KEY = 32
NO_KEY = b"no key".ljust(_SHORT_KEY + 1)
"""Longer than any fingerprint: it is none."""


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
    _make_way(covered, Path(plan.directory))
    return CleaningResult(tuple(groups), latest + 1)


def _make_way(segments: list[SourceSegment], directory: Path) -> None:
    """What an earlier cleaning set aside goes now: whoever puts the cleaned segments in place would
    have to wait for the file system, which takes milliseconds to let go of a large file."""
    for segment in segments:
        for suffix in SEGMENT_SUFFIXES:
            (directory / file_name(segment.base_offset, suffix + DELETED)).unlink(missing_ok=True)


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
            if not header.is_control and not _note_keys(data, header, plan, keys):
                return keys, latest
            latest = header.last_offset
        latest = max(latest, end - 1)
    return keys, latest


def _note_keys(
    data: Buffer, header: BatchHeader, plan: CleaningPlan, keys: dict[bytes, int]
) -> bool:
    """False where there is no room for all of them."""
    columns = read_batch(data, header).columns
    offsets = [header.base_offset + delta for delta in columns.offsets]
    found: Iterable[tuple[bytes, int]] = zip(fingerprints(columns.keys), offsets, strict=True)
    if header.base_offset < plan.first_dirty or None in columns.keys:
        found = [
            (key, offset)
            for key, offset in found
            if key is not NO_KEY and offset >= plan.first_dirty
        ]
    if len(keys) + len(offsets) <= plan.keys_max:
        keys.update(found)
        return True
    for key, offset in found:
        if len(keys) >= plan.keys_max:
            return False
        keys[key] = offset
    return True


class PlainBatch(NamedTuple):
    """The records of a batch without compression."""

    payload: bytes
    columns: RecordColumns


def read_batch(data: Buffer, header: BatchHeader) -> PlainBatch:
    payload = bytes(payload_of(data, 0, header, OUTPUT_MAX))
    try:
        return PlainBatch(payload, read_columns(payload, header.count))
    except (IndexError, ValueError) as error:
        raise corrupt(f"A record at offset {header.base_offset} and on is malformed.") from error


def fingerprints(keys: list[bytes | None]) -> list[bytes]:
    """NO_KEY where there is none."""
    if None not in keys and max(map(len, keys), default=0) <= _SHORT_KEY:  # type: ignore[arg-type]
        return keys  # type: ignore[return-value]
    return [NO_KEY if key is None else fingerprint(key) for key in keys]


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
    sync(target.handle.fd)
    for path in target.index_paths():
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        sync(fd)
        os.close(fd)
    modified = os.stat(last_source).st_mtime_ns
    os.utime(target.log_path, ns=(modified, modified))


def _batches(
    plan: CleaningPlan, segment: SourceSegment
) -> Iterator[tuple[memoryview, BatchHeader]]:
    """All of a segment: what cannot be read must not be taken for what is not there."""
    handle = FileHandle(str(Path(plan.directory) / file_name(segment.base_offset, LOG)))
    end, next_offset = 0, segment.base_offset
    for position, header, data in scan_batches(handle, segment.size):
        yield data, header
        end, next_offset = position + header.size, header.next_offset
    if end < segment.size:
        magic = handle.read(end + MAGIC_AT, 1)
        if magic and magic[0] in OLD_MAGIC:
            raise OttlaError(f"The batch at offset {next_offset} is in a format before Kafka 0.11.")
        raise Damage(next_offset)


def retained(
    data: Buffer,
    header: BatchHeader,
    plan: CleaningPlan,
    keys: dict[bytes, int],
    latest: int,
    transactions: TransactionsSeen,
) -> tuple[BatchHeader, Buffer] | None:
    """What stays of a batch: all of it, a smaller batch, an empty one that marks its place."""
    useless = transactions.discards(data, header)
    horizon = header.delete_horizon
    discard = useless and (
        not header.is_control or (horizon is not None and horizon <= plan.now_ms)
    )
    keep_empty = _is_last_of_producer(header, plan) or header.next_offset == plan.first_uncleanable
    if discard and not keep_empty:
        return None
    if discard or not header.count:
        return _emptied(header) if keep_empty else None
    if header.is_control:
        return _retained_marker(header, data, horizon, plan) if useless else (header, data)
    batch = read_batch(data, header)
    stay = _staying(batch.columns, header, plan, keys, latest)
    if not any(stay):
        return _emptied(header) if keep_empty else None
    if horizon is None and any(stay[n] for n in batch.columns.valueless):
        return _rebuilt(header, batch, stay, plan.now_ms + plan.config.delete_retention_ms)
    if all(stay):
        return header, data
    return _shortened(header, batch, stay)


def _staying(
    columns: RecordColumns,
    header: BatchHeader,
    plan: CleaningPlan,
    keys: dict[bytes, int],
    latest: int,
) -> list[bool]:
    """For each record whether it stays. What lies behind `latest` was not looked at, and does."""
    offsets = [header.base_offset + delta for delta in columns.offsets]
    newest: Iterator[int] = map(keys.get, fingerprints(columns.keys), repeat(-1))
    stay = list(map(int.__ge__, offsets, newest))
    horizon = header.delete_horizon
    if horizon is not None and horizon <= plan.now_ms:
        for n in columns.valueless:
            stay[n] = False
    if None in columns.keys:
        stay = [kept and key is not None for kept, key in zip(stay, columns.keys, strict=True)]
    if header.last_offset > latest:
        stay = [kept or offset > latest for kept, offset in zip(stay, offsets, strict=True)]
    return stay


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


def _retained_marker(
    header: BatchHeader, data: Buffer, horizon: int | None, plan: CleaningPlan
) -> tuple[BatchHeader, Buffer]:
    """A marker of nothing stays until its time has come, which begins now."""
    if horizon is not None:
        return header, data
    batch = read_batch(data, header)
    horizon = plan.now_ms + plan.config.delete_retention_ms
    return _rebuilt(header, batch, [True] * header.count, horizon)


def _shortened(
    header: BatchHeader, batch: PlainBatch, stay: list[bool]
) -> tuple[BatchHeader, bytes]:
    """The same batch with fewer records, each as it was; its range of offsets and sequences, and
    the time that theirs are relative to, are unchanged."""
    payload, columns = batch
    bounds = zip(columns.starts, [*columns.starts[1:], len(payload)], strict=True)
    pieces = [payload[start:end] for start, end in compress(bounds, stay)]
    return _sealed(header, columns, stay, b"".join(pieces))


def _rebuilt(
    header: BatchHeader, batch: PlainBatch, stay: list[bool], horizon: int
) -> tuple[BatchHeader, bytes]:
    """The same, and from now on it knows when its tombstones go: that takes the place of the time
    that others are relative to."""
    old = header._replace(attributes=header.attributes & ~CODEC_MASK)
    pieces = [
        encode_record(record.offset - header.base_offset, record.timestamp - horizon, record)
        for record in compress(read_records(batch.payload, old), stay)
    ]
    return _sealed(header, batch.columns, stay, b"".join(pieces), horizon)


def _sealed(
    header: BatchHeader,
    columns: RecordColumns,
    stay: list[bool],
    payload: bytes,
    horizon: int | None = None,
) -> tuple[BatchHeader, bytes]:
    max_timestamp = header.max_timestamp
    if not header.log_append_time:
        max_timestamp = header.base_timestamp + max(compress(columns.timestamps, stay))
    new = header._replace(max_timestamp=max_timestamp, count=sum(stay))
    if horizon is not None:
        attributes = header.attributes | DELETE_HORIZON
        new = new._replace(attributes=attributes, base_timestamp=horizon)
    return new, seal_batch(new, compressed(Codec(header.attributes & CODEC_MASK), payload))
