"""Writing to a state's topic as the only writer.

The producer id belongs to a transactional id that all candidates share, so whoever begins to write
gets a higher epoch than the one before; from its first record on, the broker refuses what the
former writer still sends. Batches are no transactions: any reader sees them.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from ottla.client.wire_client import Address, WireClient
from ottla.errors import ErrorCode, OttlaError
from ottla.serving.topic import RETRY_S, Led, leaders_of
from ottla.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from ottla.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from ottla.wire.record_batch import NewRecord, build_batch

_TRANSACTION = 1  # key type of FindCoordinator
_ALL_REPLICAS = -1
_FENCED = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED)
_TOO_LARGE = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)
_SEQUENCE_MASK = 0x7FFFFFFF


class Fenced(Exception):
    """Another process writes by now."""


class RecordTooLarge(Exception):
    """The broker does not take a record of this size."""


class Unwritten(Exception):
    """It is not known whether the records were written."""


class SoleWriter:
    def __init__(
        self, client: WireClient, topic: str, transactional_id: str, timeout_s: float
    ) -> None:
        self._client = client
        self._topic = topic
        self._transactional_id = transactional_id
        self._timeout_s = timeout_s
        self._producer: tuple[int, int] | None = None  # id, epoch
        self._sequences: dict[int, int] = {}  # by partition
        self._led: Led | None = None  # while the leaders answer as such

    async def begin(self) -> None:
        """Take the place of any other writer. Unwritten when nobody answers in time."""
        self._producer, self._sequences = None, {}
        try:
            async with asyncio.timeout(self._timeout_s):
                while self._producer is None:
                    with suppress(OttlaError):
                        self._producer = await self._new_epoch()
                    if self._producer is None:
                        await asyncio.sleep(RETRY_S)
        except TimeoutError:
            raise Unwritten("No coordinator gave a producer id in time.") from None

    def end(self) -> None:
        self._producer = None

    async def _new_epoch(self) -> tuple[int, int] | None:
        place = await self._coordinator()
        if place is None:
            return None
        ask = InitProducerIdRequest(
            transactional_id=self._transactional_id, transaction_timeout_ms=60_000
        )
        answer = await self._client.ask(place, ask, InitProducerIdResponse)
        if answer is None or answer.error_code:
            return None
        return answer.producer_id, answer.producer_epoch

    async def _coordinator(self) -> Address | None:
        key = self._transactional_id
        ask = FindCoordinatorRequest(key=key, key_type=_TRANSACTION, coordinator_keys=[key])
        answer = await self._client.ask_any(ask, FindCoordinatorResponse)
        (found,) = answer.coordinators
        return None if found.error_code else (found.host, found.port)

    async def write(self, records: Sequence[NewRecord], partition: int = 0) -> int:
        """The offset of the last one, once all replicas have it."""
        if self._producer is None:
            raise Fenced("This process does not write.")
        producer_id, epoch = self._producer
        sequence = self._sequences.get(partition, 0)
        batch = build_batch(
            records, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
        )
        try:
            async with asyncio.timeout(self._timeout_s):
                offset = await self._until_written(batch, partition)
        except TimeoutError:
            self._producer = None  # the next batch needs a new epoch: this one may still arrive
            raise Unwritten("The write was not confirmed in time.") from None
        self._sequences[partition] = (sequence + len(records)) & _SEQUENCE_MASK
        return offset + len(records) - 1

    async def _until_written(self, batch: bytes, partition: int) -> int:
        """Repeating is harmless: the broker knows a batch by its sequence."""
        while True:
            with suppress(OttlaError):
                self._led = self._led or await leaders_of(self._client, self._topic)
                if self._led is not None:
                    request = self._request(batch, partition, self._led.topic_id)
                    leader = self._led.addresses[partition]
                    answer = await self._client.ask(leader, request, ProduceResponse)
                    offset = None if answer is None else self._offset(answer)
                    if offset is not None:
                        return offset
            self._led = None
            await asyncio.sleep(RETRY_S)

    def _request(self, batch: bytes, partition: int, topic_id: bytes) -> ProduceRequest:
        data = PartitionProduceData(index=partition, records=batch)
        topic = TopicProduceData(name=self._topic, topic_id=topic_id, partition_data=[data])
        return ProduceRequest(
            acks=_ALL_REPLICAS, timeout_ms=int(self._timeout_s * 1000), topic_data=[topic]
        )

    def _offset(self, answer: ProduceResponse) -> int | None:
        (topic,) = answer.responses
        (partition,) = topic.partition_responses
        code = partition.error_code
        if code == ErrorCode.NONE:
            return partition.base_offset
        if code in _TOO_LARGE:
            raise RecordTooLarge
        if code in _FENCED:
            self._producer = None
            raise Fenced("Another process writes by now.")
        if code in (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID):
            self._producer = None
            raise Unwritten(ErrorCode(code).name)
        return None
