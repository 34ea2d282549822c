"""A led partition as a coordinator uses it: append, wait for the commit, read it all back."""

import asyncio
from collections.abc import Callable

from ottla.errors import ErrorCode, KafkaError
from ottla.log.partition_log import Origin
from ottla.replication.leader import ALL, Leader


class CoordinatorLog:
    """Implements `coordination.log.ShardLog` for one leadership."""

    def __init__(self, leader: Leader, now: Callable[[], float]) -> None:
        self._leader = leader
        self._now = now

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
        return self._leader.log.high_watermark

    @property
    def max_batch_bytes(self) -> int:
        return self._leader.log.config.message_bytes_max

    def append(self, batch: bytes, now_ms: int) -> int:
        self._check()
        appended = self._leader.append(
            batch, now=self._now(), now_ms=now_ms, acks=ALL, origin=Origin.COORDINATOR
        )
        return appended.last_offset + 1

    def forget_before(self, offset: int) -> None:
        self._check()
        log = self._leader.log
        if log.log_start_offset < offset <= log.high_watermark:
            log.delete_records_before(offset)

    async def committed(self, end_offset: int) -> None:
        self._check()
        if self._leader.log.high_watermark >= end_offset:
            return
        commit = Commit(self._leader, end_offset)
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


class Commit:
    """Watches the high watermark for one who waits."""

    def __init__(self, leader: Leader, end_offset: int) -> None:
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._leader = leader
        self._end_offset = end_offset
        leader.watchers[self] = None

    def look(self) -> None:
        if self.future.done():
            return
        if self._leader.deposed:
            self.future.set_exception(not_leader(self._leader))
        elif self._leader.log.high_watermark >= self._end_offset:
            self.future.set_result(None)


def not_leader(leader: Leader) -> KafkaError:
    return KafkaError(
        ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{leader.topic_partition} is led by another broker now."
    )
