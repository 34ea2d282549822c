"""Snapshots: the state up to an offset in place of the log before it, framed as Kafka does.

A control batch with the header (and the voters of a dynamic quorum), batches of records, a control
batch with the footer; offsets count from 0. `bootstrap.checkpoint` has the same form.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ottla.errors import ErrorCode, KafkaError
from ottla.quorum.control_records import build_control_batch, control_records
from ottla.quorum.voters import VoterSet
from ottla.wire.message import Message
from ottla.wire.record_batch import (
    NewRecord,
    build_batch,
    crc_is_valid,
    iterate_batches,
    iterate_records,
)
from ottla.wire.records.quorum import (
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)

RECORDS_PER_BATCH = 1000
_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class SnapshotId(NamedTuple):
    """Where the log goes on after a snapshot, and the epoch of the last record in it."""

    end_offset: int
    epoch: int

    @property
    def file_name(self) -> str:
        return f"{self.end_offset:020d}-{self.epoch:010d}.checkpoint"

    @classmethod
    def from_file_name(cls, name: str) -> "SnapshotId | None":
        match = _NAME.fullmatch(name)
        return cls(int(match[1]), int(match[2])) if match else None


EMPTY = SnapshotId(0, 0)
"""The id of the snapshot that formatting leaves: voters, no records."""


class Snapshot(NamedTuple):
    """What a snapshot says; the values are read when they are asked for."""

    data: bytes
    last_timestamp: int
    kraft_version: int
    voters: VoterSet | None

    def values(self) -> Iterator[bytes]:
        for position, header in iterate_batches(self.data):
            if not header.is_control:
                for record in iterate_records(self.data, position, header):
                    yield record.value or b""


def build_snapshot(
    values: Iterable[bytes],
    *,
    now_ms: int,
    last_timestamp: int = 0,
    epoch: int = 0,
    kraft_version: int = 0,
    voters: VoterSet | None = None,
) -> bytes:
    head: list[Message] = [SnapshotHeaderRecord(last_contained_log_timestamp=last_timestamp)]
    if kraft_version > 0 and voters is not None:
        head += [KRaftVersionRecord(k_raft_version=kraft_version), voters.to_record()]
    parts = [build_control_batch(head, base_offset=0, epoch=epoch, now_ms=now_ms)]
    offset = len(head)
    for some in _chunks(values):
        records = [NewRecord(now_ms, None, value) for value in some]
        parts.append(build_batch(records, base_offset=offset, leader_epoch=epoch))
        offset += len(records)
    footer = [SnapshotFooterRecord()]
    parts.append(build_control_batch(footer, base_offset=offset, epoch=epoch, now_ms=now_ms))
    return b"".join(parts)


def _chunks(values: Iterable[bytes]) -> Iterator[Sequence[bytes]]:
    rest = iter(values)
    while some := list(islice(rest, RECORDS_PER_BATCH)):
        yield some


def read_snapshot(data: bytes) -> Snapshot:
    """Check a snapshot from header to footer; CORRUPT_MESSAGE where it is not whole."""
    last_timestamp, kraft_version, voters, whole = 0, 0, None, False
    for position, header in iterate_batches(data):
        if not crc_is_valid(data, position, header):
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"The batch at {position} is damaged.")
        if not header.is_control:
            continue
        for _, record in control_records(data, position, header):
            match record:
                case SnapshotHeaderRecord():
                    last_timestamp = record.last_contained_log_timestamp
                case KRaftVersionRecord():
                    kraft_version = record.k_raft_version
                case VotersRecord():
                    voters = VoterSet.from_record(record)
                case SnapshotFooterRecord():
                    whole = position + header.size == len(data)
    if not whole:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "The snapshot has no footer.")
    return Snapshot(data, last_timestamp, kraft_version, voters)
