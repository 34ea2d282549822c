"""A compacted topic as the only memory of a service: decide → record → read back → reply.

Every process reads all records and applies them in their order, those of one partition after each
other; only the one that was elected writes, and it answers when it has read its own record back. So
what one process has answered, it has also applied, and a process that begins to write has read all
that was written before.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType

from ottla.client.connection import Connection
from ottla.client.wire_client import Address
from ottla.errors import ErrorCode, KafkaError, OttlaError
from ottla.ports.clock import SYSTEM_CLOCK
from ottla.serving.committed import committed_batches
from ottla.serving.partitioning import partition_of
from ottla.serving.producing import SoleWriter, Unwritten
from ottla.serving.topic import RETRY_S, Led, StateTopic, ensure, leaders_of
from ottla.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from ottla.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from ottla.wire.record_batch import NewRecord, Record

FETCH_BYTES_MAX = 4 * 1024 * 1024
FETCH_WAIT_MS = 500
_EARLIEST, _LATEST = -2, -1
_READ_COMMITTED = 1
_log = logging.getLogger(__name__)

KeyAndValue = tuple[bytes, bytes | None]


class TopicState:
    """`apply` is called for each record, `reset` before all of them are read anew."""

    def __init__(
        self,
        connection: Connection,
        topic: StateTopic,
        apply: Callable[[Record], None],
        reset: Callable[[], None],
        *,
        transactional_id: str | None = None,
        timeout_s: float = 10.0,
        init_timeout_s: float = 60.0,
    ) -> None:
        """`transactional_id` is what writers before and after this one share."""
        self.topic = topic.name
        self.cluster_id = ""
        self._as_asked = topic
        self._next: list[int] = []  # by partition, the first offset that was not applied yet
        self._apply = apply
        self._reset = reset
        self._timeout_s = timeout_s
        self._init_timeout_s = init_timeout_s
        self._reading = connection.wire()  # a connection of its own: fetches wait on it
        self._writing = connection.wire()
        shared = transactional_id or f"ottla-state-{topic.name}"
        self._writer = SoleWriter(self._writing, topic.name, shared, timeout_s)
        self._writes = asyncio.Lock()  # sequences are counted in the order of sending
        self._reached = asyncio.Condition()
        self._reader: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "TopicState":
        """Returns when all that was there at the start is read."""
        try:
            led = await ensure(self._writing, self._as_asked, self._init_timeout_s)
        except TimeoutError:
            raise OttlaError(f"Topic {self.topic} has no leader.") from None
        self.cluster_id = led.cluster_id
        self._next = [0 for _ in led.partitions]
        self._reader = asyncio.create_task(self._read_for_ever(), name=f"reader of {self.topic}")
        await self._until(await self._offsets(led, _LATEST), self._init_timeout_s)
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

    async def lead(self, marker: KeyAndValue | None = None) -> None:
        """Become the writer: all that others wrote before is read when this returns.

        The `marker` is written first, where a former writer may still write without knowing.
        """
        await self._writer.begin()
        if marker is not None:
            await self.write([marker])
        else:
            await self.catch_up()

    def follow(self) -> None:
        """Write no more."""
        self._writer.end()

    async def write(self, records: Sequence[KeyAndValue]) -> None:
        """Returns when the records are written and applied here."""
        now = SYSTEM_CLOCK.wall_ms()
        batches: dict[int, list[NewRecord]] = {}
        for key, value in records:
            partition = partition_of(key, len(self._next)) if len(self._next) > 1 else 0
            batches.setdefault(partition, []).append(NewRecord(now, key, value))
        ends = {}
        for partition, new in batches.items():
            async with self._writes:
                ends[partition] = await self._writer.write(new, partition) + 1
        try:
            await self._until(ends, self._timeout_s)
        except TimeoutError:
            raise Unwritten("The record was not read back in time.") from None

    # --- reading

    async def catch_up(self) -> None:
        """Until all is applied that was acknowledged before: another process's writes too."""
        async with asyncio.timeout(self._timeout_s):
            ends = await self._ends()
        await self._until(ends, self._timeout_s)

    async def _ends(self) -> Mapping[int, int]:
        """Of whoever leads the partitions by then."""
        while True:
            with suppress(OttlaError):
                led = await leaders_of(self._writing, self.topic)
                ends = None if led is None else await self._asked_offsets(led, _LATEST)
                if ends is not None:
                    return ends
            await asyncio.sleep(RETRY_S)

    async def _until(self, ends: Mapping[int, int], timeout_s: float) -> None:
        """Until all records below these offsets are applied."""
        async with asyncio.timeout(timeout_s), self._reached:
            await self._reached.wait_for(
                lambda: all(self._next[partition] >= end for partition, end in ends.items())
            )

    async def _read_for_ever(self) -> None:
        while True:
            with suppress(OttlaError):
                led = await leaders_of(self._reading, self.topic)
                if led is not None and len(led.addresses) == len(self._next):
                    await self._read_from_all(led)
            await asyncio.sleep(RETRY_S)

    async def _read_from_all(self, led: Led) -> None:
        """Returns when one of the leaders answers no longer, or is none."""
        tasks = [
            asyncio.create_task(self._read_from(led, address)) for address in set(led.addresses)
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read_from(self, led: Led, leader: Address) -> None:
        partitions = [one for one in led.partitions if led.addresses[one] == leader]
        while True:
            ask = self._fetch(led, partitions)
            answer = await self._reading.ask(leader, ask, FetchResponse)
            if answer is None or answer.error_code or not answer.responses:
                return
            for partition in answer.responses[0].partitions:
                if partition.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    await self._start_anew(led)
                elif partition.error_code:
                    return
                elif partition.records:
                    await self._apply_all(partition)

    async def _apply_all(self, partition: PartitionData) -> None:
        index = partition.partition_index
        aborted = partition.aborted_transactions or ()
        for header, records in committed_batches(bytes(partition.records or b""), aborted):
            try:
                for record in records:
                    if record.offset >= self._next[index]:
                        self._apply(record)
            except KafkaError as error:
                _log.error("%s, offset %d: %s", self.topic, header.base_offset, error)
            self._next[index] = max(self._next[index], header.next_offset)
        async with self._reached:
            self._reached.notify_all()

    async def _start_anew(self, led: Led) -> None:
        """Of a topic that was made anew, or whose beginning was deleted."""
        starts = await self._offsets(led, _EARLIEST)
        _log.warning("%s begins at offsets %s now: everything is read anew", self.topic, starts)
        self._reset()
        self._next = [starts[index] for index in led.partitions]

    def _fetch(self, led: Led, partitions: Iterable[int]) -> FetchRequest:
        wanted = [
            FetchPartition(
                partition=index,
                fetch_offset=self._next[index],
                partition_max_bytes=FETCH_BYTES_MAX,
            )
            for index in partitions
        ]
        topic = FetchTopic(topic=self.topic, topic_id=led.topic_id, partitions=wanted)
        return FetchRequest(
            max_wait_ms=FETCH_WAIT_MS,
            min_bytes=1,
            max_bytes=FETCH_BYTES_MAX,
            isolation_level=_READ_COMMITTED,
            topics=[topic],
        )

    async def _offsets(self, led: Led, which: int) -> Mapping[int, int]:
        for _ in range(100):
            found = await self._asked_offsets(led, which)
            if found is not None:
                return found
            await asyncio.sleep(RETRY_S)
        raise OttlaError(f"The leaders of {self.topic} do not say where it ends.")

    async def _asked_offsets(self, led: Led, which: int) -> Mapping[int, int] | None:
        """By partition; None where one does not answer, or leads no longer."""
        found: dict[int, int] = {}
        for address in set(led.addresses):
            partitions = [
                ListOffsetsPartition(partition_index=index, timestamp=which)
                for index in led.partitions
                if led.addresses[index] == address
            ]
            topic = ListOffsetsTopic(name=self.topic, partitions=partitions)
            ask = ListOffsetsRequest(replica_id=-1, isolation_level=_READ_COMMITTED, topics=[topic])
            answer = await self._writing.ask(address, ask, ListOffsetsResponse)
            if answer is None or any(one.error_code for one in answer.topics[0].partitions):
                return None
            found |= {one.partition_index: one.offset for one in answer.topics[0].partitions}
        return found
