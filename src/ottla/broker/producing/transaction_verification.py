"""May this batch of a transaction be appended? The coordinator knows.

A leader that has no open transaction of the producer asks before it appends the first batch: a
late message of a transaction that has ended must not begin one that nobody will ever end
(KIP-890). Clients of version 2 do not announce partitions: then asking also adds them.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from ottla.broker.transport.pending_reply import Body, PendingReply
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import TopicPartition
from ottla.log.verification import VerificationGuard
from ottla.ports.network import LinkLost
from ottla.replication.leader import Leader
from ottla.replication.peers import Peers
from ottla.transactions.coordinator import TransactionCoordinator
from ottla.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from ottla.wire.messages.produce import ProduceRequest
from ottla.wire.record_batch import BatchHeader, read_header

if TYPE_CHECKING:
    from ottla.broker.services import RecordServices

FIRST_THAT_ADDS = 12  # version of Produce
FIRST_WITH_ABORTABLE = 11
ASK_VERSION = 5
ASK_TIMEOUT_S = 5.0
RETRY_S = 0.002
RETRY_S_MAX = 0.1

RETRIABLE = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NETWORK_EXCEPTION,
}
Codes = Mapping[TopicPartition, ErrorCode]


class TransactionVerifier:
    """Asks the coordinator of a transactional id, on this broker or another."""

    def __init__(
        self,
        coordinator: TransactionCoordinator,
        node_id: int,
        leader_of: Callable[[TopicPartition], int | None],
        peers: Peers,
    ) -> None:
        self._coordinator = coordinator
        self._node_id = node_id
        self._leader_of = leader_of
        self._peers = peers
        self._last_in_turn: dict[str, asyncio.Future[None]] = {}

    def is_busy(self, transactional_id: str) -> bool:
        """Requests wait here: those that come after them must not overtake."""
        return transactional_id in self._last_in_turn

    def take_turn(self, transactional_id: str) -> AbstractAsyncContextManager[None]:
        """A producer's batches are appended in the order in which they came. The turn is taken by
        the call, not when somebody begins to wait for it: requests that were read together are
        served before any task of theirs runs."""
        before = self._last_in_turn.get(transactional_id)
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._last_in_turn[transactional_id] = mine
        return self._in_turn(transactional_id, before, mine)

    @asynccontextmanager
    async def _in_turn(
        self,
        transactional_id: str,
        before: asyncio.Future[None] | None,
        mine: asyncio.Future[None],
    ) -> AsyncIterator[None]:
        try:
            if before is not None:
                await asyncio.wait([before])
            yield
        finally:
            mine.set_result(None)
            if self._last_in_turn[transactional_id] is mine:
                del self._last_in_turn[transactional_id]

    async def ask(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: frozenset[TopicPartition],
        *,
        add: bool,
    ) -> Codes:
        """A code for each partition."""
        try:
            return await self._ask(
                transactional_id, producer_id, producer_epoch, partitions, add=add
            )
        except KafkaError as error:
            return dict.fromkeys(partitions, error.code)

    async def _ask(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: frozenset[TopicPartition],
        *,
        add: bool,
    ) -> Codes:
        shards = self._coordinator.shards
        shard = TopicPartition(shards.topic, shards.partition_of(transactional_id))
        coordinator_id = self._leader_of(shard)
        if coordinator_id is None:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if coordinator_id != self._node_id:
            request = remote_question(
                transactional_id, producer_id, producer_epoch, partitions, add=add
            )
            return await self._ask_remote(coordinator_id, request)
        if not add:
            return await self._coordinator.verify_partitions(
                transactional_id, producer_id, producer_epoch, partitions
            )
        await self._coordinator.add_partitions(
            transactional_id, producer_id, producer_epoch, partitions, client_version=2
        )
        return dict.fromkeys(partitions, ErrorCode.NONE)

    async def _ask_remote(self, node_id: int, request: AddPartitionsToTxnRequest) -> Codes:
        try:
            response = await self._peers.ask(
                node_id, request, ASK_VERSION, AddPartitionsToTxnResponse, ASK_TIMEOUT_S
            )
        except LinkLost as error:
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION, str(error)) from None
        if response.error_code:
            raise KafkaError(ErrorCode(response.error_code))
        return {
            TopicPartition(topic.name, each.partition_index): ErrorCode(each.partition_error_code)
            for result in response.results_by_transaction
            for topic in result.topic_results
            for each in topic.results_by_partition
        }


def remote_question(
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    partitions: frozenset[TopicPartition],
    *,
    add: bool,
) -> AddPartitionsToTxnRequest:
    names = sorted({topic for topic, _ in partitions})
    topics = [
        AddPartitionsToTxnTopic(
            name=name, partitions=[index for topic, index in sorted(partitions) if topic == name]
        )
        for name in names
    ]
    transaction = AddPartitionsToTxnTransaction(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        verify_only=not add,
        topics=topics,
    )
    return AddPartitionsToTxnRequest(transactions=[transaction])


class Patience:
    """The end of the transaction before is waited for a little: to send records anew costs more.

    Only where asking adds: a client of version 2 begins the next transaction as soon as the end
    of the last is decided, while its markers are still being written.
    """

    def __init__(self, adds: bool) -> None:
        self._left_s = RETRY_S_MAX if adds else 0.0

    async def bears(self, codes: Codes) -> bool:
        """Whether to ask again, now that a moment has passed."""
        if self._left_s <= 0 or ErrorCode.CONCURRENT_TRANSACTIONS not in codes.values():
            return False
        await asyncio.sleep(RETRY_S)
        self._left_s -= RETRY_S
        return True


class PendingVerification(NamedTuple):
    """Under which leader the coordinator is asked about a partition, and the guard it gave."""

    leader: Leader
    verification: VerificationGuard


class TransactionVerification:
    """The partitions of one Produce request that need the coordinator's word first.

    What holds when a request comes need not hold when its turn comes: leadership moves, and
    transactions end. So each round looks again, until there is nothing left to ask about.
    """

    def __init__(self, request: ProduceRequest, version: int, services: "RecordServices") -> None:
        self._request = request
        self._version = version
        self._services = services
        self._adds = version >= FIRST_THAT_ADDS
        self._producer = (-1, -1)
        self._asked: dict[TopicPartition, PendingVerification] = {}
        self._refused: dict[TopicPartition, ErrorCode] = {}
        """By what the leader knows itself."""

    @property
    def is_needed(self) -> bool:
        verifier = self._services.verifier()
        return verifier.is_busy(self._request.transactional_id or "") or bool(self._unverified())

    def then(self, go_on: "Callable[[Codes], Body | PendingReply | None]") -> PendingReply:
        """Ask; then go on with a code for each partition that was asked about."""
        later = PendingReply()
        turn = self._services.verifier().take_turn(self._request.transactional_id or "")

        async def ask() -> None:
            try:
                async with turn:
                    body = go_on(await self._verdicts())
            except Exception:
                later.break_off()
                raise
            if isinstance(body, PendingReply):
                body.pass_on_to(later)
            else:
                later.deliver(body)

        self._services.background.spawn(ask())
        return later

    async def _verdicts(self) -> Codes:
        codes: dict[TopicPartition, ErrorCode] = {}
        patience = Patience(self._adds)
        while unverified := self._unverified():
            asked = self._begin(unverified)
            if not asked:
                continue
            codes |= await self._services.verifier().ask(
                self._request.transactional_id or "", *self._producer, asked, add=self._adds
            )
            if await patience.bears(codes):  # as if nothing had been asked, with guards anew
                codes.clear()
                self._asked.clear()
                self._refused.clear()
        told = {partition: self._told(partition, code) for partition, code in codes.items()}
        return told | self._refused

    def _begin(self, unverified: "list[tuple[Leader, BatchHeader]]") -> frozenset[TopicPartition]:
        """Take a guard for each partition; those to ask about."""
        now_ms = self._services.cluster.clock.wall_ms()
        asked = set()
        producers = {(header.producer_id, header.producer_epoch) for _, header in unverified}
        self._producer = next(iter(producers))
        for leader, header in unverified:
            partition = leader.topic_partition
            try:
                if len(producers) > 1:
                    raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
                verification = leader.log.producers.verify(
                    *self._producer, header.base_sequence, adds=self._adds, now_ms=now_ms
                )
            except KafkaError as error:
                self._refused[partition] = error.code
                continue
            assert verification is not None, "only what is not open is unverified"
            self._asked[partition] = PendingVerification(leader, verification)
            asked.add(partition)
        return frozenset(asked)

    def _unverified(self) -> "list[tuple[Leader, BatchHeader]]":
        """Leaders of partitions without an open transaction that were not asked about yet."""
        partitions = self._services.partitions
        found = []
        for topic in self._request.topic_data:
            for data in topic.partition_data:
                try:
                    leader = partitions.find_leader(
                        topic.name, topic.topic_id, data.index, self._version
                    )
                    header = read_header(data.records or b"")
                except KafkaError:
                    continue  # the append says why it cannot be
                if not header.is_transactional or header.producer_id < 0:
                    continue
                partition = leader.topic_partition
                if partition in self._asked or partition in self._refused:
                    continue
                if not is_open(leader, header):
                    found.append((leader, header))
        return found

    def _told(self, partition: TopicPartition, code: ErrorCode) -> ErrorCode:
        """The code as this client knows it."""
        leader, verification = self._asked[partition]
        if code == ErrorCode.NONE:
            if leader.deposed:  # leading anew, perhaps, but what we know is of another time
                return ErrorCode.NOT_LEADER_OR_FOLLOWER
            try:
                leader.log.producers.check_verified(*self._producer, verification)
            except KafkaError as error:
                return error.code
            return code
        if code == ErrorCode.TRANSACTION_ABORTABLE and self._version < FIRST_WITH_ABORTABLE:
            return ErrorCode.INVALID_TXN_STATE
        if code == ErrorCode.PRODUCER_FENCED:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        waits = code == ErrorCode.CONCURRENT_TRANSACTIONS and not self._adds
        if waits or code in RETRIABLE:
            return ErrorCode.NOT_ENOUGH_REPLICAS  # which every producer tries again
        return code


def is_open(leader: Leader, header: BatchHeader) -> bool:
    """An open transaction was verified when it began."""
    return leader.log.producers.has_ongoing_transaction(header.producer_id, header.producer_epoch)
