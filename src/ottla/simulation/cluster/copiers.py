"""Members of a group that copy what they read, in transactions: exactly once, whatever happens.

Each speaks the consumer protocol and writes its copies and its offsets in one transaction. It dies
at times with a transaction open; its successor has its transactional id, and in half of the cases
it does not die at once, but goes on for a while beside it. Or it stands still amid a transaction,
until another member has its partitions.
"""

import asyncio
from contextlib import suppress
from random import Random
from typing import Any, TypeVar

from ottla.errors import ErrorCode
from ottla.ids import TopicPartition
from ottla.ports.network import LinkLost
from ottla.simulation.cluster import copies
from ottla.simulation.cluster.clients import (
    ALL,
    PRODUCE,
    READ_UNCOMMITTED,
    ClientMeans,
    ClusterClient,
    SimulatedClient,
)
from ottla.simulation.cluster.copies import Copies, CopyTransaction
from ottla.simulation.transactions.client import FENCED, TRY_AGAIN, RequestRefused, code_of
from ottla.wire.codec import MalformedMessage
from ottla.wire.message import Message
from ottla.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    RequestTopicPartitions,
)
from ottla.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from ottla.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from ottla.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from ottla.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from ottla.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from ottla.wire.record_batch import NewRecord, build_batch, iterate_batches, iterate_records

M = TypeVar("M", bound=Message)

GROUP = "copiers"
OF_GROUPS, OF_TRANSACTIONS = 0, 1
FIND, HEARTBEAT, OFFSETS, INIT, COMMIT, END = 4, 1, 9, 5, 5, 5
TRANSACTION_MS = 15_000
PAUSES = 0.1
PAUSE_S_MAX = 12.0  # longer than a session of the group
REBALANCE_MS = 8_000
LIFE_S = 4.0, 20.0  # least and most
ZOMBIES = 0.5  # of those that are replaced go on for a while
ZOMBIE_S_MAX = 5.0
ABORTS = 0.1
MEMBER_GONE = {
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.STALE_MEMBER_EPOCH,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.GROUP_ID_NOT_FOUND,
}
OFFSET_FIRST = 0.3
UNDER_WAY_S = 20.0
"""How long a request for an epoch may be under way, where links are cut and mended: then it fences
whoever has asked since."""
LEADER_AGAIN = TRY_AGAIN | {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
SETTINGS = {
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "2000",
    "group.consumer.min.session.timeout.ms": "4000",
    "group.consumer.session.timeout.ms": "4000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "1000",
}
"""Of the nodes: one coordinator of each kind, that moves with its leader."""


class KnownCoordinator:
    """Of a group or of a transactional id; looked for again when it does not answer, or not so."""

    def __init__(self, cluster: ClusterClient, key: str, kind: int, rng: Random) -> None:
        self._cluster = cluster
        self._find = FindCoordinatorRequest(coordinator_keys=[key], key_type=kind)
        self._rng = rng
        self._node: int | None = None

    async def ask(self, request: Message, version: int, response: type[M]) -> M:
        """Until there is an answer that settles it; Refused if that is no."""
        while True:
            try:
                answer = await self._cluster.ask(await self._found(), request, version, response)
                code = code_of(answer)
            except (LinkLost, MalformedMessage):
                code = ErrorCode.NETWORK_EXCEPTION
            if code is ErrorCode.NONE:
                return answer
            if code not in TRY_AGAIN:
                raise RequestRefused(code)
            self._node = None
            await asyncio.sleep(0.05 + 0.2 * self._rng.random())

    async def _found(self) -> int:
        if self._node is None:
            answer = await self._cluster.ask_any(self._find, FIND, FindCoordinatorResponse)
            (found,) = answer.coordinators
            if found.error_code:
                raise LinkLost("nobody coordinates")
            self._node = found.node_id
        return self._node


class Copier(SimulatedClient):
    """One after another of the same transactional id."""

    def __init__(self, name: str, found: Copies, target: ClusterClient, means: ClientMeans) -> None:
        super().__init__(means)
        self.name = name
        self.copies = found
        self.target = target
        self.calmed = asyncio.Event()  # who runs then is not stopped any more
        self.asked_at: dict[str, float] = {}  # for an epoch, by member

    async def run(self) -> None:
        loop, number = asyncio.get_running_loop(), 0
        while not self.stopped:
            number += 1
            incarnation = Incarnation(self, number)
            task = loop.create_task(incarnation.live())
            await asyncio.wait([task], timeout=self.rng.uniform(*LIFE_S))
            if self.calmed.is_set():
                await asyncio.wait([task])
            if not task.done():
                is_zombie = self.rng.random() < ZOMBIES
                self.world.tell(f"{self.name}/{number} {'is replaced' if is_zombie else 'dies'}")
                loop.call_later(ZOMBIE_S_MAX * self.rng.random() * is_zombie, task.cancel)


class Incarnation:
    def __init__(self, copier: Copier, number: int) -> None:
        self.copier = copier
        self.world = copier.world
        self.copies = copier.copies
        self.name = copier.name
        self.member = f"{copier.name}/{number}"
        self.rng = Random(copier.rng.random())
        self.source = copier.cluster.again()
        self.target = copier.target.again()
        self.group = KnownCoordinator(self.source, GROUP, OF_GROUPS, self.rng)
        self.transactions = KnownCoordinator(self.source, self.name, OF_TRANSACTIONS, self.rng)
        self.epoch = 0
        self.positions: dict[int, int] = {}  # of the partitions it owns
        self.producer = (-1, -1)
        self.sequences: dict[int, int] = {}
        self.began_at = float("inf")  # its transaction, which has a limited time
        self.is_committing = False

    async def live(self) -> None:
        try:
            await self._find_leaders(self.source)
            await self._find_leaders(self.target)
            await self._init()
            while True:
                await self._heartbeat()
                for partition in sorted(self.positions):
                    if partition in self.positions:
                        await self._copy(partition)
                await asyncio.sleep(0.5 + self.rng.random())
        except RequestRefused as refused:
            if not self._may_be_told(refused.code):
                self.world.violated(f"{self.member} was told {refused}")
            self.world.tell(f"{self.member} ends: {refused}")

    def _may_be_told(self, code: ErrorCode) -> bool:
        """Whether Kafka would refuse it so, for good: only if it may have been fenced."""
        now, since = asyncio.get_running_loop().time(), self.copier.asked_at[self.member]
        is_replaced = any(
            member != self.member and at > since - UNDER_WAY_S
            for member, at in self.copier.asked_at.items()
        )
        if not is_replaced and now <= self.began_at + TRANSACTION_MS / 1000:
            return False
        return code in FENCED or (code is ErrorCode.INVALID_TXN_STATE and self.is_committing)

    # --- the group

    async def _heartbeat(self) -> None:
        """What it has to give up it gives up at once, as nothing is under way, and says so."""
        while True:
            owned = RequestTopicPartitions(
                topic_id=self.source.topic_id, partitions=sorted(self.positions)
            )
            request = ConsumerGroupHeartbeatRequest(
                group_id=GROUP,
                member_id=self.member,
                member_epoch=self.epoch,
                rebalance_timeout_ms=REBALANCE_MS,
                subscribed_topic_names=[self.source.topic],
                topic_partitions=[owned] if self.positions else [],
            )
            try:
                answer = await self.group.ask(request, HEARTBEAT, ConsumerGroupHeartbeatResponse)
                self.epoch = answer.member_epoch
                if answer.assignment is None or await self._given(answer.assignment):
                    return
            except RequestRefused as refused:
                if refused.code not in MEMBER_GONE:
                    raise
                self._forget()
            await asyncio.sleep(0.1 * self.rng.random())

    async def _given(self, assignment: Any) -> bool:
        """Whether nothing had to be given up for it."""
        given = {p for place in assignment.topic_partitions for p in place.partitions}
        gave_up = set(self.positions) - given
        for partition in gave_up:
            del self.positions[partition]
        self.copies.are_owned(given, self.member, self.epoch)
        for partition in sorted(given - set(self.positions)):
            self.positions[partition] = await self._committed(partition)
        return not gave_up

    def _forget(self) -> None:
        self.epoch = 0
        self.positions.clear()

    async def _committed(self, partition: int) -> int:
        """Where its predecessor stopped; not known while that has a transaction open."""
        topic = OffsetFetchRequestTopics(name=self.source.topic, partition_indexes=[partition])
        asked = OffsetFetchRequestGroup(
            group_id=GROUP, member_id=self.member, member_epoch=self.epoch, topics=[topic]
        )
        request = OffsetFetchRequest(groups=[asked], require_stable=True)
        answer = await self.group.ask(request, OFFSETS, OffsetFetchResponse)
        found: int = answer.groups[0].topics[0].partitions[0].committed_offset
        return max(found, 0)

    # --- a transaction

    async def _init(self) -> None:
        self.copier.asked_at[self.member] = asyncio.get_running_loop().time()
        request = InitProducerIdRequest(
            transactional_id=self.name, transaction_timeout_ms=TRANSACTION_MS
        )
        answer = await self.transactions.ask(request, INIT, InitProducerIdResponse)
        self.producer = answer.producer_id, answer.producer_epoch
        self.sequences.clear()

    async def _copy(self, partition: int) -> None:
        records = await self._read(partition)
        if not records:
            return
        name, deed = self.copies.begin(self.member)
        commit = self.copier.calmed.is_set() or self.rng.random() >= ABORTS
        gone = False
        self.began_at = asyncio.get_running_loop().time()
        offset_first = self.rng.random() < OFFSET_FIRST
        try:
            if offset_first:
                await self._commit_offset(partition, records[-1] + 1)
            for out in range(copies.PARTITIONS):
                chosen = [offset for offset in records if offset % copies.PARTITIONS == out]
                if chosen:
                    values = [f"{name} of {partition}@{offset}" for offset in chosen]
                    deed.values += values
                    await self._write(out, values)
            await self._perhaps_stand_still()
            if not offset_first:
                await self._commit_offset(partition, records[-1] + 1)
            await self._perhaps_stand_still()
        except RequestRefused as refused:
            gone = refused.code in MEMBER_GONE
            if not gone and refused.code is not ErrorCode.INVALID_PRODUCER_EPOCH:
                raise
            commit = False  # or aborted by the coordinator: only to end it will tell
        await self._end(deed, commit)
        if gone:
            self._forget()
        elif commit:
            self.positions[partition] = records[-1] + 1

    async def _perhaps_stand_still(self) -> None:
        """Long enough for others to take over what it holds, not for the transaction's time."""
        calmed = self.copier.calmed
        if not calmed.is_set() and self.rng.random() < PAUSES:
            self.world.tell(f"{self.member} stands still")
            with suppress(TimeoutError):
                async with asyncio.timeout(PAUSE_S_MAX * self.rng.random()):
                    await calmed.wait()

    async def _read(self, partition: int) -> list[int]:
        """The offsets that come next, if the leader can be asked."""
        position = self.positions[partition]
        where = TopicPartition(self.source.topic, partition)
        try:
            data = await self.source.fetch(
                self.source.leader(partition), where, position, 0, READ_UNCOMMITTED
            )
        except (LinkLost, MalformedMessage):
            data = None
        if data is None or data.error_code:
            await self.source.refresh()
            return []
        records = data.records or b""
        return [
            record.offset
            for at, header in iterate_batches(records)
            for record in iterate_records(records, at, header)
            if record.offset >= position
        ]

    async def _write(self, partition: int, values: list[str]) -> None:
        sequence = self.sequences.get(partition, 0)
        batch = build_batch(
            [NewRecord(self.copier.wall_ms(), None, value.encode()) for value in values],
            producer_id=self.producer[0],
            producer_epoch=self.producer[1],
            base_sequence=sequence,
            transactional=True,
        )
        data = PartitionProduceData(index=partition, records=batch)
        request = ProduceRequest(
            transactional_id=self.name,
            acks=ALL,
            timeout_ms=1000,
            topic_data=[TopicProduceData(name=self.target.topic, partition_data=[data])],
        )
        while True:
            try:
                answer = await self.target.ask_leader(partition, request, PRODUCE, ProduceResponse)
                code = ErrorCode(answer.responses[0].partition_responses[0].error_code)
            except (LinkLost, MalformedMessage):
                code = ErrorCode.NETWORK_EXCEPTION
            if code is ErrorCode.NONE:
                break
            if code not in LEADER_AGAIN:
                raise RequestRefused(code)
            await self._find_leaders(self.target)
        self.sequences[partition] = sequence + len(values)

    async def _commit_offset(self, partition: int, offset: int) -> None:
        part = TxnOffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
        request = TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=GROUP,
            producer_id=self.producer[0],
            producer_epoch=self.producer[1],
            generation_id=self.epoch,
            member_id=self.member,
            topics=[TxnOffsetCommitRequestTopic(name=self.source.topic, partitions=[part])],
        )
        await self.group.ask(request, COMMIT, TxnOffsetCommitResponse)

    async def _end(self, deed: CopyTransaction, commit: bool) -> None:
        deed.wants_commit = self.is_committing = commit
        request = EndTxnRequest(
            transactional_id=self.name,
            producer_id=self.producer[0],
            producer_epoch=self.producer[1],
            committed=commit,
        )
        answer = await self.transactions.ask(request, END, EndTxnResponse)
        deed.ended = True
        self.is_committing, self.began_at = False, float("inf")
        self.producer = answer.producer_id, answer.producer_epoch
        self.sequences.clear()

    async def _find_leaders(self, cluster: ClusterClient) -> None:
        await asyncio.sleep(0.03 + 0.2 * self.rng.random())
        while not await cluster.refresh():
            await asyncio.sleep(0.03 + 0.2 * self.rng.random())
