"""A partition of a simulated cluster: the real log in real files, led by one broker after another.

Copies on other brokers are not there as files: what they have is the high watermark, which follows
the log's end with a delay. When leadership moves, what was not committed may be gone.
"""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from ottla.ids import TopicPartition
from ottla.log.config import LogConfig
from ottla.log.files import OpenFiles
from ottla.log.partition_log import LogResources, PartitionLog
from ottla.log.recovery import open_log
from ottla.log.tail import TailCache
from ottla.replication.leader import Leader
from ottla.wire.record_batch import BatchHeader, Record, iterate_batches, iterate_records

REPLICATION_S = 0.02
UNLUCKY = 0.02
"""The chance that a leader is lost before what it just wrote is committed."""
UNLUCKY_AT_ONCE = 0.4
"""The same for a new leader that found something which is not committed."""
WALL_MS = 1_700_000_000_000


class SlowReplicas:
    """Stands for `replication.in_sync`: all replicas follow, a moment later."""

    is_under_min = False
    min_in_sync = 1
    committed = frozenset({1, 2})

    def __init__(self, replicate: Callable[[int], None]) -> None:
        self._replicate = replicate

    def is_heard(self, now: float, seconds: float) -> bool:
        return True

    def appended(self, now: float, log_end_offset: int) -> int | None:
        self._replicate(log_end_offset)
        return None


class SimulatedPartition:
    def __init__(
        self,
        name: TopicPartition,
        folder: Path,
        rng: Random,
        lose_leader: Callable[["SimulatedPartition"], None],
    ) -> None:
        self.name = name
        self._lose_leader = lose_leader
        self.rng = rng
        self.epoch = -1
        self.broker_id = 0
        self.moves = self.cuts = 0
        self._path = folder / f"{name.topic}-{name.partition}"
        self._resources = LogResources(OpenFiles(limit=8), TailCache(budget=1 << 18))
        self.log = self._open()
        self.leader: Leader

    def _open(self, *, clean: bool = True) -> PartitionLog:
        config = LogConfig()
        return open_log(self._path, self.name, config, self._resources, now_ms=WALL_MS, clean=clean)

    def lead(self, broker_id: int, moved: Callable[[Leader], None]) -> Leader:
        """The broker leads from now on, in a new epoch, with all that was committed."""
        if self.epoch >= 0:
            self.leader.depose()
            self._lose_tail()
        self.epoch += 1
        self.broker_id = broker_id
        replicas = SlowReplicas(self._replicate_later)
        self.leader = Leader(self.log, self.epoch, replicas, moved, lambda *_: None)  # type: ignore[arg-type]
        if self.log.high_watermark < self.log.log_end_offset:
            self._replicate_later(self.log.log_end_offset, UNLUCKY_AT_ONCE)
        return self.leader

    def _lose_tail(self) -> None:
        self.moves += 1
        committed = self.log.high_watermark
        ends = [committed, *(header.next_offset for _, header in self.batches(committed))]
        end = self.rng.choice(ends)
        if end < self.log.log_end_offset:
            self.cuts += 1
            self.log.truncate_to(end, now_ms=WALL_MS)
        if self.rng.random() < 0.3:  # and the new leader has read it all from its disk
            self.log.close(sync=False)
            self.log = self._open(clean=self.rng.random() < 0.5)
            self.log.advance_high_watermark(committed)

    def _replicate_later(self, end_offset: int, unlucky: float = UNLUCKY) -> None:
        leader = self.leader
        delay = REPLICATION_S * (5 if self.rng.random() < 0.1 else 1) * self.rng.random()
        if self.rng.random() < unlucky:
            asyncio.get_running_loop().call_later(delay / 2, self._lose_leader, self)

        def replicated() -> None:
            if not leader.deposed and leader.log.advance_high_watermark(end_offset):
                leader._moved(leader)

        asyncio.get_running_loop().call_later(delay, replicated)

    # --- reading

    def batches(self, start: int, end: int | None = None) -> Iterator[tuple[bytes, BatchHeader]]:
        log = self.log
        upto = log.log_end_offset if end is None else end
        while start < upto:
            read = log.read(start, 1 << 20, upto=upto, at_least_one=True)
            data = bytes(read.fetch_cold() if read.cold else read.data)
            if not data:
                return
            for position, header in iterate_batches(data):
                if header.base_offset >= start and header.next_offset <= upto:
                    yield data[position : position + header.size], header
                start = max(start, header.next_offset)

    def committed_values(self, start: int, end: int) -> list[str]:
        """What a reader of committed records finds between two offsets."""
        aborted: dict[int, list[int]] = {}
        for producer_id, first in self.log.aborted_transactions(start, end):
            aborted.setdefault(producer_id, []).append(first)
        values = []
        for batch, header in self.batches(start, end):
            if header.is_control:
                firsts = aborted.get(header.producer_id, [])
                if firsts and firsts[0] < header.base_offset:
                    firsts.pop(0)
                continue
            firsts = aborted.get(header.producer_id, [])
            if not (header.is_transactional and firsts and firsts[0] <= header.base_offset):
                values += [text_of(record) for record in iterate_records(batch, 0, header)]
        return values


def text_of(record: Record) -> str:
    return bytes(record.value or b"").decode()
