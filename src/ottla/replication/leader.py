"""A partition that this node leads: append, read, and who waits for it to move.

The log checks and keeps the records; `in_sync` says what is committed. A hot path: plain calls.
"""

from collections.abc import Callable
from typing import Protocol

from ottla.errors import ErrorCode, KafkaError
from ottla.ids import TopicPartition, Uuid
from ottla.log.partition_log import Appended, AppendOrigin, PartitionLog
from ottla.log.reading import Read
from ottla.log.validation import Accepted
from ottla.replication.in_sync import Advance, Effect, InSync, ProposeInSync, Trimmed
from ottla.wire.compression import Buffer

ALL = -1  # acks of a producer that waits for every replica in sync


class Watcher(Protocol):
    """Someone who waits for partitions to move; looked at once per turn of the event loop."""

    def look(self) -> None: ...


class Watched(Protocol):
    """What moves: a partition led here, or followed."""

    watchers: dict[Watcher, None]


Moved = Callable[["Leader"], None]
Proposed = Callable[["Leader", frozenset[int]], None]


class Leader:
    """One leadership: it ends with its epoch, and whoever watches is told."""

    __slots__ = (
        "_moved",
        "_proposed",
        "deposed",
        "epoch",
        "in_sync",
        "isolated",
        "log",
        "topic_id",
        "topic_partition",
        "watchers",
    )

    def __init__(
        self, log: PartitionLog, epoch: int, in_sync: InSync, moved: Moved, proposed: Proposed
    ) -> None:
        self.topic_partition: TopicPartition = log.topic_partition
        self.topic_id: Uuid = log.topic_id
        self.log = log
        self.epoch = epoch
        self.in_sync = in_sync
        self.watchers: dict[Watcher, None] = {}  # in the order in which they came
        self.deposed = False
        self.isolated = False  # nobody has been heard of for long: nothing can be committed
        self._moved = moved
        self._proposed = proposed

    def append(
        self,
        batches: Buffer,
        *,
        now: float,
        now_ms: int,
        acks: int = ALL,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        proven: Accepted | None = None,
    ) -> Appended:
        in_sync = self.in_sync
        if acks == ALL and self.isolated:
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                f"The leader of {self.topic_partition} is cut off; another may have been elected.",
            )
        if acks == ALL and in_sync.is_under_min:
            raise KafkaError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{self.topic_partition} has {len(in_sync.committed)} replicas in sync; "
                f"{in_sync.min_in_sync} are required.",
            )
        log = self.log
        appended = log.append_as_leader(
            batches, leader_epoch=self.epoch, now_ms=now_ms, origin=origin, proven=proven
        )
        if not appended.duplicate:
            high_watermark = in_sync.appended(now, log.log_end_offset)
            if high_watermark is not None:
                log.advance_high_watermark(high_watermark)
            if self.watchers:
                self._moved(self)
        return appended

    def read(self, offset: int, max_bytes: int, *, upto: int, at_least_one: bool) -> Read:
        return self.log.read(offset, max_bytes, upto=upto, at_least_one=at_least_one)

    def delete_records_before(self, offset: int) -> None:
        """Followers that wait for records are told at once: it is not over before all know."""
        self.log.delete_records_before(offset)
        if self.watchers:
            self._moved(self)

    def low_watermark(self, is_alive: Callable[[int], bool]) -> int:
        """No replica of those alive has anything before it; -1 while one is not known yet."""
        followers = self.in_sync.followers.items()
        starts = [follower.log_start_offset for node, follower in followers if is_alive(node)]
        return min([self.log.log_start_offset, *starts])

    def perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Advance(high_watermark=offset):
                    if self.log.advance_high_watermark(offset) and self.watchers:
                        self._moved(self)
                case ProposeInSync(in_sync=members):
                    self._proposed(self, members)
                case Trimmed():
                    if self.watchers:
                        self._moved(self)

    def depose(self) -> None:
        """Another leads now, or nobody: those who wait must not wait longer."""
        self.deposed = True
        if self.watchers:
            self._moved(self)

    def isolate(self, isolated: bool) -> None:
        if isolated != self.isolated:
            self.isolated = isolated
            if self.watchers:
                self._moved(self)

    def check_epoch(self, current_leader_epoch: int) -> None:
        """Whoever names an epoch must mean this leadership (KIP-320)."""
        if current_leader_epoch != self.epoch:
            check_epoch(current_leader_epoch, self.epoch, self.topic_partition)


NO_EPOCH = -1


def check_epoch(asked: int, current: int, partition: TopicPartition) -> None:
    if asked in (NO_EPOCH, current):
        return
    if asked < current:
        raise KafkaError(
            ErrorCode.FENCED_LEADER_EPOCH,
            f"Epoch {asked} of {partition} is over: {current} is current.",
        )
    raise KafkaError(
        ErrorCode.UNKNOWN_LEADER_EPOCH, f"Epoch {asked} of {partition} is not known here yet."
    )
