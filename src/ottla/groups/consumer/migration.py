"""A classic group becomes a consumer group with its first member of that protocol, and a
classic one again when the last of them goes. Nobody stops reading for it.

`group.consumer.migration.policy` says which of the two ways is open.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ottla.coordination.machine import Instant
from ottla.errors import ErrorCode
from ottla.groups.classic import rebalance
from ottla.groups.classic.group import CONSUMER, ClassicGroup, ClassicGroupMember, subscription_of
from ottla.groups.classic.records import group_record, tombstone
from ottla.groups.consumer import records
from ottla.groups.consumer.draft import ConsumerGroupDraft
from ottla.groups.consumer.group import (
    NOTHING,
    ConsumerGroup,
    ConsumerGroupMember,
    ConsumerMemberState,
)
from ottla.groups.consumer.topics import metadata_hash, owned_partitions
from ottla.groups.outcome import Outcome
from ottla.ids import Uuid
from ottla.metadata.image import Image
from ottla.wire.codec import MalformedMessage, decode
from ottla.wire.messages.join_group import JoinGroupResponse
from ottla.wire.messages.sync_group import SyncGroupResponse
from ottla.wire.records.consumer_groups import ClassicMemberMetadata, ClassicProtocol
from ottla.wire.records.consumer_protocol import ConsumerProtocolAssignment

if TYPE_CHECKING:
    from ottla.groups.machine import Groups

UPGRADES = ("upgrade", "bidirectional")
DOWNGRADES = ("downgrade", "bidirectional")


def upgrade(
    groups: "Groups", classic: ClassicGroup, now: Instant, out: Outcome
) -> ConsumerGroup | None:
    """The same members with what they have, under the coordinator's care; None: not possible.

    Kafka refuses where a member's assignment has user data. librdkafka's cooperative assignor
    always writes some after its first round, and its consumers would die of the refusal."""
    if (
        groups.limits.consumer_migration not in UPGRADES
        or not classic.uses_consumer_protocol
        or len(classic.members) > groups.limits.consumer_max_size
    ):
        return None
    _part_with(classic, out)
    try:
        members = [_upgraded(groups, classic, member) for member in classic.members.values()]
    except (MalformedMessage, ValueError):
        return None
    members = _with_what_they_may_still_have(groups.image(), members, classic.generation)
    draft = ConsumerGroupDraft(ConsumerGroup(classic.id))
    for member in members:
        draft.write(records.member_metadata(classic.id, member))
    topics = metadata_hash(groups.image(), draft.group.subscribed_topics())
    draft.write(records.group_epoch(classic.id, classic.generation, topics))
    for member in members:
        target = {topic: frozenset(parts) for topic, parts in member.held.items()}
        draft.write(records.target(classic.id, member.id, target))
    draft.write(records.target_epoch(classic.id, classic.generation, 0))  # a new one is due
    for member in members:
        draft.write(records.current(classic.id, member))
        groups.timers.cancel(("session", classic.id, member.id))
        groups.expect_member(classic.id, member.id, now, member)
    groups.timers.cancel(("join", classic.id, ""))
    groups.timers.cancel(("sync", classic.id, ""))
    out.records += [tombstone(classic.id), *draft.records]
    return draft.group


def _with_what_they_may_still_have(
    image: Image, members: list[ConsumerGroupMember], epoch: int
) -> list[ConsumerGroupMember]:
    """Cooperative members were told with their last assignment to give something up. Whether all
    have heard of it nobody knows, so it is theirs until they join again without it."""
    given = {
        (topic, index)
        for member in members
        for topic, partitions in member.held.items()
        for index in partitions
    }
    whole = []
    for member in members:
        assert member.classic is not None
        said = subscription_of(member.classic.supported_protocols[0].metadata)
        held = {topic: dict(partitions) for topic, partitions in member.held.items()}
        for topic, indexes in owned_partitions(image, said).items():
            for index in indexes:
                if (topic, index) not in given:
                    given.add((topic, index))
                    held.setdefault(topic, {})[index] = epoch
        whole.append(replace(member, held=held))
    return whole


def _upgraded(
    groups: "Groups", group: ClassicGroup, member: ClassicGroupMember
) -> ConsumerGroupMember:
    subscription = subscription_of(member.metadata(group.protocol or member.protocols[0][0]))
    topics = groups.image().topics_by_name
    held: dict[Uuid, dict[int, int]] = {}
    if member.assignment:
        version = int.from_bytes(member.assignment[:2], "big", signed=True)
        known = max(0, min(version, ConsumerProtocolAssignment.VERSIONS[-1]))
        assignment, _ = decode(ConsumerProtocolAssignment, known, member.assignment, 2)
        held = {
            topics[one.topic].id: dict.fromkeys(one.partitions, group.generation)
            for one in assignment.assigned_partitions
            if one.topic in topics
        }
    return ConsumerGroupMember(
        id=member.id,
        instance_id=member.instance_id,
        rack=subscription.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topics=tuple(sorted(subscription.topics)),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicMemberMetadata(
            session_timeout_ms=member.session_timeout_ms,
            supported_protocols=[
                ClassicProtocol(name=name, metadata=metadata) for name, metadata in member.protocols
            ],
        ),
        epoch=group.generation,
        previous_epoch=group.generation,
        state=ConsumerMemberState.STABLE,
        held=held,
    )


def _part_with(classic: ClassicGroup, out: Outcome) -> None:
    """Whoever waits is sent to join again; as in Kafka, even where it stays a classic group."""
    code = ErrorCode.REBALANCE_IN_PROGRESS
    for member in classic.members.values():
        if member.join_ticket is not None:
            reply = JoinGroupResponse(error_code=code, member_id=member.id)
            out.answer(member.join_ticket, reply)
        if member.sync_ticket is not None:
            out.answer(member.sync_ticket, SyncGroupResponse(error_code=code))
        member.join_ticket = member.sync_ticket = None


class Downgrade(NamedTuple):
    """What is left to do when the records of a downgrade are applied."""

    group: ClassicGroup
    now: Instant
    reason: str | None  # why its members are to join again; None: they need not


def may_downgrade(groups: "Groups", members: Sequence[ConsumerGroupMember]) -> bool:
    """Only classic members are left: they get their own protocol back."""
    return (
        groups.limits.consumer_migration in DOWNGRADES
        and 0 < len(members) <= groups.limits.classic_max_size
        and all(member.classic is not None for member in members)
    )


def downgrade(
    groups: "Groups",
    group: ConsumerGroup,
    members: Sequence[ConsumerGroupMember],
    now: Instant,
    reason: str | None,
    out: Outcome,
    *,
    generation: int | None = None,
) -> None:
    """Nobody loses what the target gives it, nor the generation it is in."""
    from ottla.groups.consumer.classic_members import encode_assignment

    classic = ClassicGroup(group.id)
    classic.protocol_type = CONSUMER
    for member in members:
        classic.add(_downgraded(member))
        for kind in ("member", "revoke", "join", "sync"):
            groups.timers.cancel((kind, group.id, member.id))
    classic.generation = group.epoch if generation is None else generation
    classic.protocol = classic.elect_protocol()
    classic.note_subscriptions()
    classic.leader = members[0].id
    classic.state_since_ms = now.wall_ms
    assignments = {}
    for one in classic.members.values():
        version = int.from_bytes(one.metadata(classic.protocol)[:2], "big", signed=True)
        target = group.targets.get(one.id, NOTHING)
        assignments[one.id] = encode_assignment(target, version, groups.image())
    out.records += records.group_tombstones(group)
    out.records.append(group_record(classic, now.wall_ms, classic.generation, assignments))
    groups.downgrades[group.id] = Downgrade(classic, now, reason)


def _downgraded(member: ConsumerGroupMember) -> ClassicGroupMember:
    assert member.classic is not None
    return ClassicGroupMember(
        id=member.id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=member.classic.session_timeout_ms,
        protocols=[(one.name, one.metadata) for one in member.classic.supported_protocols],
    )


def go_on(groups: "Groups", downgrade: Downgrade) -> None:
    """The records are applied: the classic group's time-outs run, and its rebalance begins."""
    group, now, reason = downgrade
    for member in group.members.values():
        groups.expect_heartbeat(group.id, member.id, now, member.session_timeout_ms)
    if reason is not None:
        rebalance.begin(groups, group, now, reason, Outcome())  # nobody waits for an answer yet
