"""OffsetFetch: how far a group is."""

from typing import TYPE_CHECKING

from ottla.coordination.machine import Decision
from ottla.errors import ErrorCode
from ottla.groups.kinds import kind_of
from ottla.groups.offsets.store import Place
from ottla.ids import ZERO_UUID, Uuid
from ottla.wire.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

if TYPE_CHECKING:
    from ottla.groups.machine import Groups

NO_OFFSET = -1


def fetch(
    groups: "Groups", request: OffsetFetchRequestGroup, *, require_stable: bool
) -> Decision[OffsetFetchResponseGroup]:
    """`topics=None` asks for all that was committed. Unknown groups have committed nothing."""
    _check(groups, request)
    if request.topics is None:
        by_topic: dict[tuple[str, Uuid], list[int]] = {}
        for (topic, partition), known in groups.offsets.of(request.group_id).items():
            by_topic.setdefault((topic, known.topic_id), []).append(partition)
        asked = [(topic, topic_id, parts) for (topic, topic_id), parts in by_topic.items()]
    else:
        asked = [(t.name, t.topic_id, t.partition_indexes) for t in request.topics]
    topics = [
        OffsetFetchResponseTopics(
            name=topic,
            topic_id=topic_id,
            partitions=[
                _partition(groups, request.group_id, (topic, index), topic_id, require_stable)
                for index in indexes
            ],
        )
        for topic, topic_id, indexes in asked
    ]
    return Decision((), OffsetFetchResponseGroup(group_id=request.group_id, topics=topics))


def _check(groups: "Groups", request: OffsetFetchRequestGroup) -> None:
    group = groups.shown(request.group_id)
    if group is not None:
        kind_of(group).check_fetch(group, request)


def _partition(
    groups: "Groups", group_id: str, place: Place, topic_id: Uuid, require_stable: bool
) -> OffsetFetchResponsePartitions:
    nothing = OffsetFetchResponsePartitions(
        partition_index=place[1], committed_offset=NO_OFFSET, metadata=""
    )
    if require_stable and groups.offsets.has_pending(group_id, place):
        nothing.error_code = ErrorCode.UNSTABLE_OFFSET_COMMIT
        return nothing
    known = groups.offsets.of(group_id).get(place)
    if known is None or _is_of_another_topic(known.topic_id, topic_id):
        return nothing
    return OffsetFetchResponsePartitions(
        partition_index=place[1],
        committed_offset=known.offset,
        committed_leader_epoch=known.leader_epoch,
        metadata=known.metadata,
    )


def _is_of_another_topic(known: Uuid, asked: Uuid) -> bool:
    """A topic deleted and created again has another id: its offsets mean nothing any more."""
    return known != asked and ZERO_UUID not in (known, asked)
