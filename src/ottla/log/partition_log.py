"""One replica of one partition: append, read, truncate, over a row of segments."""

from enum import Enum
from pathlib import Path
from typing import NamedTuple

from ottla.ids import TopicPartition, Uuid
from ottla.log.config import LogConfig
from ottla.wire.compression import Buffer


class Origin(Enum):
    CLIENT = "client"
    COORDINATOR = "coordinator"  # group and transaction state, and transaction markers
    QUORUM = "quorum"  # the metadata log's leader


class Appended(NamedTuple):
    first_offset: int
    last_offset: int
    append_time: int  # -1 unless the topic stamps batches on arrival
    log_start_offset: int
    duplicate: bool = False  # an idempotent batch that was already there, with its first offsets
    flush_due: bool = False  # flush.messages: acknowledge only after `GroupCommit.flushed`


class Read(NamedTuple):
    """Bytes from the batch that holds the asked offset on; the last batch may be cut short.

    `cold` means that the pages are not in memory: run `fetch_cold()` in a thread.
    """

    data: Buffer
    cold: bool = False

    def fetch_cold(self) -> bytes:
        raise NotImplementedError


class TimestampOffset(NamedTuple):
    timestamp: int
    offset: int
    leader_epoch: int


class PartitionLog:
    topic_partition: TopicPartition
    topic_id: Uuid
    path: Path
    config: LogConfig
    log_start_offset: int
    high_watermark: int
    log_end_offset: int
    recovery_point: int
    # epochs: LeaderEpochs, producers: ProducerStates

    @property
    def last_stable_offset(self) -> int:
        raise NotImplementedError

    @property
    def size(self) -> int:
        raise NotImplementedError

    def append_as_leader(
        self,
        batches: Buffer,
        *,
        leader_epoch: int,
        now_ms: int,
        origin: Origin = Origin.CLIENT,
    ) -> Appended:
        raise NotImplementedError

    def append_as_follower(self, batches: Buffer, *, now_ms: int) -> Appended | None:
        """Append batches of a leader as they are; None where all of them were cut short."""
        raise NotImplementedError

    def read(self, offset: int, max_bytes: int, *, upto: int, at_least_one: bool = True) -> Read:
        """OFFSET_OUT_OF_RANGE below the log's start and beyond its end; empty from `upto` on."""
        raise NotImplementedError

    def aborted_transactions(self, start: int, end: int) -> list[tuple[int, int]]:
        """(producer id, first offset) of aborted transactions that touch [start, end)."""
        raise NotImplementedError

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record at or after `timestamp`; may read many pages: run it in a thread."""
        raise NotImplementedError

    def max_timestamp(self) -> TimestampOffset | None:
        raise NotImplementedError

    def advance_high_watermark(self, offset: int) -> bool:
        raise NotImplementedError

    def truncate_to(self, offset: int) -> None:
        """Drop everything from `offset` on (a follower that follows a new leader)."""
        raise NotImplementedError

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Drop everything and begin anew at `offset` (a follower off its leader's log)."""
        raise NotImplementedError

    def delete_records_before(self, offset: int) -> None:
        """Move the log's start; segments below go with the next retention run."""
        raise NotImplementedError

    def enforce_retention(self, now_ms: int) -> int:
        """Drop segments by time, size and log start; the number of segments dropped."""
        raise NotImplementedError

    def roll(self, now_ms: int) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """A clean stop: everything flushed, indexes trimmed, a producer snapshot at the end."""
        raise NotImplementedError
