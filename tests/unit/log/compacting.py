"""A compacted log as tests fill it, clean it and read it."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from ottla.log.cleaning import clean
from ottla.log.compaction import (
    dirtiness,
    plan_cleaning,
    swap_in,
)
from ottla.log.config import LogConfig
from ottla.log.partition_log import AppendOrigin, PartitionLog
from ottla.wire.record_batch import NewRecord, Record, build_batch, build_marker, iterate_batches
from support.log_batches import NOW, records_in

Open = Callable[..., PartitionLog]
PryingThread = Callable[[], AbstractContextManager[None]]
COMPACTED = LogConfig(compact=True, delete=False, segment_bytes=400, delete_retention_ms=1000)
Pairs = list[tuple[bytes, bytes | None]]


def put(log: PartitionLog, *pairs: tuple[bytes, bytes | None], **fields: int) -> None:
    data = build_batch([NewRecord(NOW, *pair) for pair in pairs], **fields)  # type: ignore[arg-type]
    log.append_as_leader(data, leader_epoch=0, now_ms=NOW)
    log.advance_high_watermark(log.log_end_offset)


def end_transaction(log: PartitionLog, producer: int, *, commit: bool) -> None:
    marker = build_marker(
        commit=commit,
        producer_id=producer,
        producer_epoch=0,
        coordinator_epoch=0,
        timestamp=NOW,
    )
    log.append_as_leader(marker, leader_epoch=0, now_ms=NOW, origin=AppendOrigin.COORDINATOR)
    log.advance_high_watermark(log.log_end_offset)


def compact(log: PartitionLog, *, now_ms: int = NOW) -> int:
    result = clean(plan_cleaning(log, dirtiness(log, now_ms), now_ms))
    swap_in(log, result, now_ms)
    return result.end_offset


def everything(log: PartitionLog) -> list[Record]:
    """All records, control records too, by reading to the end as a replica would."""
    records: list[Record] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        found = log.read(offset, 500, upto=log.log_end_offset)
        data = bytes(found.fetch_cold() if found.cold else found.data)
        here = records_in(data)
        records += [record for record in here if record.offset >= offset]
        offset = max(here[-1].offset + 1 if here else 0, end_of(data))
    return records


def end_of(data: bytes) -> int:
    return max(header.next_offset for _, header in iterate_batches(data))
