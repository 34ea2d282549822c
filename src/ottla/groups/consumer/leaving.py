"""Members that go: by themselves, for a while (static ones), or because they are silent or slow."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ottla.coordination.machine import Decision, Instant
from ottla.groups.consumer import migration, records, targets
from ottla.groups.consumer.draft import Draft
from ottla.groups.consumer.group import (
    LEAVING_STATIC,
    ConsumerGroup,
    Member,
    MemberState,
    no_consumer_group,
)
from ottla.groups.outcome import Outcome
from ottla.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

if TYPE_CHECKING:
    from ottla.groups.machine import Groups


def leave(
    groups: "Groups", now: Instant, request: ConsumerGroupHeartbeatRequest
) -> Decision[ConsumerGroupHeartbeatResponse]:
    group = groups.find_consumer(request.group_id) or no_consumer_group(request.group_id)
    if request.instance_id is None:
        member = group.member(request.member_id)
    else:
        member = group.static_member(request.instance_id, request.member_id)
    response = ConsumerGroupHeartbeatResponse(
        member_id=member.id, member_epoch=request.member_epoch
    )
    out = Outcome()
    if request.member_epoch == LEAVING_STATIC:
        gone = replace(
            member,
            epoch=LEAVING_STATIC,
            revoking={},
            state=MemberState.STABLE,
        )
        groups.timers.cancel(("revoke", group.id, member.id))
        groups.expect_member(group.id, member.id, now)
        out.records.append(records.current(group.id, gone))
    else:
        remove(groups, group, [member], now, f"{member.id} left", out)
    return out.decision(response)


def remove(
    groups: "Groups",
    group: ConsumerGroup,
    members: list[Member],
    now: Instant,
    reason: str,
    out: Outcome,
) -> None:
    """Take members out; those who stay share what is left at once."""
    draft = Draft(group)
    for member in members:
        draft.write_all(records.member_tombstones(group.id, member.id))
        for kind in ("member", "revoke", "join", "sync"):
            groups.timers.cancel((kind, group.id, member.id))
    targets.refresh(groups, draft, now, reason, bump=True)
    out.records += draft.records
    migration.downgrade_if_due(groups, draft, now, out)


def session_ended(
    groups: "Groups", group: ConsumerGroup, member_id: str, now: Instant, out: Outcome
) -> None:
    member = group.members.get(member_id)
    if member is not None:
        remove(groups, group, [member], now, f"no heartbeat of {member_id} in its session", out)


def is_late(
    groups: "Groups", group: ConsumerGroup, member_id: str, what: str, now: Instant, out: Outcome
) -> None:
    """A classic member was told to join, or has joined and did not ask for its part since."""
    member = group.members.get(member_id)
    if member is not None:
        remove(groups, group, [member], now, f"{member_id} did not {what} in time", out)


def revocation_is_late(
    groups: "Groups", group: ConsumerGroup, member_id: str, now: Instant, out: Outcome
) -> None:
    """It should have given up partitions by now, and others wait for them."""
    member = group.members.get(member_id)
    if member is not None and member.state is MemberState.UNREVOKED_PARTITIONS:
        timeout = member.rebalance_timeout_ms
        reason = f"{member_id} did not give up its partitions within {timeout} ms"
        remove(groups, group, [member], now, reason, out)
