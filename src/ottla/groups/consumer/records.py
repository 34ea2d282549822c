"""The records of consumer groups: written from members, applied to groups.

A member is three records (itself, its target, what it has), the group two (its epoch, its
target's epoch), and each regular expression one.
"""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ottla.coordination.machine import CoordinatorRecord
from ottla.groups.consumer.group import (
    ConsumerGroup,
    ConsumerGroupMember,
    ConsumerMemberState,
    Held,
    ResolvedRegex,
    Target,
)
from ottla.wire.message import Message
from ottla.wire.records import consumer_groups as wire

if TYPE_CHECKING:
    from collections.abc import Iterable

RECORDS: dict[int, tuple[type[Message], type[Message]]] = {
    3: (wire.ConsumerGroupMetadataKey, wire.ConsumerGroupMetadataValue),
    4: (wire.ConsumerGroupPartitionMetadataKey, wire.ConsumerGroupPartitionMetadataValue),
    5: (wire.ConsumerGroupMemberMetadataKey, wire.ConsumerGroupMemberMetadataValue),
    6: (
        wire.ConsumerGroupTargetAssignmentMetadataKey,
        wire.ConsumerGroupTargetAssignmentMetadataValue,
    ),
    7: (
        wire.ConsumerGroupTargetAssignmentMemberKey,
        wire.ConsumerGroupTargetAssignmentMemberValue,
    ),
    8: (
        wire.ConsumerGroupCurrentMemberAssignmentKey,
        wire.ConsumerGroupCurrentMemberAssignmentValue,
    ),
    16: (wire.ConsumerGroupRegularExpressionKey, wire.ConsumerGroupRegularExpressionValue),
}


# -- writing ----------------------------------------------------------------------------------


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    return CoordinatorRecord(
        wire.ConsumerGroupMetadataKey(group_id=group_id),
        wire.ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
    )


def member_metadata(group_id: str, member: ConsumerGroupMember) -> CoordinatorRecord:
    return CoordinatorRecord(
        wire.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.id),
        wire.ConsumerGroupMemberMetadataValue(
            instance_id=member.instance_id,
            rack_id=member.rack,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.topics),
            subscribed_topic_regex=member.regex,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            server_assignor=member.assignor,
            classic_member_metadata=member.classic,
        ),
    )


def target_epoch(group_id: str, epoch: int, now_ms: int) -> CoordinatorRecord:
    return CoordinatorRecord(
        wire.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id),
        wire.ConsumerGroupTargetAssignmentMetadataValue(
            assignment_epoch=epoch, assignment_timestamp=now_ms
        ),
    )


def target(group_id: str, member_id: str, partitions: Target) -> CoordinatorRecord:
    return CoordinatorRecord(
        wire.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        wire.ConsumerGroupTargetAssignmentMemberValue(
            topic_partitions=[
                wire.ConsumerGroupTargetAssignmentMemberValueTopicPartition(
                    topic_id=topic_id, partitions=sorted(indexes)
                )
                for topic_id, indexes in partitions.items()
                if indexes
            ]
        ),
    )


def current(group_id: str, member: ConsumerGroupMember) -> CoordinatorRecord:
    return CoordinatorRecord(
        wire.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.id),
        wire.ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=member.epoch,
            previous_member_epoch=member.previous_epoch,
            state=member.state,
            assigned_partitions=_places(member.held),
            partitions_pending_revocation=_places(member.revoking),
        ),
    )


def _places(
    held: Held,
) -> list[wire.ConsumerGroupCurrentMemberAssignmentValueTopicPartitions]:
    return [
        wire.ConsumerGroupCurrentMemberAssignmentValueTopicPartitions(
            topic_id=topic_id,
            partitions=sorted(partitions),
            assignment_epochs=[partitions[index] for index in sorted(partitions)],
        )
        for topic_id, partitions in held.items()
        if partitions
    ]


def regex(group_id: str, pattern: str, resolved: ResolvedRegex) -> CoordinatorRecord:
    return CoordinatorRecord(
        wire.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=pattern),
        wire.ConsumerGroupRegularExpressionValue(
            topics=list(resolved.topics), version=resolved.version, timestamp=resolved.timestamp
        ),
    )


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    keys: Iterable[Message] = (
        wire.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id),
        wire.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        wire.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id),
    )
    return [CoordinatorRecord(key, None) for key in keys]


def regex_tombstone(group_id: str, pattern: str) -> CoordinatorRecord:
    key = wire.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=pattern)
    return CoordinatorRecord(key, None)


def group_tombstones(group: ConsumerGroup) -> list[CoordinatorRecord]:
    entries = [one for member in group.members for one in member_tombstones(group.id, member)]
    entries += [regex_tombstone(group.id, pattern) for pattern in group.regexes]
    entries.append(
        CoordinatorRecord(wire.ConsumerGroupTargetAssignmentMetadataKey(group_id=group.id), None)
    )
    entries.append(CoordinatorRecord(wire.ConsumerGroupMetadataKey(group_id=group.id), None))
    return entries


# -- applying ---------------------------------------------------------------------------------


def apply(group: ConsumerGroup, key: Message, value: Message | None) -> None:
    match key, value:
        case _, wire.ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash):
            group.epoch, group.metadata_hash = epoch, metadata_hash
        case wire.ConsumerGroupMemberMetadataKey(member_id=member_id), _:
            _apply_member(group, member_id, value)
        case wire.ConsumerGroupTargetAssignmentMetadataKey(), _:
            _apply_target_epoch(group, value)
        case wire.ConsumerGroupTargetAssignmentMemberKey(member_id=member_id), _:
            _apply_target(group, member_id, value)
        case wire.ConsumerGroupCurrentMemberAssignmentKey(member_id=member_id), _:
            _apply_current(group, member_id, value)
        case wire.ConsumerGroupRegularExpressionKey(regular_expression=pattern), _:
            if isinstance(value, wire.ConsumerGroupRegularExpressionValue):
                resolved = ResolvedRegex(tuple(value.topics), value.version, value.timestamp)
                group.regexes[pattern] = resolved
            else:
                group.regexes.pop(pattern, None)


def _apply_member(group: ConsumerGroup, member_id: str, value: Message | None) -> None:
    if not isinstance(value, wire.ConsumerGroupMemberMetadataValue):
        gone = group.members.pop(member_id, None)
        if gone and gone.instance_id and group.static_ids.get(gone.instance_id) == member_id:
            del group.static_ids[gone.instance_id]
        return
    member = group.members.get(member_id) or ConsumerGroupMember(id=member_id)
    group.members[member_id] = replace(
        member,
        instance_id=value.instance_id,
        rack=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        topics=tuple(value.subscribed_topic_names),
        regex=value.subscribed_topic_regex or "",
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        assignor=value.server_assignor,
        classic=value.classic_member_metadata,
    )
    if value.instance_id is not None:
        group.static_ids[value.instance_id] = member_id


def _apply_target_epoch(group: ConsumerGroup, value: Message | None) -> None:
    if isinstance(value, wire.ConsumerGroupTargetAssignmentMetadataValue):
        group.assignment_epoch = value.assignment_epoch
        group.assigned_at_ms = value.assignment_timestamp


def _apply_target(group: ConsumerGroup, member_id: str, value: Message | None) -> None:
    if isinstance(value, wire.ConsumerGroupTargetAssignmentMemberValue):
        group.targets[member_id] = {
            place.topic_id: frozenset(place.partitions) for place in value.topic_partitions
        }
    else:
        group.targets.pop(member_id, None)


def _apply_current(group: ConsumerGroup, member_id: str, value: Message | None) -> None:
    member = group.members.get(member_id)
    if member is not None:
        _disown(group, member)
    if not isinstance(value, wire.ConsumerGroupCurrentMemberAssignmentValue):
        if member is not None:
            reset = replace(member, epoch=0, previous_epoch=0, held={}, revoking={})
            group.members[member_id] = replace(reset, state=ConsumerMemberState.STABLE)
        return
    epoch = value.member_epoch
    known = value.state in (0, 1, 2)
    member = replace(
        member or ConsumerGroupMember(id=member_id),
        epoch=epoch,
        previous_epoch=value.previous_member_epoch,
        state=ConsumerMemberState(value.state) if known else ConsumerMemberState.UNKNOWN,
        held=_held(value.assigned_partitions, epoch),
        revoking=_held(value.partitions_pending_revocation, epoch),
    )
    group.members[member_id] = member
    for held in (member.held, member.revoking):
        for topic_id, partitions in held.items():
            for index in partitions:
                group.owners[topic_id, index] = member_id


def _disown(group: ConsumerGroup, member: ConsumerGroupMember) -> None:
    for held in (member.held, member.revoking):
        for topic_id, partitions in held.items():
            for index in partitions:
                if group.owners.get((topic_id, index)) == member.id:
                    del group.owners[topic_id, index]


def _held(
    places: list[wire.ConsumerGroupCurrentMemberAssignmentValueTopicPartitions], epoch: int
) -> Held:
    """Records of older brokers have no epochs for partitions: the member's counts."""
    return {
        place.topic_id: dict(
            zip(
                place.partitions,
                place.assignment_epochs or [epoch] * len(place.partitions),
                strict=True,
            )
        )
        for place in places
    }
