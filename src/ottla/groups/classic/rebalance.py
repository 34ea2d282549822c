"""From one generation of a classic group to the next.

Stable or empty → *preparing*: everyone is to join again, for at most the longest rebalance
time-out → *completing*: the leader knows all members and is to assign → stable.
"""

from typing import TYPE_CHECKING

from ottla.coordination.machine import Instant
from ottla.errors import ErrorCode
from ottla.groups.classic.group import ClassicGroup, ClassicGroupMember, ClassicGroupState
from ottla.groups.classic.records import group_record
from ottla.groups.outcome import Outcome
from ottla.wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from ottla.wire.messages.sync_group import SyncGroupResponse

if TYPE_CHECKING:
    from ottla.groups.machine import Groups


def rebalance_or_go_on(
    groups: "Groups", group: ClassicGroup, now: Instant, reason: str, out: Outcome
) -> None:
    """Something changed: begin a rebalance, or see whether the one under way is complete."""
    if group.state is ClassicGroupState.PREPARING_REBALANCE:
        maybe_complete(groups, group, now, out)
    else:
        begin(groups, group, now, reason, out)


def begin(groups: "Groups", group: ClassicGroup, now: Instant, reason: str, out: Outcome) -> None:
    if group.state is ClassicGroupState.COMPLETING_REBALANCE:
        for member in group.members.values():
            member.assignment = b""
            answer_sync(
                groups,
                group,
                member,
                now,
                SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS),
                out,
            )
    group.pending_syncs.clear()
    groups.timers.cancel(("sync", group.id, ""))
    initial = group.is_empty
    group.become(ClassicGroupState.PREPARING_REBALANCE, now.wall_ms)
    groups.history(group.id).begin(group.id, reason, now.seconds, now.wall_ms)
    if initial:
        _delay_first(groups, group, now)
    elif group.all_joined():
        complete(groups, group, now, out)
    else:
        _expect_joins_within(groups, group, now, group.rebalance_timeout_ms())


def _delay_first(groups: "Groups", group: ClassicGroup, now: Instant) -> None:
    """A new group waits a little: its members are likely to start together."""
    delay = groups.limits.initial_rebalance_delay_ms
    group.new_member_added = False
    groups.first_join_left_ms[group.id] = max(group.rebalance_timeout_ms() - delay, 0)
    _expect_joins_within(groups, group, now, delay)


def _expect_joins_within(groups: "Groups", group: ClassicGroup, now: Instant, ms: int) -> None:
    groups.timers.set(("join", group.id, ""), now.seconds + ms / 1000)


def join_time_is_up(groups: "Groups", group: ClassicGroup, now: Instant, out: Outcome) -> None:
    if group.state is not ClassicGroupState.PREPARING_REBALANCE:
        return
    left = groups.first_join_left_ms.pop(group.id, 0)
    if group.previous_state is ClassicGroupState.EMPTY and group.new_member_added and left:
        group.new_member_added = False
        delay = min(groups.limits.initial_rebalance_delay_ms, left)
        groups.first_join_left_ms[group.id] = max(left - delay, 0)
        _expect_joins_within(groups, group, now, delay)
        return
    complete(groups, group, now, out)


def maybe_complete(groups: "Groups", group: ClassicGroup, now: Instant, out: Outcome) -> None:
    if (
        group.state is ClassicGroupState.PREPARING_REBALANCE
        and group.previous_state is not ClassicGroupState.EMPTY  # then the delay is waited out
        and group.all_joined()
    ):
        complete(groups, group, now, out)


def complete(groups: "Groups", group: ClassicGroup, now: Instant, out: Outcome) -> None:
    """All who come have come: the next generation begins."""
    groups.timers.cancel(("join", group.id, ""))
    groups.first_join_left_ms.pop(group.id, None)
    late = [
        member
        for member in group.members.values()
        if member.join_ticket is None and member.instance_id is None
    ]
    for member in late:
        group.remove(member.id)
        groups.timers.cancel(("session", group.id, member.id))
    if group.members and not group.elect_joined_leader():
        # Only static members are left and none has come: sessions will end them, or they come.
        _expect_joins_within(groups, group, now, group.rebalance_timeout_ms())
        return
    if not group.members:
        out.records.append(group_record(group, now.wall_ms, group.generation + 1))
        return
    group.generation += 1
    group.protocol = group.elect_protocol()
    group.note_subscriptions()
    group.become(ClassicGroupState.COMPLETING_REBALANCE, now.wall_ms)
    for member in group.members.values():
        answer_join(groups, group, member, now, joined(group, member), out)
        member.is_new = False
    group.pending_syncs = set(group.members)
    timeout_s = group.rebalance_timeout_ms() / 1000
    groups.timers.set(("sync", group.id, ""), now.seconds + timeout_s)


def sync_time_is_up(groups: "Groups", group: ClassicGroup, now: Instant, out: Outcome) -> None:
    late = sorted(group.pending_syncs)
    if (
        group.state not in (ClassicGroupState.COMPLETING_REBALANCE, ClassicGroupState.STABLE)
        or not late
    ):
        return
    for member_id in late:
        group.remove(member_id)
        groups.timers.cancel(("session", group.id, member_id))
    begin(groups, group, now, f"{', '.join(late)} did not ask for an assignment in time", out)


def joined(
    group: ClassicGroup, member: ClassicGroupMember, *, skip_assignment: bool = False
) -> JoinGroupResponse:
    """What a member is told about the generation; the leader also learns about the others."""
    everyone: list[JoinGroupResponseMember] = []
    if group.leader == member.id:
        everyone = [
            JoinGroupResponseMember(
                member_id=other.id,
                group_instance_id=other.instance_id,
                metadata=other.metadata(group.protocol),
            )
            for other in group.members.values()
        ]
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=group.leader or "",
        member_id=member.id,
        members=everyone,
        skip_assignment=skip_assignment,
    )


def answer_join(
    groups: "Groups",
    group: ClassicGroup,
    member: ClassicGroupMember,
    now: Instant,
    reply: JoinGroupResponse,
    out: Outcome,
) -> None:
    """Answer if it waits; its session runs from now on either way."""
    if member.join_ticket is not None:
        out.answer(member.join_ticket, reply)
        member.join_ticket = None
    groups.expect_heartbeat(group.id, member.id, now, member.session_timeout_ms)


def answer_sync(
    groups: "Groups",
    group: ClassicGroup,
    member: ClassicGroupMember,
    now: Instant,
    reply: SyncGroupResponse,
    out: Outcome,
) -> None:
    if member.sync_ticket is not None:
        out.answer(member.sync_ticket, reply)
        member.sync_ticket = None
        groups.expect_heartbeat(group.id, member.id, now, member.session_timeout_ms)


def remove_member(
    groups: "Groups", group: ClassicGroup, member: ClassicGroupMember, out: Outcome
) -> None:
    """Take a member out; whoever still waits for its JoinGroup is told to start anew."""
    groups.timers.cancel(("session", group.id, member.id))
    gone = ErrorCode.UNKNOWN_MEMBER_ID
    if member.join_ticket is not None:
        out.answer(member.join_ticket, JoinGroupResponse(error_code=gone))
        member.join_ticket = None
    if member.sync_ticket is not None:
        out.answer(member.sync_ticket, SyncGroupResponse(error_code=gone))
        member.sync_ticket = None
    group.remove(member.id)
