"""A member that speaks the classic protocol."""

from struct import pack
from typing import Any

from ottla.errors import ErrorCode, KafkaError
from ottla.groups.classic.heartbeats import heartbeat as classic_heartbeat
from ottla.groups.classic.joining import join
from ottla.groups.classic.syncing import sync
from ottla.groups.outcome import Caller
from ottla.simulation.groups.members import (
    GONE,
    GROUP,
    HEARTBEAT_S,
    JOIN_PATIENCE_S,
    REBALANCE_MS,
    SESSION_MS,
    TOPIC,
    SimulatedMember,
)
from ottla.wire.codec import decode, encode
from ottla.wire.messages.heartbeat import HeartbeatRequest
from ottla.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from ottla.wire.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
)


class ClassicMember(SimulatedMember):
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
        given = given_in(reply.assignment)
        gave_up = not self.owned <= given
        self.world.classic_assigned(self, given)
        self.own(self.owned & given)
        self.own(given)
        self._plan(0.01 if gave_up else HEARTBEAT_S, self._join if gave_up else self.act)


def _assignment(partitions: set[int]) -> bytes:
    place = ConsumerProtocolAssignmentTopicPartition(topic=TOPIC, partitions=sorted(partitions))
    return pack(">h", 1) + encode(ConsumerProtocolAssignment(assigned_partitions=[place]), 1)


def given_in(assignment: bytes) -> set[int]:
    if not assignment:
        return set()
    message, _ = decode(ConsumerProtocolAssignment, 1, assignment, 2)
    return {index for place in message.assigned_partitions for index in place.partitions}
