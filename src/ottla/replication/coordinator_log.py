"""A led partition as a coordinator uses it: append, wait for the commit, read it all back.

Where `flush.messages` asks for the disk, what is not on it does not count as committed here.
"""

import asyncio
from collections.abc import Callable

from ottla.errors import ErrorCode, KafkaError
from ottla.log.partition_log import AppendOrigin
from ottla.replication.leader import ALL, Leader

HEARD_S = 1.5
"""Shorter than it takes to find that a broker is cut off, and to elect another in its place."""
Flush = Callable[[Leader, int], None]
"""Sees to it that everything below an offset gets onto the disk; then who watches is woken."""


class CoordinatorLog:
    """Implements `coordination.log.ShardLog` for one leadership."""

    def __init__(
        self,
        leader: Leader,
        now: Callable[[], float],
        flush: Flush,
        heard_s: float = HEARD_S,
    ) -> None:
        self._leader = leader
        self._now = now
        self._flush = flush
        self._heard_s = heard_s
        self._due_upto = 0  # below it only what is on the disk counts
        if leader.log.flush_due:  # of a leader before, who told nobody of it
            self._ask_for_flush(leader.log.log_end_offset)

    @property
    def leader_epoch(self) -> int:
        return self._leader.epoch

    @property
    def log_start_offset(self) -> int:
        return self._leader.log.log_start_offset

    @property
    def log_end_offset(self) -> int:
        return self._leader.log.log_end_offset

    @property
    def high_watermark(self) -> int:
        log = self._leader.log
        if self.awaits_disk:
            return min(log.high_watermark, log.recovery_point)
        return log.high_watermark

    @property
    def awaits_disk(self) -> bool:
        return self._leader.log.recovery_point < self._due_upto

    @property
    def max_batch_bytes(self) -> int:
        return self._leader.log.config.message_bytes_max

    @property
    def may_append(self) -> bool:
        return not self._leader.in_sync.is_under_min

    @property
    def is_heard(self) -> bool:
        """Followers fetch within this time, records or none. A new leader has no grace: one that
        comes back may lead by what it knew when it died, and its log ends there."""
        return not self._leader.deposed and self._leader.in_sync.is_heard(
            self._now(), self._heard_s
        )

    def append(self, batch: bytes, now_ms: int) -> int:
        self._check()
        appended = self._leader.append(
            batch, now=self._now(), now_ms=now_ms, acks=ALL, origin=AppendOrigin.COORDINATOR
        )
        end_offset = appended.last_offset + 1
        if appended.flush_due:
            self._ask_for_flush(end_offset)
        return end_offset

    def _ask_for_flush(self, end_offset: int) -> None:
        self._due_upto = end_offset
        self._flush(self._leader, end_offset)

    def forget_before(self, offset: int) -> None:
        self._check()
        log = self._leader.log
        if log.log_start_offset < offset <= log.high_watermark:
            log.delete_records_before(offset)

    async def committed(self, end_offset: int) -> None:
        self._check()
        if self.high_watermark >= end_offset:
            return
        commit = AwaitedCommit(self, self._leader, end_offset)
        try:
            await commit.future
        finally:
            self._leader.watchers.pop(commit, None)

    async def read(self, offset: int, max_bytes: int) -> bytes:
        self._check()
        log = self._leader.log
        read = log.read(offset, max_bytes, upto=log.log_end_offset)
        if read.cold:
            loop = asyncio.get_running_loop()
            return bytes(await loop.run_in_executor(None, read.fetch_cold))
        return bytes(read.data)

    def _check(self) -> None:
        if self._leader.deposed:
            raise not_leader(self._leader)


class AwaitedCommit:
    """Watches the high watermark for one who waits."""

    def __init__(self, log: CoordinatorLog, leader: Leader, end_offset: int) -> None:
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._log = log
        self._leader = leader
        self._end_offset = end_offset
        leader.watchers[self] = None

    def look(self) -> None:
        if self.future.done():
            return
        if self._leader.deposed:
            self.future.set_exception(not_leader(self._leader))
        elif self._log.high_watermark >= self._end_offset:
            self.future.set_result(None)
        elif self._log.awaits_disk and self._leader.log.health.failure is not None:
            self.future.set_exception(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR))


def not_leader(leader: Leader) -> KafkaError:
    return KafkaError(
        ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{leader.topic_partition} is led by another broker now."
    )
