"""Batches for tests of the log."""

from typing import Any

from ottla.log.partition_log import Appended, PartitionLog
from ottla.wire.compression import Codec
from ottla.wire.record_batch import NewRecord, Record, build_batch, iterate_batches, iterate_records

NOW = 1_700_000_000_000


def batch(
    *values: bytes,
    at: int = NOW,
    key: bytes | None = None,
    codec: Codec = Codec.NONE,
    **fields: Any,
) -> bytes:
    records = [NewRecord(at + n, key, value) for n, value in enumerate(values)]
    return build_batch(records, codec=codec, **fields)


def append(log: PartitionLog, *values: bytes, at: int = NOW, **fields: Any) -> Appended:
    return log.append_as_leader(batch(*values, at=at, **fields), leader_epoch=0, now_ms=NOW)


def records_in(data: bytes | bytearray | memoryview) -> list[Record]:
    return [
        record
        for position, header in iterate_batches(data)
        for record in iterate_records(data, position, header)
    ]


def values_from(log: PartitionLog, offset: int, upto: int | None = None) -> list[bytes | None]:
    """All values from an offset on, read in many small steps as a consumer would."""
    values: list[bytes | None] = []
    end = log.log_end_offset if upto is None else upto
    while offset < end:
        found = log.read(offset, 300, upto=end)
        records = records_in(found.fetch_cold() if found.cold else found.data)
        if not records:
            break
        values += [record.value for record in records if record.offset >= offset]
        offset = records[-1].offset + 1
    return values
