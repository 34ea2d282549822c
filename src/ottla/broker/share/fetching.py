"""Records for one member of a share group, out of the queues of its session's partitions."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ottla.broker.share.queues import Opening, Queue, Queues
from ottla.broker.share.sessions import Partition, SessionKey
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share.acquiring import Span, Taking
from ottla.groups.share.delivery import Acquired
from ottla.groups.share.states import SharePartitionKey
from ottla.wire.compression import Buffer
from ottla.wire.record_batch import (
    ABORT_MARKER,
    BatchHeader,
    iterate_batches,
    iterate_records,
    read_control_type,
)

if TYPE_CHECKING:
    from ottla.broker.share.shares import Shares

Positions = Sequence[tuple[int, BatchHeader]]


class Wanted(NamedTuple):
    max_wait_s: float
    min_bytes: int
    max_bytes: int
    records_max: int
    batch_size: int
    is_record_limit: bool


class Taken(NamedTuple):
    """Records for one member: whole batches, and which of their records are meant."""

    records: Buffer = b""
    acquired: Sequence[Acquired] = ()


NOTHING = Taken()
Found = dict[Partition, Taken | KafkaError]


class _Read(NamedTuple):
    offset: int
    data: Buffer = b""
    refusal: KafkaError | None = None
    is_out_of_range: bool = False

    @property
    def must_be_told(self) -> bool:
        return self.refusal is not None or self.is_out_of_range


class _Openings:
    """The queues of one request's partitions. Those whose state has to be read first come one by
    one: who is there waits for nobody else."""

    def __init__(self, queues: Queues, group_id: str, partitions: Sequence[Partition]) -> None:
        self._queues = queues
        self._places = {
            partition: SharePartitionKey(group_id, *partition) for partition in partitions
        }
        self._opening: dict[Partition, Opening] = {}
        self._open: set[Partition] = set()
        self.refused: dict[Partition, KafkaError] = {}
        self._ask()
        self._let_in([one for one, opening in self._opening.items() if opening.done()])

    @property
    def pending(self) -> list[Opening]:
        return [
            opening
            for partition, opening in self._opening.items()
            if partition not in self._open and partition not in self.refused
        ]

    def next(self) -> dict[Partition, Queue]:
        """All that are open, with the next one that has come."""
        self._ask()
        come = [
            partition
            for partition, opening in self._opening.items()
            if opening.done() and partition not in self._open and partition not in self.refused
        ]
        self._let_in(come[:1])
        return {
            partition: self._opening[partition].result()
            for partition in self._places
            if partition in self._open
        }

    def _ask(self) -> None:
        """For each that is not known yet, or not any more."""
        for partition, place in self._places.items():
            known = self._opening.get(partition)
            if partition in self.refused or (known is not None and not known.done()):
                continue
            if known is not None and (
                known.exception() is not None or self._queues.known(place) is known.result()
            ):
                continue
            self._open.discard(partition)
            try:
                self._opening[partition] = self._queues.open(place)
            except KafkaError as refusal:
                self.refused[partition] = refusal

    def _let_in(self, come: Iterable[Partition]) -> None:
        for partition in come:
            failure = self._opening[partition].exception()
            if failure is None:
                self._open.add(partition)
            elif isinstance(failure, KafkaError):
                self.refused[partition] = failure
            else:
                raise failure


class ShareFetching:
    """One request: its partitions are read, then records are locked, in the same order."""

    def __init__(self, shares: "Shares", key: SessionKey, wanted: Wanted) -> None:
        self._shares = shares
        self._now = shares.now
        self._key = key
        self._wanted = wanted
        self._terms = self._shares.queues.terms_of(key.group_id)

    async def run(self, partitions: Sequence[Partition]) -> Found:
        wanted = self._wanted
        if not partitions or wanted.records_max == 0 or wanted.max_bytes == 0:
            return {}
        deadline = self._now() + wanted.max_wait_s
        openings = _Openings(self._shares.queues, self._key.group_id, partitions)
        is_early = False
        while True:
            queues = openings.next()
            found = await self._take(queues, is_last=False, is_early=is_early)
            seconds = deadline - self._now()
            has_refused = bool(openings.refused) and not openings.pending
            if found is None and (seconds <= 0 or has_refused):
                found = await self._take(queues, is_last=True, is_early=False)
            if found is not None:
                return found | openings.refused
            is_early = await self._shares.wait(list(queues.values()), openings.pending, seconds)

    async def _take(
        self, queues: dict[Partition, Queue], *, is_last: bool, is_early: bool
    ) -> Found | None:
        """None: there is not enough yet. Who else reads for a queue has it for this turn."""
        mine = {
            partition: queue
            for partition, queue in queues.items()
            if not queue.is_taken_from and self._shares.queues.in_flight(queue).can_acquire
        }
        for queue in mine.values():
            queue.is_taken_from = True
        is_taken = False
        try:
            reads = await self._read_all(mine, is_plain=is_last or is_early)
            size = sum(len(read.data) for read in reads.values())
            is_enough = bool(mine) and size >= min(self._wanted.min_bytes, self._wanted.max_bytes)
            if is_enough or is_last or any(read.must_be_told for read in reads.values()):
                is_taken = True
                return self._lock(mine, reads)
        finally:
            for queue in mine.values():
                queue.is_taken_from = False
                if is_taken:
                    queue.wake()
        return None

    # -- reading ------------------------------------------------------------------------------

    async def _read_all(
        self, queues: dict[Partition, Queue], *, is_plain: bool
    ) -> dict[Partition, _Read]:
        """Those go first that somebody read at the same place before, and took nothing; plain is
        what a request does whose time is up."""
        part = max(self._wanted.max_bytes // len(queues), 1) if queues else 0
        if is_plain:
            return await self._read(queues, part)
        fresh: dict[Partition, Queue] = {}
        again: dict[Partition, Queue] = {}
        for partition, queue in queues.items():
            is_fresh = queue.read_from != queue.in_flight.next_fetch_offset
            (fresh if is_fresh else again)[partition] = queue
        reads = await self._read(fresh, part)
        for partition, read in reads.items():
            if not read.must_be_told:
                fresh[partition].read_from = read.offset
        return await self._read(again, part) | reads

    async def _read(self, queues: dict[Partition, Queue], part: int) -> dict[Partition, _Read]:
        """Each partition has its part of the bytes; the first that has any, a batch at least."""
        left = self._wanted.max_bytes
        reads: dict[Partition, _Read] = {}
        for partition, queue in queues.items():
            is_first = not any(read.data for read in reads.values())
            read = await self._read_one(queue, min(part, left), is_first)
            left = max(left - len(read.data), 0)
            reads[partition] = read
        return reads

    async def _read_one(self, queue: Queue, bytes_max: int, at_least_one: bool) -> _Read:
        leader, offset = queue.leader, queue.in_flight.next_fetch_offset
        if leader.deposed:
            return _Read(offset, refusal=KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER))
        if not leader.log.log_start_offset <= offset <= leader.log.log_end_offset:
            return _Read(offset, is_out_of_range=True)
        upto = self._readable_upto(queue)
        if offset >= upto or (not at_least_one and bytes_max <= 0):
            return _Read(offset)
        try:
            read = leader.read(offset, bytes_max, upto=upto, at_least_one=at_least_one)
            data = read.data
            if read.cold:
                loop = asyncio.get_running_loop()
                data = await loop.run_in_executor(None, read.fetch_cold)
        except KafkaError as refusal:
            return _Read(offset, refusal=refusal)
        return _Read(offset, data)

    def _readable_upto(self, queue: Queue) -> int:
        log = queue.leader.log
        return log.last_stable_offset if self._terms.read_committed else log.high_watermark

    # -- locking ------------------------------------------------------------------------------

    def _lock(self, queues: dict[Partition, Queue], reads: dict[Partition, _Read]) -> Found:
        found: Found = {}
        left = self._wanted.records_max
        for partition, read in reads.items():
            queue = queues[partition]
            if read.refusal is not None:
                found[partition] = read.refusal
                continue
            if read.is_out_of_range:
                queue.in_flight.log_starts_at(queue.leader.log.log_start_offset)
                found[partition] = NOTHING
                continue
            taken = self._lock_one(queue, read, left)
            found[partition] = taken
            left -= sum(one.last - one.first + 1 for one in taken.acquired)
        return found

    def _lock_one(self, queue: Queue, read: _Read, records_max: int) -> Taken:
        batches = list(iterate_batches(read.data))
        taking = Taking(
            self._key.member_id,
            records_max,
            self._now() + self._terms.lock_s,
            self._wanted.batch_size,
            self._wanted.is_record_limit,
        )
        acquired = queue.in_flight.acquire(
            taking,
            read.offset,
            [(header.base_offset, header.last_offset) for _, header in batches],
            self._aborted(queue, read.data, batches),
        )
        self._shares.queues.watch(queue)
        if not acquired:
            return NOTHING
        return Taken(_slice(read.data, batches, acquired), acquired)

    def _aborted(self, queue: Queue, data: Buffer, batches: Positions) -> list[Span]:
        """Batches of aborted transactions: for who reads what was committed."""
        if not self._terms.read_committed or not batches:
            return []
        span = batches[0][1].base_offset, batches[-1][1].next_offset
        aborted = sorted(queue.leader.log.aborted_transactions(*span), key=lambda one: one[1])
        active: set[int] = set()
        hidden: list[Span] = []
        for position, header in batches:
            while aborted and aborted[0][1] <= header.last_offset:
                active.add(aborted.pop(0)[0])
            if header.is_control:
                marker = next(iterate_records(data, position, header))
                if read_control_type(marker) == ABORT_MARKER:
                    active.discard(header.producer_id)
            elif header.is_transactional and header.producer_id in active:
                hidden.append((header.base_offset, header.last_offset))
        return hidden


def _slice(data: Buffer, batches: Positions, acquired: Sequence[Acquired]) -> Buffer:
    """From the batch that has the first record that was taken to the one that has the last."""
    begin, end = 0, 0
    for position, header in batches:
        if header.base_offset <= acquired[0].first:
            begin = position
        if header.base_offset <= acquired[-1].last:
            end = position + header.size
    return memoryview(data)[begin:end]
