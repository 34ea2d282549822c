"""Heartbeat: a member lives. And what happens when it does not."""

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
from ottla.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

if TYPE_CHECKING:
    from ottla.groups.machine import Groups


def heartbeat(
    groups: "Groups", now: Instant, request: HeartbeatRequest
) -> Decision[HeartbeatResponse]:
    group = groups.find(request.group_id)
    if group is None or isinstance(group, ShareGroup | StreamsGroup):
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    if isinstance(group, ConsumerGroup):
        return classic_members.heartbeat(groups, group, now, request)
    member = group.check_member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    if group.is_empty:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    groups.expect_heartbeat(group.id, member.id, now, member.session_timeout_ms)
    if group.state is ClassicGroupState.PREPARING_REBALANCE:
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
    return Decision((), HeartbeatResponse())


def session_ended(
    groups: "Groups", group: ClassicGroup, member_id: str, now: Instant, out: Outcome
) -> None:
    if member_id in group.pending_joins:
        group.pending_joins.discard(member_id)
        if group.state is ClassicGroupState.PREPARING_REBALANCE and group.all_joined():
            rebalance.complete(groups, group, now, out)
        return
    member = group.members.get(member_id)
    if member is None or member.excused:
        return
    rebalance.remove_member(groups, group, member, out)
    reason = f"no heartbeat of {member_id} for {member.session_timeout_ms} ms"
    if group.state is ClassicGroupState.PREPARING_REBALANCE:
        if group.all_joined():
            rebalance.complete(groups, group, now, out)
    elif not group.is_empty:
        rebalance.begin(groups, group, now, reason, out)
