"""Members of a group as client libraries play them, over a network that loses and repeats."""

from collections.abc import Callable
from struct import pack
from typing import TYPE_CHECKING, Any

from ottla.coordination.machine import Decision, Producer
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.classic.heartbeats import heartbeat as classic_heartbeat
from ottla.groups.classic.joining import join
from ottla.groups.classic.syncing import sync
from ottla.groups.consumer.heartbeats import heartbeat
from ottla.groups.offsets.committing import commit, commit_in_transaction
from ottla.groups.outcome import Caller
from ottla.ids import Uuid
from ottla.wire.codec import decode, encode
from ottla.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    RequestTopicPartitions,
)
from ottla.wire.messages.heartbeat import HeartbeatRequest
from ottla.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from ottla.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from ottla.wire.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
)

if TYPE_CHECKING:
    from ottla.simulation.group_world import GroupWorld

GROUP, TOPIC = "g", "t"
HEARTBEAT_S = 1.0
SESSION_MS, REBALANCE_MS = 10_000, 8_000
PATIENCE_S = 3.0
JOIN_PATIENCE_S = 12.0
TRANSACTIONAL = 0.3  # of commits
ELSEWHERE = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.REQUEST_TIMED_OUT,
)
"""Then a client asks again who the coordinator is; it goes on with the one it knows until then."""
GONE = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
)


class GroupMember:
    """What both kinds have: one request under way at a time, and commits of what it owns."""

    def __init__(self, world: "GroupWorld", number: int) -> None:
        self.world = world
        self.number = number
        self.lives = 0
        self.alive = False
        self.id = ""
        self.epoch = 0
        self.owned: set[int] = set()
        self.frozen_until = 0.0  # a stopped process: it notices nothing, and goes on later
        self._awaited = 0  # the request whose answer counts
        self._coordinator = world.coordinator
        self.start()

    def start(self) -> None:
        self.alive = True
        self.lives += 1
        self.id, self.epoch, self.owned = self.first_id(), 0, set()
        self._plan(self.world.rng.random(), self.act)
        self._plan(self.world.rng.random(), self.commit)

    def die(self) -> None:
        self.alive, self.owned = False, set()
        self.world.note(f"member {self.number} dies")

    def first_id(self) -> str:
        return ""

    def act(self) -> None:
        raise NotImplementedError

    def forget(self) -> None:
        """It is not a member any more: it owns nothing, and starts anew."""
        self.epoch, self.owned = 0, set()

    def own(self, partitions: set[int]) -> None:
        self.owned = partitions
        self.world.check_owners()

    # -- talking ------------------------------------------------------------------------------

    def ask(
        self,
        decide: Callable[..., Decision[Any]],
        answered: Callable[[Any], None],
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._awaited += 1
        awaited, life, network = self._awaited, self.lives, self.world.network

        def arrive(reply: object) -> None:
            if self.world.clock.now < self.frozen_until:
                self.world.clock.at(self.frozen_until, lambda: arrive(reply))
            elif self.alive and self.lives == life and self._awaited == awaited:
                self._awaited += 1
                if isinstance(reply, KafkaError) and reply.code in ELSEWHERE:
                    self._coordinator = self.world.coordinator
                answered(reply)

        coordinator = self._coordinator

        def serve() -> None:
            coordinator.submit(
                decide, lambda reply: network.carry(0, self.number, lambda: arrive(reply))
            )

        network.carry(self.number, 0, serve)
        self._plan(patience_s, lambda: arrive(KafkaError(ErrorCode.REQUEST_TIMED_OUT)))

    def _plan(self, delay: float, action: Callable[[], None]) -> None:
        life, clock = self.lives, self.world.clock

        def act() -> None:
            if clock.now < self.frozen_until:
                clock.at(self.frozen_until, act)
            elif self.alive and self.lives == life:
                action()

        clock.after(delay, act)

    # -- committing ---------------------------------------------------------------------------

    def commit(self) -> None:
        """On a connection of its own, as often as heartbeats: whatever it owns by now."""
        self._plan(HEARTBEAT_S * (0.5 + self.world.rng.random()), self.commit)
        if not self.owned or not self.epoch:
            return
        partition = self.world.rng.choice(sorted(self.owned))
        self.world.last_offset += 1
        offset = self.world.last_offset
        coordinator, member_id, epoch = self._coordinator, self.id, self.epoch
        transactional = self.world.rng.random() < TRANSACTIONAL
        decide_commit = self._in_transaction if transactional else self._plainly
        decided = decide_commit(partition, offset)

        def decide(groups: Any, now: Any, _: Any) -> Decision[Any]:
            decision = decided(groups, now)
            if decision.records:
                self.world.commit_accepted(coordinator, member_id, epoch, partition)
            return decision

        def told(reply: Any) -> None:
            refused = isinstance(reply, KafkaError) or reply.topics[0].partitions[0].error_code
            if not refused:
                self.world.commit_promised(offset)
                if transactional:
                    self.world.end_transaction(Producer(offset, 0))

        self.world.network.carry(self.number, 0, lambda: coordinator.submit(decide, told))

    def _plainly(self, partition: int, offset: int) -> Callable[[Any, Any], Decision[Any]]:
        place = OffsetCommitRequestPartition(
            partition_index=partition,
            committed_offset=offset,
            committed_metadata=self.world.token(offset),
        )
        request = OffsetCommitRequest(
            group_id=GROUP,
            member_id=self.id,
            generation_id_or_member_epoch=self.epoch,
            topics=[
                OffsetCommitRequestTopic(
                    name=TOPIC, topic_id=self.world.topic_id, partitions=[place]
                )
            ],
        )
        return lambda groups, now: commit(groups, now, request, 9)

    def _in_transaction(self, partition: int, offset: int) -> Callable[[Any, Any], Decision[Any]]:
        """Each in a transaction of its own."""
        place = TxnOffsetCommitRequestPartition(
            partition_index=partition,
            committed_offset=offset,
            committed_metadata=self.world.token(offset),
        )
        request = TxnOffsetCommitRequest(
            group_id=GROUP,
            member_id=self.id,
            generation_id=self.epoch,
            producer_id=offset,
            producer_epoch=0,
            topics=[TxnOffsetCommitRequestTopic(name=TOPIC, partitions=[place])],
        )
        return lambda groups, now: commit_in_transaction(groups, now, request)


class ConsumerMember(GroupMember):
    """The consumer protocol: gives up when told, reports what it owns."""

    def first_id(self) -> str:
        return f"m{self.number}.{self.lives}"

    def act(self) -> None:
        joins = self.epoch == 0
        owned = [
            RequestTopicPartitions(topic_id=self.world.topic_id, partitions=sorted(self.owned))
        ]
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=self.id,
            member_epoch=self.epoch,
            rebalance_timeout_ms=REBALANCE_MS,
            subscribed_topic_names=[TOPIC],
            topic_partitions=owned if self.owned and not joins else [],
        )
        caller = Caller(f"c{self.number}", "/sim", 1)
        self.ask(lambda groups, now, _: heartbeat(groups, now, request, caller), self._answered)

    def _answered(self, reply: Any) -> None:
        if isinstance(reply, KafkaError):
            if reply.code in GONE:
                self.forget()
            self._plan(0.1 + self.world.rng.random() * 0.4, self.act)
            return
        self.epoch = reply.member_epoch
        if reply.assignment is None:
            self._plan(HEARTBEAT_S, self.act)
            return
        given = {p for place in reply.assignment.topic_partitions for p in place.partitions}
        kept = self.owned & given
        gave_up = kept != self.owned
        self.own(kept)  # first it gives up, then it begins with what is new
        self.own(given)
        self._plan(0.01 if gave_up else HEARTBEAT_S, self.act)


class ClassicMember(GroupMember):
    """The classic protocol, cooperative: keeps what it has while it joins again."""

    _leads_partitions = 0  # as many it assigned last; 0: it does not lead

    def act(self) -> None:
        topic_has_grown = self._leads_partitions not in (0, self.world.partitions)
        if not self.epoch or topic_has_grown:
            self._join()
            return
        request = HeartbeatRequest(group_id=GROUP, generation_id=self.epoch, member_id=self.id)
        self.ask(
            lambda groups, now, _: classic_heartbeat(groups, now, request), self._heartbeat_answered
        )

    def _heartbeat_answered(self, reply: Any) -> None:
        if isinstance(reply, KafkaError) and reply.code is ErrorCode.REBALANCE_IN_PROGRESS:
            self._join()
        elif isinstance(reply, KafkaError) and reply.code in GONE:
            self.forget()
            self.id = ""
            self._plan(0.1, self._join)
        else:
            self._plan(HEARTBEAT_S, self.act)

    def _join(self) -> None:
        owned = ConsumerProtocolSubscriptionTopicPartition(
            topic=TOPIC, partitions=sorted(self.owned)
        )
        subscription = ConsumerProtocolSubscription(
            topics=[TOPIC], owned_partitions=[owned] if self.owned else []
        )
        metadata = pack(">h", 1) + encode(subscription, 1)
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="cooperative", metadata=metadata)],
        )
        caller = Caller(f"c{self.number}", "/sim", 9)
        self.ask(
            lambda groups, now, ticket: join(groups, now, request, caller, ticket),
            self._joined,
            JOIN_PATIENCE_S,
        )

    def _joined(self, reply: Any) -> None:
        code = reply.code if isinstance(reply, KafkaError) else ErrorCode(reply.error_code)
        if code is ErrorCode.MEMBER_ID_REQUIRED:
            self.id = reply.member_id
            self._join()
        elif code in GONE:
            self.forget()
            self.id = ""
            self._plan(0.1, self._join)
        elif code is not ErrorCode.NONE:
            self._plan(0.1 + self.world.rng.random() * 0.4, self._join)
        else:
            self.id, self.epoch = reply.member_id, reply.generation_id
            leads = reply.leader == self.id
            self._leads_partitions = self.world.partitions if leads else 0
            self._sync(self._assign(reply) if leads else [])

    def _assign(self, reply: Any) -> list[SyncGroupRequestAssignment]:
        """As a cooperative leader does: nobody is given what another still has."""
        has: dict[str, set[int]] = {}
        for member in reply.members:
            subscription, _ = decode(ConsumerProtocolSubscription, 1, member.metadata, 2)
            places = (place.partitions for place in subscription.owned_partitions)
            has[member.member_id] = {index for indexes in places for index in indexes}
        members = sorted(has)
        target = {
            member: {p for p in range(self.world.partitions) if p % len(members) == turn}
            for turn, member in enumerate(members)
        }
        return [
            SyncGroupRequestAssignment(
                member_id=member,
                assignment=_assignment(
                    {
                        index
                        for index in target[member]
                        if not any(index in has[other] for other in members if other != member)
                    }
                ),
            )
            for member in members
        ]

    def _sync(self, assignments: list[SyncGroupRequestAssignment]) -> None:
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.epoch,
            member_id=self.id,
            protocol_type="consumer",
            protocol_name="cooperative",
            assignments=assignments,
        )
        self.ask(
            lambda groups, now, ticket: sync(groups, now, request, ticket),
            self._synced,
            JOIN_PATIENCE_S,
        )

    def _synced(self, reply: Any) -> None:
        code = reply.code if isinstance(reply, KafkaError) else ErrorCode(reply.error_code)
        if code in GONE:
            self.forget()
            self.id = ""
            self._plan(0.1, self._join)
            return
        if code is not ErrorCode.NONE:
            self._plan(0.1, self._join)
            return
        given = _given(reply.assignment)
        gave_up = not self.owned <= given
        self.world.classic_assigned(self, given)
        self.own(self.owned & given)
        self.own(given)
        self._plan(0.01 if gave_up else HEARTBEAT_S, self._join if gave_up else self.act)


def commit_from_outside(world: "GroupWorld", partition: int) -> None:
    """As people do with a tool while the group has no members."""
    world.last_offset += 1
    offset = world.last_offset
    place = OffsetCommitRequestPartition(
        partition_index=partition, committed_offset=offset, committed_metadata=world.token(offset)
    )
    topic = OffsetCommitRequestTopic(name=TOPIC, topic_id=world.topic_id, partitions=[place])
    request = OffsetCommitRequest(group_id=GROUP, topics=[topic])

    def told(reply: object) -> None:
        if not isinstance(reply, KafkaError):
            world.commit_promised(offset)

    world.coordinator.submit(lambda groups, now, _: commit(groups, now, request, 9), told)


def _assignment(partitions: set[int]) -> bytes:
    place = ConsumerProtocolAssignmentTopicPartition(topic=TOPIC, partitions=sorted(partitions))
    return pack(">h", 1) + encode(ConsumerProtocolAssignment(assigned_partitions=[place]), 1)


def _given(assignment: bytes) -> set[int]:
    if not assignment:
        return set()
    message, _ = decode(ConsumerProtocolAssignment, 1, assignment, 2)
    return {index for place in message.assigned_partitions for index in place.partitions}


def topic_id_of(name: str) -> Uuid:
    return name.encode().ljust(16, b".")
