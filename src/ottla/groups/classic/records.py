"""A classic group as its one record, GroupMetadata, and back.

The record is written when somebody joins a group that was not there, without members; when the
leader's assignment comes, when a static member gets a new id, and when the last member is gone: so
a new coordinator goes on without a rebalance.
"""

from collections.abc import Mapping

from ottla.coordination.machine import CoordinatorRecord
from ottla.groups.classic.group import ClassicGroup, ClassicGroupMember, ClassicGroupState
from ottla.wire.records.classic_groups import GroupMetadataKey, GroupMetadataValue, MemberMetadata


def group_record(
    group: ClassicGroup,
    now_ms: int,
    generation: int,
    assignments: Mapping[str, bytes] | None = None,
) -> CoordinatorRecord:
    """The group with these assignments, or without members."""
    members = []
    if assignments is not None:
        members = [
            MemberMetadata(
                member_id=member.id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(group.protocol),
                assignment=assignments.get(member.id, b""),
            )
            for member in group.members.values()
        ]
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=generation,
        protocol=group.protocol if members else None,
        leader=group.leader if members else None,
        current_state_timestamp=now_ms if not members else group.state_since_ms,
        members=members,
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.id), value)


def birth_record(group: ClassicGroup) -> CoordinatorRecord:
    """The group is there; of who has come so far it tells nothing."""
    value = GroupMetadataValue(
        protocol_type="", generation=0, current_state_timestamp=group.state_since_ms
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.id), value)


def tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(GroupMetadataKey(group=group_id), None)


def apply(group: ClassicGroup, value: GroupMetadataValue) -> None:
    """What the record says holds; members that are known keep who waits for them. Subscriptions
    are noted with a generation, so not where a static member came back with another one: only
    a log that is read knows no better."""
    group.written = True
    if group.members and not value.members and not value.generation:
        return  # of its birth: those who have come meanwhile stay
    group.protocol_type = value.protocol_type or None
    is_news = group.generation != value.generation
    group.generation = value.generation
    group.protocol = value.protocol
    group.leader = value.leader
    group.state_since_ms = value.current_state_timestamp
    for gone in group.members.keys() - {member.member_id for member in value.members}:
        group.remove(gone)
        is_news = True
    for data in value.members:
        written = _member(data, value.protocol)
        member = group.members.get(data.member_id)
        if member is None:
            group.add(written)
            is_news = True
        else:
            is_news |= member.metadata(value.protocol) != written.metadata(value.protocol)
            _update(member, written, value.protocol)
    group.leader = value.leader
    group.previous_state = group.state
    group.state = ClassicGroupState.STABLE if value.members else ClassicGroupState.EMPTY
    if is_news:
        group.note_subscriptions()


def _update(member: ClassicGroupMember, written: ClassicGroupMember, protocol: str | None) -> None:
    member.assignment = written.assignment
    member.client_id, member.client_host = written.client_id, written.client_host
    member.rebalance_timeout_ms = written.rebalance_timeout_ms
    member.session_timeout_ms = written.session_timeout_ms
    if member.metadata(protocol) != written.metadata(protocol):  # of an earlier record
        member.protocols = written.protocols


def _member(data: MemberMetadata, protocol: str | None) -> ClassicGroupMember:
    timeout = data.rebalance_timeout
    return ClassicGroupMember(
        id=data.member_id,
        instance_id=data.group_instance_id,
        client_id=data.client_id,
        client_host=data.client_host,
        rebalance_timeout_ms=timeout if timeout >= 0 else data.session_timeout,
        session_timeout_ms=data.session_timeout,
        protocols=[(protocol or "", data.subscription)],
        assignment=data.assignment,
    )
