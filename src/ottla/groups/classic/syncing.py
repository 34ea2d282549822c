"""SyncGroup: the leader brings the assignments, everyone gets theirs."""

from typing import TYPE_CHECKING

from ottla.coordination.machine import LATER, Decision, Instant, Ticket
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.classic import rebalance
from ottla.groups.classic.group import ClassicGroup, ClassicGroupMember, ClassicGroupState
from ottla.groups.classic.records import group_record
from ottla.groups.consumer import classic_members
from ottla.groups.consumer.group import ConsumerGroup
from ottla.groups.outcome import Outcome
from ottla.groups.share.group import ShareGroup
from ottla.groups.streams.group import StreamsGroup
from ottla.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

if TYPE_CHECKING:
    from ottla.groups.machine import Groups


def sync(
    groups: "Groups", now: Instant, request: SyncGroupRequest, ticket: Ticket
) -> Decision[SyncGroupResponse]:
    group = groups.find(request.group_id)
    if group is None or group.is_empty or isinstance(group, ShareGroup | StreamsGroup):
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    if isinstance(group, ConsumerGroup):
        return classic_members.sync(groups, group, now, request)
    member = _check(group, request)
    if group.state is ClassicGroupState.PREPARING_REBALANCE:
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
    group.pending_syncs.discard(member.id)
    if not group.pending_syncs:
        groups.timers.cancel(("sync", group.id, ""))
    if group.state is ClassicGroupState.STABLE:
        return Decision((), assigned(group, member, member.assignment))
    member.sync_ticket = ticket
    out = Outcome()
    if member.id == group.leader:
        _assign(groups, group, now, request, out)
    return out.decision(LATER)


def _check(group: ClassicGroup, request: SyncGroupRequest) -> ClassicGroupMember:
    member = group.check_member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    if _differ(request.protocol_type, group.protocol_type) or _differ(
        request.protocol_name, group.protocol
    ):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    return member


def _differ(asked: str | None, known: str | None) -> bool:
    return None not in (asked, known) and asked != known


def _assign(
    groups: "Groups", group: ClassicGroup, now: Instant, request: SyncGroupRequest, out: Outcome
) -> None:
    """The record makes the group stable; its members are answered once it is committed."""
    assignments = {given.member_id: given.assignment for given in request.assignments}
    out.records.append(group_record(group, now.wall_ms, group.generation, assignments))
    for member in group.members.values():
        reply = assigned(group, member, assignments.get(member.id, b""))
        rebalance.answer_sync(groups, group, member, now, reply, out)
    groups.history(group.id).end(group.id, group.generation, now.seconds)


def assigned(
    group: ClassicGroup, member: ClassicGroupMember, assignment: bytes
) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=assignment
    )
