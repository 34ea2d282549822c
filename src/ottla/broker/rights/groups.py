"""Rights to groups, and to the topics that they read."""

from collections.abc import Iterable
from typing import Any

from ottla.broker.access import CLUSTER, Operation, Resource
from ottla.broker.rights.guard import (
    After,
    Asker,
    Guard,
    Refuse,
    each,
    first_of,
    split,
    whole,
)
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.message import Message
from ottla.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from ottla.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from ottla.wire.messages.sync_group import SyncGroupRequest

SEVERAL_GROUPS_SINCE = 8
ERROR_AT_THE_TOP_SINCE = 2
READS = whole(Operation.READ, Resource.GROUP, "group_id")
DENIED_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
DENIED_GROUP = ErrorCode.GROUP_AUTHORIZATION_FAILED
HIDDEN = "The group uses topics that its asker may not describe."
_COMMITS = each("topics", Operation.READ, Resource.TOPIC, answers="topics", name="name", by_id=True)


def _list_groups(request: Any, asker: Asker, refuse: Refuse) -> After | None:
    if asker.would(Operation.DESCRIBE, Resource.CLUSTER, CLUSTER):
        return None

    def after(response: Any) -> None:
        response.groups = [
            group
            for group in response.groups
            if asker.would(Operation.DESCRIBE, Resource.GROUP, group.group_id)
        ]

    return after


def sees_topics(names: Iterable[str], asker: Asker) -> bool:
    return all(asker.may_topic(Operation.DESCRIBE, name) for name in names)


def member_heartbeat(request: Any, asker: Asker, refuse: Refuse) -> None:
    """A member learns about the topics it subscribes to."""
    READS(request, asker, refuse)
    if not sees_topics(request.subscribed_topic_names or (), asker):
        raise KafkaError(DENIED_TOPIC)


def _topics_of_members(group: Any) -> Iterable[str]:
    for member in group.members:
        for assignment in (member.assignment, getattr(member, "target_assignment", None)):
            for topic in assignment.topic_partitions if assignment is not None else ():
                yield topic.topic_name


def _topics_of_topology(group: Any) -> Iterable[str]:
    for part in (group.topology.subtopologies or ()) if group.topology is not None else ():
        yield from part.source_topics
        yield from part.repartition_sink_topics
        yield from (topic.name for topic in part.repartition_source_topics)
        yield from (topic.name for topic in part.state_changelog_topics)


_DESCRIBED = each(
    "group_ids", Operation.DESCRIBE, Resource.GROUP, answers="groups", refused_first=True
)


def describe(request: Any, asker: Asker, refuse: Refuse) -> After | Message:
    """A group with topics that may not be seen is not shown at all."""
    outcome = _DESCRIBED(request, asker, refuse)
    if isinstance(outcome, Message):
        return outcome

    def after(response: Any) -> None:
        for group in response.groups:
            named = _topics_of_topology if hasattr(group, "topology") else _topics_of_members
            if not sees_topics(named(group), asker):
                group.error_code, group.error_message = DENIED_TOPIC, HIDDEN
                group.members = []
                if hasattr(group, "topology"):
                    group.topology = None
        if outcome is not None:
            outcome(response)

    return after


# Offsets --------------------------------------------------------------------------------------


def _offset_fetch(
    request: OffsetFetchRequest, asker: Asker, refuse: Refuse
) -> After | Message | None:
    if asker.version >= SEVERAL_GROUPS_SINCE:
        return _fetch_of_groups(request, asker)
    if not asker.may(Operation.DESCRIBE, Resource.GROUP, request.group_id):
        return _no_group(request, asker.version)
    if request.topics is None:
        return lambda response: _hide(response, asker)
    request.topics, denied = split(
        request.topics, lambda topic: asker.may_topic(Operation.DESCRIBE, topic.name)
    )
    refused = [
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartition(**_no_offset(index, DENIED_TOPIC))
                for index in topic.partition_indexes
            ],
        )
        for topic in denied
    ]

    def after(response: OffsetFetchResponse) -> None:
        if not response.error_code:
            response.topics += refused

    return after


def _no_group(request: OffsetFetchRequest, version: int) -> OffsetFetchResponse:
    """The first versions have no place for an error but the partitions."""
    if version >= ERROR_AT_THE_TOP_SINCE:
        return OffsetFetchResponse(error_code=DENIED_GROUP)
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(**_no_offset(index, DENIED_GROUP))
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics or ()
        ]
    )


def _no_offset(index: int, code: ErrorCode) -> dict[str, Any]:
    return {
        "partition_index": index,
        "committed_offset": -1,
        "metadata": "",
        "error_code": code,
    }


def _hide(told: OffsetFetchResponse | OffsetFetchResponseGroup, asker: Asker) -> None:
    """All of a group's offsets were asked for: those of topics that may be seen."""
    told.topics = [  # type: ignore[assignment]
        topic for topic in told.topics if asker.may_topic(Operation.DESCRIBE, _name(topic, asker))
    ]


def _name(topic: Any, asker: Asker) -> str:
    return topic.name or asker.topic_name(getattr(topic, "topic_id", b"")) or ""


def _fetch_of_groups(request: OffsetFetchRequest, asker: Asker) -> After:
    allowed, denied = split(
        request.groups, lambda group: asker.may(Operation.DESCRIBE, Resource.GROUP, group.group_id)
    )
    of_all = {group.group_id for group in allowed if group.topics is None}
    refused: dict[str, list[OffsetFetchResponseTopics]] = {}
    for group in allowed:
        if group.topics is None:
            continue
        kept, hidden = split(group.topics, lambda topic: _may_see(topic, asker))
        group.topics = kept
        refused[group.group_id] = [
            OffsetFetchResponseTopics(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetFetchResponsePartitions(**_no_offset(index, DENIED_TOPIC))
                    for index in topic.partition_indexes
                ],
            )
            for topic in hidden
        ]
    request.groups = allowed

    def after(response: OffsetFetchResponse) -> None:
        for group in response.groups:
            if group.group_id in of_all:
                _hide(group, asker)
            elif not group.error_code:
                group.topics += refused.get(group.group_id, [])
        response.groups += [
            OffsetFetchResponseGroup(group_id=group.group_id, error_code=DENIED_GROUP)
            for group in denied
        ]

    return after


def _may_see(topic: Any, asker: Asker) -> bool:
    name = _name(topic, asker)
    return not name or asker.may_topic(Operation.DESCRIBE, name)


def _offset_delete(request: OffsetDeleteRequest, asker: Asker, refuse: Refuse) -> After | None:
    asker.demand(Operation.DELETE, Resource.GROUP, request.group_id)
    request.topics, denied = split(
        request.topics, lambda topic: asker.may_topic(Operation.READ, topic.name)
    )
    refused = [
        OffsetDeleteResponseTopic(
            name=topic.name,
            partitions=[
                OffsetDeleteResponsePartition(
                    partition_index=part.partition_index, error_code=DENIED_TOPIC
                )
                for part in topic.partitions
            ],
        )
        for topic in denied
    ]

    def after(response: Any) -> None:
        response.topics += refused

    return after if refused else None


# Streams --------------------------------------------------------------------------------------


def _streams_group_heartbeat(request: Any, asker: Asker, refuse: Refuse) -> After | None:
    """Topics of the application must be seen; those that are to be made need the right to it."""
    READS(request, asker, refuse)
    if request.topology is None:
        return None
    internal: list[str] = []
    named: list[str] = []
    for part in request.topology.subtopologies:
        internal += [topic.name for topic in part.repartition_source_topics]
        internal += [topic.name for topic in part.state_changelog_topics]
        named += [*part.source_topics, *part.repartition_sink_topics]
    if not sees_topics([*named, *internal], asker):
        raise KafkaError(DENIED_TOPIC)
    missing = [name for name in internal if name not in asker.image.topics_by_name]
    if missing and not asker.may_cluster(Operation.CREATE):
        for name in missing:
            asker.demand(Operation.CREATE, Resource.TOPIC, name)
    return None


def _names_its_protocol(request: SyncGroupRequest, asker: Asker, refuse: Refuse) -> None:
    """Who does not, hears of that first (KIP-559)."""
    if asker.version >= 5 and (request.protocol_type is None or request.protocol_name is None):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


GUARDS: dict[str, Guard] = {
    "offset_commit": first_of(READS, _COMMITS),
    "offset_fetch": _offset_fetch,
    "join_group": READS,
    "heartbeat": READS,
    "leave_group": READS,
    "sync_group": first_of(_names_its_protocol, READS),
    "describe_groups": each(
        "groups", Operation.DESCRIBE, Resource.GROUP, answers="groups", refused_first=True
    ),
    "list_groups": _list_groups,
    "delete_groups": each("groups_names", Operation.DELETE, Resource.GROUP, answers="results"),
    "offset_delete": _offset_delete,
    "consumer_group_heartbeat": member_heartbeat,
    "consumer_group_describe": describe,
    "streams_group_heartbeat": _streams_group_heartbeat,
    "streams_group_describe": describe,
}
