"""The records of share groups: written from members, applied to groups."""

from msgspec.structs import replace

from ottla.coordination.machine import CoordinatorRecord
from ottla.groups.share.group import Noted, Partitions, ShareGroup, ShareGroupMember, Topics
from ottla.wire.message import Message
from ottla.wire.records import share_groups as wire

RECORDS: dict[int, tuple[type[Message], type[Message]]] = {
    10: (wire.ShareGroupMemberMetadataKey, wire.ShareGroupMemberMetadataValue),
    11: (wire.ShareGroupMetadataKey, wire.ShareGroupMetadataValue),
    12: (wire.ShareGroupTargetAssignmentMetadataKey, wire.ShareGroupTargetAssignmentMetadataValue),
    13: (wire.ShareGroupTargetAssignmentMemberKey, wire.ShareGroupTargetAssignmentMemberValue),
    14: (wire.ShareGroupCurrentMemberAssignmentKey, wire.ShareGroupCurrentMemberAssignmentValue),
    15: (wire.ShareGroupStatePartitionMetadataKey, wire.ShareGroupStatePartitionMetadataValue),
}
STABLE = 0


# -- writing ----------------------------------------------------------------------------------


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    return CoordinatorRecord(
        wire.ShareGroupMetadataKey(group_id=group_id),
        wire.ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
    )


def member_metadata(group_id: str, member: ShareGroupMember) -> CoordinatorRecord:
    return CoordinatorRecord(
        wire.ShareGroupMemberMetadataKey(group_id=group_id, member_id=member.id),
        wire.ShareGroupMemberMetadataValue(
            rack_id=member.rack,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.topics),
        ),
    )


def target_epoch(group_id: str, epoch: int, now_ms: int) -> CoordinatorRecord:
    return CoordinatorRecord(
        wire.ShareGroupTargetAssignmentMetadataKey(group_id=group_id),
        wire.ShareGroupTargetAssignmentMetadataValue(
            assignment_epoch=epoch, assignment_timestamp=now_ms
        ),
    )


def target(group_id: str, member_id: str, partitions: Partitions) -> CoordinatorRecord:
    return CoordinatorRecord(
        wire.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        wire.ShareGroupTargetAssignmentMemberValue(
            topic_partitions=[
                wire.ShareGroupTargetAssignmentMemberValueTopicPartition(
                    topic_id=topic_id, partitions=sorted(indexes)
                )
                for topic_id, indexes in partitions.items()
            ]
        ),
    )


def current(group_id: str, member: ShareGroupMember) -> CoordinatorRecord:
    return CoordinatorRecord(
        wire.ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.id),
        wire.ShareGroupCurrentMemberAssignmentValue(
            member_epoch=member.epoch,
            previous_member_epoch=member.previous_epoch,
            state=STABLE,
            assigned_partitions=[
                wire.ShareGroupCurrentMemberAssignmentValueTopicPartitions(
                    topic_id=topic_id, partitions=sorted(indexes)
                )
                for topic_id, indexes in member.partitions.items()
            ],
        ),
    )


def noted(group_id: str, noted: Noted) -> CoordinatorRecord:
    return CoordinatorRecord(
        wire.ShareGroupStatePartitionMetadataKey(group_id=group_id),
        wire.ShareGroupStatePartitionMetadataValue(
            initializing_topics=_topics(noted.initializing),
            initialized_topics=_topics(noted.initialized),
            deleting_topics=[
                wire.ShareGroupStatePartitionMetadataValueTopicInfo(
                    topic_id=topic_id, topic_name=name
                )
                for topic_id, name in noted.deleting.items()
            ],
        ),
    )


def _topics(topics: Topics) -> list[wire.TopicPartitionsInfo]:
    return [
        wire.TopicPartitionsInfo(topic_id=topic_id, topic_name=name, partitions=sorted(indexes))
        for topic_id, (name, indexes) in topics.items()
    ]


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    return [
        CoordinatorRecord(key, None)
        for key in (
            wire.ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id),
            wire.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
            wire.ShareGroupMemberMetadataKey(group_id=group_id, member_id=member_id),
        )
    ]


def group_tombstones(group: ShareGroup) -> list[CoordinatorRecord]:
    entries = [one for member in group.members for one in member_tombstones(group.id, member)]
    keys: list[Message] = [
        wire.ShareGroupTargetAssignmentMetadataKey(group_id=group.id),
        wire.ShareGroupStatePartitionMetadataKey(group_id=group.id),
        wire.ShareGroupMetadataKey(group_id=group.id),
    ]
    return entries + [CoordinatorRecord(key, None) for key in keys]


# -- applying ---------------------------------------------------------------------------------


def apply(group: ShareGroup, key: Message, value: Message | None) -> None:
    match key, value:
        case _, wire.ShareGroupMetadataValue():
            group.epoch, group.metadata_hash = value.epoch, value.metadata_hash
        case wire.ShareGroupMemberMetadataKey(), _:
            _apply_member(group, key.member_id, value)
        case _, wire.ShareGroupTargetAssignmentMetadataValue():
            group.assignment_epoch = value.assignment_epoch
            group.assigned_at_ms = value.assignment_timestamp
        case wire.ShareGroupTargetAssignmentMemberKey(), _:
            if isinstance(value, wire.ShareGroupTargetAssignmentMemberValue):
                group.targets[key.member_id] = {
                    one.topic_id: frozenset(one.partitions) for one in value.topic_partitions
                }
            else:
                group.targets.pop(key.member_id, None)
        case wire.ShareGroupCurrentMemberAssignmentKey(), _:
            _apply_current(group, key.member_id, value)
        case wire.ShareGroupStatePartitionMetadataKey(), _:
            _apply_noted(group, value)


def _apply_member(group: ShareGroup, member_id: str, value: Message | None) -> None:
    if not isinstance(value, wire.ShareGroupMemberMetadataValue):
        group.members.pop(member_id, None)
        return
    group.members[member_id] = replace(
        group.members.get(member_id) or ShareGroupMember(id=member_id),
        rack=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        topics=tuple(value.subscribed_topic_names),
    )


def _apply_current(group: ShareGroup, member_id: str, value: Message | None) -> None:
    if not isinstance(value, wire.ShareGroupCurrentMemberAssignmentValue):
        return  # the member's own tombstone follows
    group.members[member_id] = replace(
        group.members.get(member_id) or ShareGroupMember(id=member_id),
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        partitions={one.topic_id: frozenset(one.partitions) for one in value.assigned_partitions},
    )


def _apply_noted(group: ShareGroup, value: Message | None) -> None:
    if not isinstance(value, wire.ShareGroupStatePartitionMetadataValue):
        group.noted = None
        return
    group.noted = Noted(
        initializing=_by_id(value.initializing_topics),
        initialized=_by_id(value.initialized_topics),
        deleting={one.topic_id: one.topic_name for one in value.deleting_topics},
    )


def _by_id(topics: list[wire.TopicPartitionsInfo]) -> Topics:
    return {one.topic_id: (one.topic_name, frozenset(one.partitions)) for one in topics}
