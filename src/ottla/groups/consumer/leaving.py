"""Members that go: by themselves, for a while (static ones), or because they are silent or slow."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ottla.coordination.machine import Decision, Instant
from ottla.groups.consumer import migration, records, targets
from ottla.groups.consumer.draft import ConsumerGroupDraft
from ottla.groups.consumer.group import (
    LEAVING_STATIC,
    ConsumerGroup,
    ConsumerGroupMember,
    ConsumerMemberState,
    no_consumer_group,
)
from ottla.groups.consumer.topics import metadata_hash
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
        # Whoever comes back for it has had everything from the beginning.
        held = {topic_id: dict.fromkeys(parts, 0) for topic_id, parts in member.held.items()}
        gone = replace(member, epoch=LEAVING_STATIC, revoking={}, held=held)
        groups.timers.cancel(("revoke", group.id, member.id))
        out.records.append(records.current(group.id, gone))
    else:
        remove(groups, group, [member], now, f"{member.id} left", out)
    return out.decision(response)


def remove(
    groups: "Groups",
    group: ConsumerGroup,
    members: list[ConsumerGroupMember],
    now: Instant,
    reason: str,
    out: Outcome,
) -> None:
    """Take members out. Those who stay share what is left with the next heartbeat of one of them;
    if all of them speak the classic protocol, it is their group again."""
    for member in members:
        for kind in ("member", "revoke", "join", "sync"):
            groups.timers.cancel((kind, group.id, member.id))
    gone = {member.id for member in members}
    staying = [member for member in group.members.values() if member.id not in gone]
    if migration.may_downgrade(groups, staying):
        migration.downgrade(groups, group, staying, now, reason, out)
        return
    draft = ConsumerGroupDraft(group)
    for member in members:
        draft.write_all(records.member_tombstones(group.id, member.id))
    targets.forget_unused_regexes(draft)
    topics_hash = metadata_hash(groups.image(), draft.group.subscribed_topics())
    targets.raise_epoch(groups, draft, now, reason, topics_hash)
    out.records += draft.records


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
    if member is not None and member.state is ConsumerMemberState.UNREVOKED_PARTITIONS:
        timeout = member.rebalance_timeout_ms
        reason = f"{member_id} did not give up its partitions within {timeout} ms"
        remove(groups, group, [member], now, reason, out)
