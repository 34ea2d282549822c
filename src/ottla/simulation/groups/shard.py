"""Coordinators of a group in virtual time: the real shard on logs that are led one after another.

A leader has a copy of the log of its own. What it appends is committed after a while; one that was
deposed goes on for seconds without knowing, and nothing it appends is ever committed. Its
successor has all that was committed, and perhaps some of the rest.
"""

import asyncio
from collections.abc import Callable
from random import Random
from struct import pack
from typing import Any

from ottla.coordination.machine import Decision, Instant, ProducerIdAndEpoch, Ticket
from ottla.coordination.shard import Phase, Shard
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.machine import Groups
from ottla.ports.clock import Clock
from ottla.wire.record_batch import read_header

Reply = Callable[[object], None]
WALL_MS = 1_700_000_000_000
COMMIT_S = 0.005
LOADING_S = 0.4
NOTICED_WITHIN_S = 3.0
"""How long a coordinator that was deposed may go on believing in itself."""


class GroupLog:
    """Implements `coordination.log.ShardLog` for one leadership."""

    log_start_offset = 0
    max_batch_bytes = 1 << 20
    may_append = True
    is_heard = True

    def __init__(self, rng: Random, epoch: int, batches: list[bytes], committed: int) -> None:
        self.leader_epoch = epoch
        self.batches = batches
        self.ends = [read_header(batch).next_offset for batch in batches]
        self.high_watermark = committed
        self.deposed = False  # the others have another leader
        self.knows = False  # and it has heard of that
        self._rng = rng
        self._moved = asyncio.Event()
        self._commit_later(self.log_end_offset)

    @property
    def log_end_offset(self) -> int:
        return self.ends[-1] if self.ends else 0

    def append(self, batch: bytes, now_ms: int) -> int:
        self._check()
        self.batches.append(pack(">q", self.log_end_offset) + batch[8:])
        self.ends.append(read_header(self.batches[-1]).next_offset)
        self._commit_later(self.log_end_offset)
        return self.log_end_offset

    def forget_before(self, offset: int) -> None:
        """Groups forget nothing."""

    async def committed(self, end_offset: int) -> None:
        while self.high_watermark < end_offset:
            self._check()
            await self._moved.wait()
        self._check()

    async def read(self, offset: int, max_bytes: int) -> bytes:
        self._check()
        await asyncio.sleep(LOADING_S * self._rng.random())
        first = next(place for place, end in enumerate(self.ends) if end > offset)
        return b"".join(self.batches[first:])

    def notice(self) -> None:
        self.knows = True
        self._moved.set()

    def for_successor(self) -> list[bytes]:
        """What its successor has: everything committed, and it may be more."""
        first = sum(end <= self.high_watermark for end in self.ends)
        return self.batches[: self._rng.randint(first, len(self.batches))]

    def _commit_later(self, end_offset: int) -> None:
        delay = COMMIT_S * (0.5 + self._rng.random())
        asyncio.get_running_loop().call_later(delay, self._commit, end_offset)

    def _commit(self, end_offset: int) -> None:
        if not self.deposed and end_offset > self.high_watermark:
            self.high_watermark = end_offset
            self._moved.set()
            self._moved = asyncio.Event()

    def _check(self) -> None:
        if self.knows:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)


class CoordinatorTerm:
    """One broker's time as the coordinator."""

    def __init__(self, log: GroupLog, new_machine: Callable[[], Groups]) -> None:
        self.log = log
        self._loop = asyncio.get_running_loop()
        self._shard = Shard("group", new_machine, Clock(self._loop.time, self._wall_ms))
        self._shard.load(log)

    @property
    def machine(self) -> Groups | None:
        """None before it has loaded, and after it has heard that it is deposed."""
        return self._shard.machine if self._shard.phase is Phase.ACTIVE else None

    def submit(
        self, decide: Callable[[Groups, Instant, Ticket], Decision[Any]], reply: Reply
    ) -> None:
        try:
            future = self._shard.submit(decide)
        except KafkaError as error:
            reply(error)
            return
        future.add_done_callback(lambda done: reply(done.exception() or done.result()))

    def end_transaction(self, producer: ProducerIdAndEpoch, reply: Reply) -> None:
        try:
            future = self._shard.end_transaction(producer, 0, committed=True)
        except KafkaError as error:
            reply(error)
            return
        future.add_done_callback(lambda done: reply(done.exception() or True))

    def depose(self, notices_after_s: float) -> None:
        self.log.deposed = True
        self._loop.call_later(notices_after_s, self._notice)

    def _notice(self) -> None:
        self.log.notice()
        self._shard.unload()

    def _wall_ms(self) -> int:
        return WALL_MS + int(self._loop.time() * 1000)
