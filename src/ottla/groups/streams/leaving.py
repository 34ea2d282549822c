"""Members that go: by themselves, or because they are silent or slow.

The others get what is left with their next heartbeat."""

from typing import TYPE_CHECKING

from ottla.coordination.machine import Instant
from ottla.groups.outcome import Outcome
from ottla.groups.streams import records, targets
from ottla.groups.streams.draft import StreamsGroupDraft
from ottla.groups.streams.group import StreamsGroup, StreamsGroupMember, StreamsMemberState

if TYPE_CHECKING:
    from ottla.groups.machine import Groups


def expect(groups: "Groups", group_id: str, member_id: str, now: Instant) -> None:
    """Its next heartbeat, within its session."""
    timeout_ms = groups.pace_of(group_id).streams_session_timeout_ms
    groups.timers.set(("member", group_id, member_id), now.seconds + timeout_ms / 1000)


def expect_again(groups: "Groups", group: StreamsGroup, now: Instant) -> None:
    """The coordinator has loaded the group: nobody is late yet."""
    for member in group.members.values():
        expect(groups, group.id, member.id, now)
        if member.state is StreamsMemberState.UNREVOKED_TASKS:
            groups.expect_revocation(group.id, member.id, now, member.rebalance_timeout_ms)


def remove(
    groups: "Groups",
    group: StreamsGroup,
    member: StreamsGroupMember,
    now: Instant,
    why: str,
    out: Outcome,
) -> None:
    reason = f"{member.id} {why}"
    groups.history(group.id).begin(group.id, reason, now.seconds, now.wall_ms)
    out.records += records.member_tombstones(group.id, member.id)
    out.records.append(
        records.group_epoch(
            group.id,
            group.epoch + 1,
            group.metadata_hash,
            group.validated_epoch,
            group.configs,
        )
    )
    for kind in ("member", "revoke"):
        groups.timers.cancel((kind, group.id, member.id))


def session_ended(
    groups: "Groups", group: StreamsGroup, member_id: str, now: Instant, out: Outcome
) -> None:
    member = group.members.get(member_id)
    if member is not None:
        remove(groups, group, member, now, "sent no heartbeat in its session", out)


def revocation_is_late(
    groups: "Groups", group: StreamsGroup, member_id: str, now: Instant, out: Outcome
) -> None:
    """It should have given up tasks by now, and others wait for them."""
    member = group.members.get(member_id)
    if member is not None and member.state is StreamsMemberState.UNREVOKED_TASKS:
        timeout = member.rebalance_timeout_ms
        why = f"did not give up its tasks within {timeout} ms"
        remove(groups, group, member, now, why, out)


def initial_delay_is_over(
    groups: "Groups", group: StreamsGroup, now: Instant, out: Outcome
) -> None:
    """Those who joined so far get their tasks."""
    if group.is_empty or group.topology is None or group.epoch <= group.assignment_epoch:
        return
    draft = StreamsGroupDraft(group)
    outcome = targets.configured(groups, group, group.topology)
    targets.make_target(groups, draft, outcome, now)
    out.records += draft.records
