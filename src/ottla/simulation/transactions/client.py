"""A transactional producer of either version, as client libraries play it, and its memory.

As Java's and franz-go's do it begins the next transaction as soon as the end of the last is
answered, writes to several partitions at once, commits offsets before anything else at times. And
it knows what it may be told: whoever was not replaced, and has not been too slow, is refused
nothing for good (`is_told`).
"""

import asyncio
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from ottla.errors import ErrorCode
from ottla.ids import TopicPartition
from ottla.simulation.transactions.broker import OFFSETS, STATE
from ottla.simulation.transactions.partition import WALL_MS
from ottla.wire.message import Message
from ottla.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from ottla.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from ottla.wire.messages.end_txn import EndTxnRequest
from ottla.wire.messages.init_producer_id import InitProducerIdRequest
from ottla.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from ottla.wire.record_batch import NewRecord, build_batch

if TYPE_CHECKING:
    from ottla.simulation.transactions.world import TransactionWorld

REQUEST_TIMEOUT_S = 2.5
RETRY_S = 0.05
TIMEOUT_MS = 3_000
GIVES_UP = 0.12
TRY_AGAIN = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
}
FENCED = {ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH}
WAITS = 0.4
"""The chance that a client waits between two transactions."""
NOTHING_SENT = 0.05
OFFSET_FIRST = 0.25


class RequestRefused(Exception):
    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.name)
        self.code = code


@dataclass
class Deed:
    """One transaction, as its client knows it."""

    name: str
    values: list[str] = field(default_factory=list)
    with_offset: bool = False
    wants: str = "nothing"  # commit or abort, once the client has asked for it
    heard: bool = False  # that it ended so

    @property
    def number(self) -> int:
        return int(self.name.rpartition(":")[2])


class TransactionalClient:
    """One incarnation; another of the same name fences it."""

    def __init__(self, world: "TransactionWorld", name: str, number: int, rng: Random) -> None:
        self.world = world
        self.name = name
        self.number = number
        self.rng = rng
        self.version = world.client_version(name)
        self.producer = (-1, -1)
        self.sequences: dict[TopicPartition, int] = {}
        self.slow = 1.0
        self.owner_since = float("inf")
        """When it first asked for its epoch: who asks later fences it."""
        self.began_at = float("inf")
        """When the transaction may have begun: it is aborted when it takes too long."""

    async def live(self) -> None:
        try:
            await self._init()
            while not self.world.healed:
                if self.rng.random() < WAITS:
                    await asyncio.sleep(0.2 * self.rng.random() * self.slow)
                await self._transaction()
        except RequestRefused as refused:
            self.world.tell(f"{self.name}/{self.number} ends: {refused}")

    async def _init(self, known: tuple[int, int] = (-1, -1)) -> None:
        request = InitProducerIdRequest(
            transactional_id=self.name,
            transaction_timeout_ms=TIMEOUT_MS,
            producer_id=known[0],
            producer_epoch=known[1],
        )
        if known[0] < 0:
            self.owner_since = self.world.now
        reply = await self._insist(STATE, request, 5)
        self.producer = reply.producer_id, reply.producer_epoch
        self.sequences.clear()
        self.world.tell(f"{self.name}/{self.number} is {self.producer}")

    async def _transaction(self) -> None:
        deed = self.world.new_deed(self.name)
        self.began_at = self.world.now
        try:
            if self.version >= 2 and self.rng.random() < NOTHING_SENT:
                commit = False
            else:
                if not await self._fill(deed):
                    return
                commit = self.rng.random() < 0.7
        except RequestRefused as refused:
            if refused.code is not ErrorCode.INVALID_PRODUCER_EPOCH or self.version < 2:
                raise
            # Aborted by the coordinator, perhaps: only to end it will tell.
            self.world.tell(f"{deed.name} cannot go on: {refused}")
            commit = False
        await self._conclude(deed, commit)

    async def _fill(self, deed: Deed) -> bool:
        """Whether it is complete; else it is over already."""
        with_offset, offset_first = self.rng.random() < 0.4, self.rng.random() < OFFSET_FIRST
        if with_offset and offset_first:
            await self._send_offset(deed)
        places = self.rng.sample(self.world.places, self.rng.randint(1, len(self.world.places)))
        added: list[TopicPartition] = []
        at_once = self.rng.random() < 0.5
        for place in places:
            if self.version < 2:
                await self._add(place)
            added.insert(0, place)
            if self.rng.random() < GIVES_UP:
                await self._give_up(added, deed)
                return False
            if not at_once:
                await self._send(place, f"{deed.name}:{place.partition}", deed)
                await asyncio.sleep(0.05 * self.rng.random() * self.slow)
        if at_once:
            await self._send_all(places, deed)
        if self.rng.random() < 0.3:
            await self._send(places[0], f"{deed.name}:more", deed)
        if with_offset and not offset_first:
            await self._send_offset(deed)
        return True

    async def _send_all(self, places: list[TopicPartition], deed: Deed) -> None:
        """All of them under way together; what is refused is told when all are settled."""
        sending = [self._send(place, f"{deed.name}:{place.partition}", deed) for place in places]
        for outcome in await asyncio.gather(*sending, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome

    async def _conclude(self, deed: Deed, commit: bool) -> None:
        deed.wants = "commit" if commit else "abort"
        await self._end(commit)
        deed.heard = True
        self.began_at = float("inf")

    async def _give_up(self, places: list[TopicPartition], deed: Deed) -> None:
        """Abort with batches still under way: they may come at any time, or never. Those for
        partitions that are open queue behind one that the coordinator is asked about first."""
        sending = [
            asyncio.ensure_future(
                self._send(place, f"{deed.name}:given-up-{place.partition}", deed)
            )
            for place in places
        ]
        await asyncio.sleep(0.02 * self.rng.random())
        for each in sending:
            each.cancel()
        await asyncio.wait(sending)
        await self._conclude(deed, False)
        if self.rng.random() < 0.5:  # with what is late arriving into the silence
            await asyncio.sleep(self.rng.random())
        if self.version < 2:
            await self._init(self.producer)

    async def _add(self, place: TopicPartition) -> None:
        topic = AddPartitionsToTxnTopic(name=place.topic, partitions=[place.partition])
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.producer[0],
            v3_and_below_producer_epoch=self.producer[1],
            v3_and_below_topics=[topic],
        )
        await self._insist(STATE, request, 3)

    async def _send(self, place: TopicPartition, value: str, deed: Deed) -> None:
        sequence = self.sequences.get(place, 0)
        batch = build_batch(
            [NewRecord(WALL_MS, None, value.encode())],
            producer_id=self.producer[0],
            producer_epoch=self.producer[1],
            base_sequence=sequence,
            transactional=True,
        )
        data = PartitionProduceData(index=place.partition, records=batch)
        request = ProduceRequest(
            transactional_id=self.name,
            acks=-1,
            timeout_ms=500,
            topic_data=[TopicProduceData(name=place.topic, partition_data=[data])],
        )
        deed.values.append(value)
        await self._insist(place, request, 12 if self.version >= 2 else 11, may_be_late=True)
        self.sequences[place] = sequence + 1

    async def _send_offset(self, deed: Deed) -> None:
        deed.with_offset = True
        if self.version < 2:
            ask = AddOffsetsToTxnRequest(
                transactional_id=self.name,
                producer_id=self.producer[0],
                producer_epoch=self.producer[1],
                group_id=self.name,
            )
            await self._insist(STATE, ask, 3)
        place = self.world.places[0]
        part = TxnOffsetCommitRequestPartition(
            partition_index=place.partition, committed_offset=deed.number
        )
        request = TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=self.name,
            producer_id=self.producer[0],
            producer_epoch=self.producer[1],
            topics=[TxnOffsetCommitRequestTopic(name=place.topic, partitions=[part])],
        )
        await self._insist(OFFSETS, request, 5 if self.version >= 2 else 4)

    async def _end(self, commit: bool) -> None:
        request = EndTxnRequest(
            transactional_id=self.name,
            producer_id=self.producer[0],
            producer_epoch=self.producer[1],
            committed=commit,
        )
        reply = await self._insist(STATE, request, 5 if self.version >= 2 else 4)
        if self.version >= 2:
            self.producer = reply.producer_id, reply.producer_epoch
            self.sequences.clear()

    async def _insist(
        self, place: TopicPartition, request: Message, version: int, *, may_be_late: bool = False
    ) -> Any:
        """Ask whoever leads the partition until there is an answer that settles it."""
        moves = self.world.moves_of_coordinators
        while True:
            if isinstance(request, InitProducerIdRequest):
                self.world.takes_over(self.name, self.number)
            answer = await self.world.carry(
                self.rng,
                self.world.partitions[place].broker_id,
                request,
                version,
                REQUEST_TIMEOUT_S,
                may_be_late=may_be_late or self._may_be_late(request),
            )
            code = ErrorCode.NETWORK_EXCEPTION if answer is None else code_of(answer)
            if code == ErrorCode.NONE:
                return answer
            if code not in TRY_AGAIN:
                if not self._may_be_told(code, request, moves):
                    who, what = f"{self.name}/{self.number}", type(request).__name__
                    self.world.violated(f"{who} was told {code.name} to its {what}")
                raise RequestRefused(code)
            await asyncio.sleep(RETRY_S * (0.5 + self.rng.random()))

    def _may_be_late(self, request: Message) -> bool:
        """Not where that would fence the client itself, for nobody's fault."""
        return self.version >= 2 and not isinstance(request, InitProducerIdRequest)

    def _may_be_told(self, code: ErrorCode, request: Message, moves: int) -> bool:
        """Whether Kafka would refuse this client so, for good."""
        if isinstance(request, InitProducerIdRequest) and request.producer_id >= 0:
            # The epoch before is not in the log: a call that is repeated is known by it.
            moved = self.world.moves_of_coordinators != moves
            return code is ErrorCode.PRODUCER_FENCED and (moved or self._may_be_fenced)
        if code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            # A late batch of the transaction before, in the same epoch, has left its question.
            return self.version < 2 and isinstance(request, ProduceRequest)
        if not self._may_be_fenced:
            return False
        if isinstance(request, EndTxnRequest) and self.version >= 2 and request.committed:
            return code in FENCED or code is ErrorCode.INVALID_TXN_STATE  # it was aborted
        return code in FENCED

    @property
    def _may_be_fenced(self) -> bool:
        is_replaced = self.world.is_replaced(self.name, self.number, self.owner_since)
        return is_replaced or self.world.now > self.began_at + TIMEOUT_MS / 1000


def code_of(answer: Any) -> ErrorCode:
    """The one error of an answer about one thing."""
    if isinstance(answer, ErrorCode):
        return answer
    if hasattr(answer, "results_by_topic_v3_and_below"):
        found = answer.results_by_topic_v3_and_below[0].results_by_partition[0]
        return ErrorCode(found.partition_error_code)
    if hasattr(answer, "groups"):
        (answer,) = answer.groups
    if getattr(answer, "error_code", 0):
        return ErrorCode(answer.error_code)
    if not getattr(answer, "topics", None):
        return ErrorCode.NONE
    return ErrorCode(answer.topics[0].partitions[0].error_code)
