"""LeaveGroup: members go, by themselves or sent away by their instance id."""

from typing import TYPE_CHECKING

from ottla.coordination.machine import Decision, Instant
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.classic import rebalance
from ottla.groups.classic.group import ClassicGroup, ClassicGroupState
from ottla.groups.consumer import classic_members
from ottla.groups.consumer.group import ConsumerGroup
from ottla.groups.outcome import Outcome
from ottla.groups.share.group import ShareGroup
from ottla.groups.streams.group import StreamsGroup
from ottla.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)

if TYPE_CHECKING:
    from ottla.groups.machine import Groups


def leave(
    groups: "Groups", now: Instant, request: LeaveGroupRequest
) -> Decision[LeaveGroupResponse]:
    group = groups.find(request.group_id)
    if isinstance(group, ConsumerGroup):
        return classic_members.leave(groups, group, now, request)
    if isinstance(group, ShareGroup | StreamsGroup):
        group = None
    out = Outcome()
    members = [_leave(groups, group, identity, out) for identity in request.members]
    gone = [m.member_id or m.group_instance_id or "" for m in members if m.error_code == 0]
    if group is not None and gone:
        _settle(groups, group, now, f"{', '.join(gone)} left", out)
    return out.decision(LeaveGroupResponse(members=members))


def _leave(
    groups: "Groups", group: ClassicGroup | None, identity: MemberIdentity, out: Outcome
) -> MemberResponse:
    response = MemberResponse(
        member_id=identity.member_id, group_instance_id=identity.group_instance_id
    )
    if group is None:
        response.error_code = ErrorCode.UNKNOWN_MEMBER_ID
        return response
    if identity.member_id in group.pending_joins:
        group.remove(identity.member_id)
        groups.timers.cancel(("session", group.id, identity.member_id))
        return response
    try:
        member_id = identity.member_id
        if not member_id and identity.group_instance_id is not None:
            member_id = group.static_ids.get(identity.group_instance_id, "")
        member = group.check_member(member_id, identity.group_instance_id)
        rebalance.remove_member(groups, group, member, out)
    except KafkaError as refusal:
        response.error_code = refusal.code
    return response


def _settle(groups: "Groups", group: ClassicGroup, now: Instant, reason: str, out: Outcome) -> None:
    if group.state in (ClassicGroupState.STABLE, ClassicGroupState.COMPLETING_REBALANCE):
        rebalance.begin(groups, group, now, reason, out)
    else:
        rebalance.maybe_complete(groups, group, now, out)
