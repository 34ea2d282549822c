"""A compacted topic as the only memory of a service: decide → record → read back → reply.

Every process reads all records and applies them in their order; only the one that was elected
writes, and it answers when it has read its own record back. So what one process has answered, it
has also applied, and a process that begins to write has read all that was written before.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType

from ottla.client.connection import Connection
from ottla.errors import ErrorCode, KafkaError, OttlaError
from ottla.ports.clock import SYSTEM_CLOCK
from ottla.serving.producing import SoleWriter, Unwritten
from ottla.serving.topic import RETRY_S, Led, ensure, leader_of
from ottla.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from ottla.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from ottla.wire.record_batch import NewRecord, Record, iterate_batches, iterate_records

FETCH_BYTES_MAX = 4 * 1024 * 1024
FETCH_WAIT_MS = 500
_EARLIEST, _LATEST = -2, -1
_log = logging.getLogger(__name__)

KeyAndValue = tuple[bytes, bytes | None]


class TopicState:
    """`apply` is called for each record, `reset` before all of them are read anew."""

    def __init__(
        self,
        connection: Connection,
        topic: str,
        apply: Callable[[Record], None],
        reset: Callable[[], None],
        *,
        replicas: int = 3,
        timeout_s: float = 10.0,
        init_timeout_s: float = 60.0,
    ) -> None:
        self.topic = topic
        self.cluster_id = ""
        self.next_offset = 0  # of the first record that was not applied yet
        self._apply = apply
        self._reset = reset
        self._replicas = replicas
        self._timeout_s = timeout_s
        self._init_timeout_s = init_timeout_s
        self._reading = connection.wire()  # a connection of its own: fetches wait on it
        self._writing = connection.wire()
        self._writer = SoleWriter(self._writing, topic, f"ottla-state-{topic}", timeout_s)
        self._reached = asyncio.Condition()
        self._reader: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "TopicState":
        """Returns when all that was there at the start is read."""
        try:
            led = await ensure(self._writing, self.topic, self._replicas, self._init_timeout_s)
        except TimeoutError:
            raise OttlaError(f"Topic {self.topic} has no leader.") from None
        self.cluster_id = led.cluster_id
        self._reader = asyncio.create_task(self._read_for_ever(), name=f"reader of {self.topic}")
        await self._until(await self._offset(led, _LATEST), self._init_timeout_s)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._reader is not None:
            self._reader.cancel()
            with suppress(asyncio.CancelledError):
                await self._reader
        await self._reading.__aexit__(None, None, None)
        await self._writing.__aexit__(None, None, None)

    # --- writing

    async def lead(self, marker: KeyAndValue) -> None:
        """Become the writer: all that others wrote before is read when this returns."""
        await self._writer.begin()
        await self.write([marker])

    def follow(self) -> None:
        """Write no more."""
        self._writer.end()

    async def write(self, records: Sequence[KeyAndValue]) -> None:
        """Returns when the records are written and applied here."""
        now = SYSTEM_CLOCK.wall_ms()
        new = [NewRecord(now, key, value) for key, value in records]
        offset = await self._writer.write(new)
        try:
            await self._until(offset + 1, self._timeout_s)
        except TimeoutError:
            raise Unwritten("The record was not read back in time.") from None

    # --- reading

    async def catch_up(self) -> None:
        """Until all is applied that was acknowledged before: another process's writes too."""
        async with asyncio.timeout(self._timeout_s):
            end = await self._end()
        await self._until(end, self._timeout_s)

    async def _end(self) -> int:
        """Of whoever leads the topic by then."""
        while True:
            with suppress(OttlaError):
                led = await leader_of(self._writing, self.topic)
                end = None if led is None else await self._asked_offset(led, _LATEST)
                if end is not None:
                    return end
            await asyncio.sleep(RETRY_S)

    async def _until(self, offset: int, timeout_s: float) -> None:
        """Until all records below the offset are applied."""
        async with asyncio.timeout(timeout_s), self._reached:
            await self._reached.wait_for(lambda: self.next_offset >= offset)

    async def _read_for_ever(self) -> None:
        while True:
            with suppress(OttlaError):
                led = await leader_of(self._reading, self.topic)
                if led is not None:
                    await self._read_from(led)
            await asyncio.sleep(RETRY_S)

    async def _read_from(self, led: Led) -> None:
        """Returns when the leader answers no longer, or is none."""
        while True:
            answer = await self._reading.ask(led.address, self._fetch(led), FetchResponse)
            if answer is None or answer.error_code or not answer.responses:
                return
            partition = answer.responses[0].partitions[0]
            if partition.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                await self._start_anew(led)
                continue
            if partition.error_code:
                return
            if partition.records:
                await self._apply_all(bytes(partition.records))

    async def _apply_all(self, batches: bytes) -> None:
        for position, header in iterate_batches(batches):
            if not header.is_control:
                try:
                    for record in iterate_records(batches, position, header):
                        if record.offset >= self.next_offset:
                            self._apply(record)
                except KafkaError as error:
                    _log.error("%s, offset %d: %s", self.topic, header.base_offset, error)
            self.next_offset = max(self.next_offset, header.next_offset)
        async with self._reached:
            self._reached.notify_all()

    async def _start_anew(self, led: Led) -> None:
        """Of a topic that was made anew, or whose beginning was deleted."""
        start = await self._offset(led, _EARLIEST)
        _log.warning("%s begins at offset %d now: everything is read anew", self.topic, start)
        self._reset()
        self.next_offset = start

    def _fetch(self, led: Led) -> FetchRequest:
        partition = FetchPartition(
            partition=0, fetch_offset=self.next_offset, partition_max_bytes=FETCH_BYTES_MAX
        )
        topic = FetchTopic(topic=self.topic, topic_id=led.topic_id, partitions=[partition])
        return FetchRequest(
            max_wait_ms=FETCH_WAIT_MS, min_bytes=1, max_bytes=FETCH_BYTES_MAX, topics=[topic]
        )

    async def _offset(self, led: Led, which: int) -> int:
        for _ in range(100):
            found = await self._asked_offset(led, which)
            if found is not None:
                return found
            await asyncio.sleep(RETRY_S)
        raise OttlaError(f"The leader of {self.topic} does not say where it ends.")

    async def _asked_offset(self, led: Led, which: int) -> int | None:
        """None where it does not answer, or leads no longer."""
        partition = ListOffsetsPartition(partition_index=0, timestamp=which)
        topic = ListOffsetsTopic(name=self.topic, partitions=[partition])
        ask = ListOffsetsRequest(replica_id=-1, topics=[topic])
        answer = await self._writing.ask(led.address, ask, ListOffsetsResponse)
        if answer is None:
            return None
        found = answer.topics[0].partitions[0]
        return None if found.error_code else found.offset
