"""Offsets that go: deleted by request, with their group, with their topic, or by age."""

from typing import TYPE_CHECKING

from ottla.coordination.machine import CoordinatorRecord, Decision, Instant
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.kinds import kind_of
from ottla.groups.offsets.store import Committed, Place
from ottla.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from ottla.wire.records.offsets import OffsetCommitKey

if TYPE_CHECKING:
    from ottla.groups.machine import Group, Groups


def tombstone(group_id: str, place: Place) -> CoordinatorRecord:
    return CoordinatorRecord(
        OffsetCommitKey(group=group_id, topic=place[0], partition=place[1]), None
    )


def delete_offsets(
    groups: "Groups", request: OffsetDeleteRequest
) -> Decision[OffsetDeleteResponse]:
    """Only for topics that nobody in the group is subscribed to."""
    group = groups.existing(request.group_id)
    kind_of(group).check_deletion(group)
    records: list[CoordinatorRecord] = []
    response = OffsetDeleteResponse(topics=[])
    offsets, pending = groups.offsets.of(group.id), groups.offsets.pending_places(group.id)
    for topic in request.topics:
        in_use = group.is_subscribed_to(topic.name)
        code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if in_use else ErrorCode.NONE
        indexes = [part.partition_index for part in topic.partitions]
        response.topics.append(
            OffsetDeleteResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetDeleteResponsePartition(partition_index=index, error_code=code)
                    for index in indexes
                ],
            )
        )
        places = [(topic.name, index) for index in indexes if not in_use]
        records += [
            tombstone(group.id, place) for place in places if place in offsets or place in pending
        ]
    return Decision(records, response)


def delete_group(groups: "Groups", group_id: str) -> Decision[None]:
    group = groups.existing(group_id)
    if not group.is_empty:
        raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
    places = {*groups.offsets.of(group_id), *groups.offsets.pending_places(group_id)}
    records = [tombstone(group_id, place) for place in sorted(places)]
    return Decision([*records, *kind_of(group).tombstones(group)], None, is_atomic=False)


def topics_deleted(groups: "Groups", topics: frozenset[str]) -> Decision[None]:
    """Nobody can go on from there: a topic of the same name would be another one."""
    records = [
        tombstone(group_id, place)
        for group_id in {*groups.offsets.groups(), *groups.groups}
        for place in {*groups.offsets.of(group_id), *groups.offsets.pending_places(group_id)}
        if place[0] in topics
    ]
    return Decision(records, None, is_atomic=False)


def expire(groups: "Groups", group: "Group", now: Instant) -> list[CoordinatorRecord]:
    """Tombstones for what is too old; for the group too, if nothing of it is left."""
    kind = kind_of(group)
    if not kind.has_offsets:
        return []  # such a group goes only when it is deleted
    records: list[CoordinatorRecord] = []
    offsets = groups.offsets.of(group.id)
    for place, committed in offsets.items():
        if (
            not group.is_subscribed_to(place[0])
            and _is_too_old(groups, group, committed, now.wall_ms)
            and not groups.offsets.has_pending(group.id, place)
        ):
            records.append(tombstone(group.id, place))
    if (
        len(records) == len(offsets)
        and group.is_empty
        and not kind.is_awaited(group)
        and not groups.offsets.has_open_transactions(group.id)
    ):
        records += kind_of(group).tombstones(group)
    return records


def _is_too_old(groups: "Groups", group: "Group", offset: Committed, now_ms: int) -> bool:
    if offset.expire_ms >= 0:
        return now_ms >= offset.expire_ms
    since = kind_of(group).ages_since(group, offset)
    return since is not None and now_ms - since >= groups.limits.offsets_retention_ms
