"""A partition that this node follows: what to fetch next, and what to do with what came.

No sockets and no clock: a `Fetcher` asks and hands over the answers. A follower truncates by
leader epoch only (KIP-101, KIP-279), never by its high watermark: where the leader says that the
logs diverge, both step back, epoch by epoch, to the last batch they share.
"""

from collections.abc import Callable
from enum import Enum, auto

from ottla.errors import ErrorCode
from ottla.ids import TopicPartition, Uuid
from ottla.log.partition_log import PartitionLog
from ottla.wire.messages.fetch import EpochEndOffset, FetchPartition, PartitionData

PATIENT = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
}
"""The metadata of one side is ahead: asking again later is all there is to do."""

NOT_KNOWN = 2**63 - 1


class Verdict(Enum):
    GO_ON = auto()
    TRY_LATER = auto()
    OUT_OF_RANGE = auto()
    """The leader's log does not reach the follower's end, or starts beyond it."""


class FollowedPartition:
    """One replica under one leader in one epoch."""

    __slots__ = (
        "_advanced",
        "_committed",
        "epoch",
        "leader_id",
        "log",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        log: PartitionLog,
        leader_id: int,
        epoch: int,
        advanced: Callable[[], None] = lambda: None,
        *,
        in_sync: bool = False,
    ) -> None:
        """`advanced` is called when more is known to be committed."""
        self._advanced = advanced
        self.topic_partition: TopicPartition = log.topic_partition
        self.topic_id: Uuid = log.topic_id
        self.log = log
        self.leader_id = leader_id
        self.epoch = epoch
        self._committed = 0 if in_sync else NOT_KNOWN  # how far, as the leader told last

    @property
    def lags(self) -> bool:
        """It lacks what is committed, so nobody waits for it; a guess until the leader told."""
        return self.log.log_end_offset < self._committed

    def wanted(self, max_bytes: int) -> FetchPartition:
        log = self.log
        return FetchPartition(
            partition=self.topic_partition.partition,
            current_leader_epoch=self.epoch,
            fetch_offset=log.log_end_offset,
            last_fetched_epoch=log.epochs.latest,
            log_start_offset=log.log_start_offset,
            partition_max_bytes=max_bytes,
        )

    def took(self, data: PartitionData, now_ms: int) -> Verdict:
        code = ErrorCode(data.error_code)
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            return Verdict.OUT_OF_RANGE
        if code != ErrorCode.NONE:
            return Verdict.TRY_LATER
        if data.diverging_epoch.epoch >= 0:
            self.log.truncate_to(self.common_end(data.diverging_epoch), now_ms=now_ms)
            return Verdict.GO_ON
        if data.records:
            self.log.append_as_follower(data.records, now_ms=now_ms)
        self._committed = data.high_watermark
        if self.log.advance_high_watermark(data.high_watermark):
            self._advanced()
        if data.log_start_offset > self.log.log_start_offset:
            self.log.move_start(min(data.log_start_offset, self.log.high_watermark))
        return Verdict.GO_ON

    def restart_at(self, leader_start: int, leader_end: int, now_ms: int) -> bool:
        """After OUT_OF_RANGE: cut what the leader never had, or begin where its log begins.

        False where there is nothing to do: the logs meet after all, the leader's has grown, say.
        """
        if self.log.log_end_offset > leader_end:
            self.log.truncate_to(leader_end, now_ms=now_ms)
        elif self.log.log_end_offset < leader_start:
            self.log.truncate_fully_and_start_at(leader_start, now_ms=now_ms)
        else:
            return False
        return True

    def common_end(self, diverging: EpochEndOffset) -> int:
        """Where the logs may still be the same; if the epochs differ, the next fetch goes on."""
        log = self.log
        mine = log.epochs.end_offset_for(diverging.epoch, log.log_end_offset)
        if mine.epoch < 0:
            return min(diverging.end_offset, log.log_end_offset)
        if mine.epoch != diverging.epoch:
            return min(mine.start_offset, log.log_end_offset)
        return min(mine.start_offset, diverging.end_offset, log.log_end_offset)
