"""JoinGroup: a member wants to take part in the next generation."""

from typing import TYPE_CHECKING

from ottla.coordination.machine import LATER, Decision, Instant, Later, Ticket
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.classic import rebalance
from ottla.groups.classic.group import (
    ClassicGroup,
    ClassicGroupMember,
    ClassicGroupState,
    Protocols,
)
from ottla.groups.classic.records import birth_record, group_record
from ottla.groups.consumer import classic_members
from ottla.groups.consumer.group import ConsumerGroup
from ottla.groups.consumer.records import group_tombstones
from ottla.groups.outcome import Caller, Outcome
from ottla.groups.share.group import ShareGroup
from ottla.groups.streams.group import StreamsGroup
from ottla.groups.streams.records import group_tombstones as streams_tombstones
from ottla.ids import show_uuid_as_java
from ottla.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from ottla.wire.messages.sync_group import SyncGroupResponse

if TYPE_CHECKING:
    from ottla.groups.machine import Groups

MEMBER_ID_REQUIRED_SINCE = 4
SKIP_ASSIGNMENT_SINCE = 9
Reply = JoinGroupResponse | Later


def join(
    groups: "Groups", now: Instant, request: JoinGroupRequest, caller: Caller, ticket: Ticket
) -> Decision[JoinGroupResponse]:
    limits = groups.limits
    if not (
        limits.min_session_timeout_ms <= request.session_timeout_ms <= limits.max_session_timeout_ms
    ):
        return _refused(request, ErrorCode.INVALID_SESSION_TIMEOUT)
    out = Outcome()
    existing = groups.find(request.group_id)
    if isinstance(existing, ConsumerGroup):
        if not existing.is_empty:
            return _join_consumers(groups, existing, now, request, caller)
        out.records += group_tombstones(existing)
    if isinstance(existing, StreamsGroup) and existing.is_empty:
        out.records += streams_tombstones(existing)
    elif isinstance(existing, ShareGroup | StreamsGroup):
        code = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return Decision((), JoinGroupResponse(error_code=code))
    try:
        group = groups.classic(request.group_id, create=not request.member_id)
    except KafkaError as error:
        code = error.code
        if code is ErrorCode.GROUP_ID_NOT_FOUND:
            code = ErrorCode.UNKNOWN_MEMBER_ID
            if existing is not None:
                groups.forget(existing.id)
        return _refused(request, code)
    before = len(out.records)
    try:
        reply = _Join(groups, group, now, request, caller, ticket, out).decide()
    except KafkaError as refusal:
        reply = JoinGroupResponse(error_code=refusal.code, member_id=request.member_id)
    if group is not existing and len(out.records) == before:
        out.records.append(birth_record(group))  # even where its first member was refused
    return out.decision(reply)


def _join_consumers(
    groups: "Groups", group: ConsumerGroup, now: Instant, request: JoinGroupRequest, caller: Caller
) -> Decision[JoinGroupResponse]:
    try:
        return classic_members.join(groups, group, now, request, caller)
    except KafkaError as refusal:
        return Decision((), JoinGroupResponse(error_code=refusal.code))


def _refused(request: JoinGroupRequest, code: ErrorCode) -> Decision[JoinGroupResponse]:
    return Decision((), JoinGroupResponse(error_code=code, member_id=request.member_id))


class _Join:
    """One JoinGroup on its way through the rules; gone when it is decided."""

    def __init__(
        self,
        groups: "Groups",
        group: ClassicGroup,
        now: Instant,
        request: JoinGroupRequest,
        caller: Caller,
        ticket: Ticket,
        out: Outcome,
    ) -> None:
        self.groups = groups
        self.group = group
        self.now = now
        self.request = request
        self.caller = caller
        self.ticket = ticket
        self.out = out
        self.protocols: Protocols = [(p.name, p.metadata) for p in request.protocols]
        self.rebalance_timeout_ms = request.rebalance_timeout_ms
        self.why = f"client's reason: {request.reason or 'not provided'}"

    def decide(self) -> Reply:
        group, request = self.group, self.request
        if not self._has_room():
            group.remove(request.member_id)
            self.groups.timers.cancel(("session", group.id, request.member_id))
            return JoinGroupResponse(error_code=ErrorCode.GROUP_MAX_SIZE_REACHED)
        if not group.supports(request.protocol_type, [name for name, _ in self.protocols]):
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if not request.member_id:
            return self._newcomer()
        if request.member_id in group.pending_joins:
            if request.group_instance_id is not None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            return self._add(request.member_id)
        return self._known(group.check_member(request.member_id, request.group_instance_id))

    def _has_room(self) -> bool:
        group, limit = self.group, self.groups.limits.classic_max_size
        member = group.members.get(self.request.member_id)
        if group.is_empty:
            return True
        if group.state is ClassicGroupState.PREPARING_REBALANCE:
            return (
                member is not None and member.join_ticket is not None
            ) or group.awaiting_join() < limit
        return member is not None or len(group.members) < limit

    def _newcomer(self) -> Reply:
        group, instance_id = self.group, self.request.group_instance_id
        unique = show_uuid_as_java(self.groups.new_uuid())
        member_id = f"{instance_id or self.caller.client_id}-{unique}"
        if instance_id is not None:
            known = group.static_ids.get(instance_id)
            return self._add(member_id) if known is None else self._replace(known, member_id)
        if self.caller.api_version >= MEMBER_ID_REQUIRED_SINCE:
            group.pending_joins.add(member_id)
            self.groups.expect_heartbeat(
                group.id, member_id, self.now, self.request.session_timeout_ms
            )
            return JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id)
        return self._add(member_id)

    def _add(self, member_id: str) -> Reply:
        group, request = self.group, self.request
        member = ClassicGroupMember(
            id=member_id,
            instance_id=request.group_instance_id,
            client_id=self.caller.client_id,
            client_host=self.caller.client_host,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocols=self.protocols,
        )
        member.is_new = True
        if not group.members:
            group.protocol_type = request.protocol_type
        group.add(member)
        if group.leader is None:
            group.leader = member.id
        if (
            group.state is ClassicGroupState.PREPARING_REBALANCE
            and group.previous_state is ClassicGroupState.EMPTY
        ):
            group.new_member_added = True
        # A new member cannot send heartbeats before it knows its id. If its connection is gone it
        # asks anew under another id, and this one must not stay forever.
        timeout_ms = self.groups.limits.new_member_join_timeout_ms
        self.groups.expect_heartbeat(group.id, member_id, self.now, timeout_ms)
        return self._rebalance(member, f"{member_id} joined; {self.why}")

    def _known(self, member: ClassicGroupMember) -> Reply:
        group = self.group
        if group.is_empty:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        changed = list(member.protocols) != list(self.protocols)
        if group.state is ClassicGroupState.PREPARING_REBALANCE:
            return self._update(member, f"{member.id} joins again; {self.why}")
        if changed:
            return self._update(member, f"{member.id} changed what it asks for; {self.why}")
        if group.state is ClassicGroupState.STABLE and group.leader == member.id:
            return self._update(member, f"the leader {member.id} joins again; {self.why}")
        reply = rebalance.joined(group, member)  # it missed our answer
        if group.state is ClassicGroupState.STABLE:
            reply.members = []
        return reply

    def _update(self, member: ClassicGroupMember, reason: str) -> Reply:
        member.protocols = self.protocols
        member.rebalance_timeout_ms = self.rebalance_timeout_ms
        member.session_timeout_ms = self.request.session_timeout_ms
        if member.join_ticket is not None:  # the same member asks twice: the first one is gone
            stale = JoinGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID, member_id=member.id)
            self.out.answer(member.join_ticket, stale)
        return self._rebalance(member, reason)

    def _rebalance(self, member: ClassicGroupMember, reason: str) -> Later:
        member.join_ticket = self.ticket
        self.groups.history(self.group.id).member_joined(member.id, self.now.seconds)
        rebalance.rebalance_or_go_on(self.groups, self.group, self.now, reason, self.out)
        return LATER

    def _replace(self, old_id: str, new_id: str) -> Reply:
        """A static member came back under a new id: the old one is fenced from now on."""
        group, request = self.group, self.request
        old = group.members[old_id]
        old_leader = group.leader
        self._fence(old)
        group.members = {
            new_id if key == old_id else key: member for key, member in group.members.items()
        }
        member, old.id = old, new_id
        group.static_ids[request.group_instance_id or ""] = new_id
        if old_id in group.pending_syncs:
            group.pending_syncs = (group.pending_syncs - {old_id}) | {new_id}
        if group.leader == old_id:
            group.leader = new_id
        self.groups.timers.cancel(("session", group.id, old_id))
        self.groups.expect_heartbeat(group.id, new_id, self.now, member.session_timeout_ms)
        member.protocols = self.protocols
        member.rebalance_timeout_ms = self.rebalance_timeout_ms
        member.session_timeout_ms = request.session_timeout_ms
        if group.state is ClassicGroupState.STABLE and group.elect_protocol() == group.protocol:
            return self._go_on(member, old_leader)
        return self._rebalance(member, f"{new_id} replaces {old_id}; {self.why}")

    def _fence(self, member: ClassicGroupMember) -> None:
        fenced = ErrorCode.FENCED_INSTANCE_ID
        if member.join_ticket is not None:
            reply = JoinGroupResponse(error_code=fenced, member_id=member.id)
            self.out.answer(member.join_ticket, reply)
        if member.sync_ticket is not None:
            self.out.answer(member.sync_ticket, SyncGroupResponse(error_code=fenced))
        member.join_ticket = member.sync_ticket = None

    def _go_on(self, member: ClassicGroupMember, old_leader: str | None) -> JoinGroupResponse:
        """Nothing but the id changes: the group stays stable, and is written with the new id."""
        group = self.group
        assignments = {m.id: m.assignment for m in group.members.values()}
        self.out.records.append(
            group_record(group, self.now.wall_ms, group.generation, assignments)
        )
        if self.caller.api_version >= SKIP_ASSIGNMENT_SINCE:
            return rebalance.joined(group, member, skip_assignment=group.leader == member.id)
        reply = rebalance.joined(group, member)
        reply.leader = old_leader or ""  # so that an old client does not assign
        reply.members = []
        return reply
