"""A shard of the group coordinator without a log or a loop: decisions are applied at once."""

from collections.abc import Callable
from itertools import count
from typing import Any

from ottla.coordination.machine import LATER, CoordinatorRecord, Decision, Instant
from ottla.errors import KafkaError
from ottla.groups.classic.group import ClassicGroupState
from ottla.groups.classic.heartbeats import heartbeat
from ottla.groups.classic.joining import join
from ottla.groups.classic.leaving import leave
from ottla.groups.classic.syncing import sync
from ottla.groups.limits import GroupLimits, Pace
from ottla.groups.machine import Groups
from ottla.groups.outcome import Caller
from ottla.metadata.image import Image, PartitionRegistration, Topic
from ottla.wire.messages.heartbeat import HeartbeatRequest
from ottla.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from ottla.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from ottla.wire.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)


class Ticket:
    """What a request waits on: holds the reply once there is one."""

    def __init__(self) -> None:
        self.reply: Any = None

    @property
    def waits(self) -> bool:
        return self.reply is None

    def __repr__(self) -> str:
        return f"Ticket({self.reply!r})"


class Driver:
    """Sends requests of one group to a machine, with a clock that only moves when told."""

    def __init__(self, **limits: int | Pace) -> None:
        self.limits = GroupLimits(**{"initial_rebalance_delay_ms": 0, **limits})  # type: ignore[arg-type]
        self._ids = count(1)
        self.image = Image()
        self.groups = self._machine()
        self.seconds = 1_000.0
        self.written: list[CoordinatorRecord] = []
        self.group_id = "g"
        self.groups.loaded(self.now)

    def _machine(self) -> Groups:
        return Groups(self.limits, lambda: next(self._ids).to_bytes(16, "big"), lambda: self.image)

    @property
    def now(self) -> Instant:
        return Instant(self.seconds, int(self.seconds * 1000))

    def take(self, decision: Decision[Any], ticket: Ticket) -> None:
        producer_id = -1 if decision.producer is None else decision.producer.id
        for entry in decision.records:
            self.written.append(entry)
            self.groups.replay(-1, producer_id, *entry)
        for waiting, reply in decision.answers:
            assert waiting.reply is None, "answered twice"
            waiting.reply = reply
        if decision.reply is not LATER:
            ticket.reply = decision.reply

    def ask(self, decide: Callable[[Ticket], Decision[Any]]) -> Ticket:
        ticket = Ticket()
        try:
            self.take(decide(ticket), ticket)
        except KafkaError as error:
            ticket.reply = error
        return ticket

    def pass_time(self, seconds: float) -> None:
        """Let time go by, tick by tick as the shard would."""
        end = self.seconds + seconds
        while (due := self.groups.deadline()) is not None and due <= end:
            self.seconds = max(due, self.seconds)
            self.take(self.groups.tick(self.now), Ticket())
        self.seconds = end

    def restart(self) -> None:
        """Another coordinator reads what this one wrote."""
        self.groups = self._machine()
        for entry in self.written:
            self.groups.replay(-1, -1, *entry)
        self.take(self.groups.loaded(self.now), Ticket())

    def make_topic(self, name: str, partitions: int) -> bytes:
        """Make it, or make it larger."""
        topic_id = name.encode().ljust(16, b".")
        whole = {
            index: PartitionRegistration(replicas=(1,), isr=(1,), leader=1)
            for index in range(partitions)
        }
        topic = Topic(topic_id, name, whole)
        self.image.topics_by_name[name] = self.image.topics_by_id[topic_id] = topic
        self.groups.topics_version += 1
        return topic_id

    def delete_topic(self, name: str) -> None:
        del self.image.topics_by_id[self.image.topics_by_name.pop(name).id]
        self.groups.topics_version += 1

    # -- the classic protocol -----------------------------------------------------------------

    def join(
        self,
        member_id: str = "",
        *,
        instance: str | None = None,
        protocols: tuple[str, ...] = ("range",),
        metadata: bytes = b"\0\0\0\0\0\0\0\0\0\0",
        version: int = 9,
        session_s: float = 10,
        rebalance_s: float = 60,
        protocol_type: str = "consumer",
        client: str = "c",
        reason: str | None = None,
    ) -> Ticket:
        request = JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=int(session_s * 1000),
            rebalance_timeout_ms=int(rebalance_s * 1000),
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=n, metadata=metadata) for n in protocols],
            reason=reason,
        )
        caller = Caller(client, "/127.0.0.1", version)
        return self.ask(lambda ticket: join(self.groups, self.now, request, caller, ticket))

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: dict[str, bytes] | None = None,
        instance: str | None = None,
    ) -> Ticket:
        request = SyncGroupRequest(
            group_id=self.group_id,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type="consumer",
            assignments=[
                SyncGroupRequestAssignment(member_id=member, assignment=data)
                for member, data in (assignments or {}).items()
            ],
        )
        return self.ask(lambda ticket: sync(self.groups, self.now, request, ticket))

    def heartbeat(self, member_id: str, generation: int, instance: str | None = None) -> Ticket:
        request = HeartbeatRequest(
            group_id=self.group_id,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
        )
        return self.ask(lambda _: heartbeat(self.groups, self.now, request))

    def leave(self, *members: str, instance: str | None = None) -> LeaveGroupResponse:
        request = LeaveGroupRequest(
            group_id=self.group_id,
            members=[MemberIdentity(member_id=m, group_instance_id=instance) for m in members],
        )
        response: LeaveGroupResponse = self.ask(
            lambda _: leave(self.groups, self.now, request)
        ).reply
        return response

    def settle(self, count: int, **options: Any) -> list[JoinGroupResponse]:
        """So many members, joined and assigned: each gets its own name as its assignment."""
        tickets = [self.join(version=3, client=f"c{index}", **options) for index in range(count)]
        while self.groups.groups[self.group_id].state is not ClassicGroupState.COMPLETING_REBALANCE:
            self.pass_time(1)
            for position, ticket in enumerate(tickets):
                if ticket.reply is not None:
                    tickets[position] = self.join(ticket.reply.member_id, **options)
        joined: list[JoinGroupResponse] = [ticket.reply for ticket in tickets]
        syncs: list[Ticket] = []
        leader = next(reply for reply in joined if reply.leader == reply.member_id)
        for reply in (*(j for j in joined if j is not leader), leader):
            everyone = {j.member_id: j.member_id.encode() for j in joined}
            is_leader = reply is leader
            syncs.append(
                self.sync(reply.member_id, reply.generation_id, everyone if is_leader else None)
            )
        for ticket in syncs:
            assert isinstance(ticket.reply, SyncGroupResponse), ticket
        return joined
