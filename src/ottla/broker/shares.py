"""Share groups on this broker: sessions, queues, and what both requests do with them."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ottla.broker.share_queues import Queue, Queues, Terms
from ottla.broker.share_sessions import SessionKey, ShareSessions
from ottla.groups.share.in_flight import Acquired
from ottla.groups.share.states import Place
from ottla.ids import Uuid
from ottla.wire.compression import Buffer
from ottla.wire.record_batch import (
    ABORT_MARKER,
    BatchHeader,
    iterate_batches,
    iterate_records,
    read_control_type,
)

if TYPE_CHECKING:
    from ottla.broker.broker import Broker
    from ottla.broker.context import Peer

READ_BYTES = 1 << 20


class AcknowledgementBatch(Protocol):
    first_offset: int
    last_offset: int
    acknowledge_types: list[int]


class Taken(NamedTuple):
    """Records for one member: whole batches, and which of their records are meant."""

    records: Buffer
    acquired: Sequence[Acquired]


class Shares:
    def __init__(self, broker: "Broker", queues: Queues, sessions_max: int) -> None:
        self._broker = broker
        self.queues = queues
        self.sessions = ShareSessions(sessions_max)

    # -- answers ------------------------------------------------------------------------------

    async def acknowledge(
        self,
        key: SessionKey,
        topic_id: Uuid,
        partition: int,
        batches: Iterable[AcknowledgementBatch],
    ) -> None:
        """KafkaError where the records are not this member's to answer for."""
        queue = await self.queues.open(key.group_id, topic_id, partition)
        terms = self.queues.terms_of(key.group_id)
        before = queue.in_flight.start_offset
        answers = [(one.first_offset, one.last_offset, one.acknowledge_types) for one in batches]
        renewed_until = self._broker.now() + terms.lock_s
        change = queue.in_flight.acknowledge(key.member_id, answers, renewed_until)
        await self.queues.settle(queue, change, before)

    def close_session(self, key: SessionKey) -> None:
        """Its locks are given back at once: others need not wait for them to run out."""
        session = self.sessions.close(key)
        for topic_id, partition in session.partitions if session is not None else ():
            queue = self.queues.known(Place(key.group_id, topic_id, partition))
            if queue is not None:
                self.queues.release(queue, key.member_id)

    def connection_lost(self, connection: "Peer") -> None:
        for key in self.sessions.lost_with(connection):
            self.close_session(key)

    # -- taking -------------------------------------------------------------------------------

    async def take(
        self, key: SessionKey, queue: Queue, records_max: int, *, whole_batches: bool
    ) -> Taken | None:
        """Lock what is there for this member; None: nothing is."""
        terms = self.queues.terms_of(key.group_id)
        in_flight, leader = queue.in_flight, queue.leader
        if in_flight.start_offset < leader.log.log_start_offset:
            before = in_flight.start_offset
            change = in_flight.log_starts_at(leader.log.log_start_offset)
            await self.queues.settle(queue, change, before)
        while (offset := in_flight.next_fetch_offset) is not None:
            upto = (
                leader.log.last_stable_offset
                if terms.read_committed
                else (leader.log.high_watermark)
            )
            if offset >= upto:
                return None
            data = await self._read(queue, offset, upto)
            if not data:
                return None
            if queue.in_flight.next_fetch_offset != offset:
                continue  # somebody was faster while the disk was waited for
            taken = self._lock(key, queue, data, offset, records_max, terms, whole_batches)
            if taken is not None:
                self.queues.watch(queue)
                return taken
        return None

    async def _read(self, queue: Queue, offset: int, upto: int) -> Buffer:
        read = queue.leader.read(offset, READ_BYTES, upto=upto, at_least_one=True)
        if read.cold:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(None, read.fetch_cold)
        return read.data

    def _lock(
        self,
        key: SessionKey,
        queue: Queue,
        data: Buffer,
        offset: int,
        records_max: int,
        terms: Terms,
        whole_batches: bool,
    ) -> Taken | None:
        deadline = self._broker.now() + terms.lock_s
        hidden = _Hidden(queue, data, terms.read_committed)
        acquired: list[Acquired] = []
        begin, end, left, read_from = -1, 0, records_max, offset
        for position, header in iterate_batches(data):
            span = (header.base_offset, header.last_offset)
            if hidden.is_hidden(position, header):
                queue.in_flight.archive([span])
                read_from = header.next_offset
                continue
            found = queue.in_flight.acquire(
                key.member_id,
                [span],
                left,
                deadline,
                read_from=read_from,
                whole_batches=whole_batches,
            )
            read_from = header.next_offset
            if found:
                acquired += found
                begin = position if begin < 0 else begin
                end = position + header.size
                left -= sum(one.last - one.first + 1 for one in found)
            if left <= 0:
                break
        return Taken(memoryview(data)[begin:end], acquired) if acquired else None

    async def wait(self, queues: Sequence[Queue], seconds: float) -> None:
        """Until there may be something to take, or the time is up."""
        moved = asyncio.Event()

        def look(last: bool) -> bool:
            moved.set()
            return True

        waiter = self._broker.waiting.wait((queue.leader for queue in queues), seconds, look)
        for queue in queues:
            queue.waiters.add(moved)
        try:
            await moved.wait()
        finally:
            waiter.finish()
            for queue in queues:
                queue.waiters.discard(moved)


class _Hidden:
    """Batches no member may see: markers, and what aborted transactions wrote."""

    def __init__(self, queue: Queue, data: Buffer, read_committed: bool) -> None:
        self._data = data
        self._aborted: list[tuple[int, int]] = []
        self._active: set[int] = set()
        if read_committed:
            headers = [header for _, header in iterate_batches(data)]
            if headers:
                span = headers[0].base_offset, headers[-1].next_offset
                self._aborted = sorted(
                    queue.leader.log.aborted_transactions(*span), key=lambda one: one[1]
                )

    def is_hidden(self, position: int, header: BatchHeader) -> bool:
        while self._aborted and self._aborted[0][1] <= header.last_offset:
            self._active.add(self._aborted.pop(0)[0])
        if header.is_control:
            marker = next(iterate_records(self._data, position, header))
            if read_control_type(marker) == ABORT_MARKER:
                self._active.discard(header.producer_id)
            return True
        return header.is_transactional and header.producer_id in self._active
