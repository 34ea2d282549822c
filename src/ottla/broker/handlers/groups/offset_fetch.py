"""OffsetFetch: how far groups are.

v2: the group's error stands at the top, before that in each partition; v8 (KIP-709): several groups
instead of one; v10 (KIP-848): topics by their id.
"""

import asyncio
from collections.abc import Awaitable

from ottla.broker.services import GroupServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.metadata.image import Image
from ottla.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

SEVERAL_GROUPS_SINCE = 8
ERROR_AT_THE_TOP_SINCE = 2
TOPIC_IDS_SINCE = 10


async def handle(
    request: OffsetFetchRequest, context: RequestContext, services: GroupServices
) -> OffsetFetchResponse:
    version = context.api_version
    if version < SEVERAL_GROUPS_SINCE:
        return _as_one(await _fetch(_only_group(request), request, version, services), version)
    groups = await asyncio.gather(
        *(_fetch(group, request, version, services) for group in request.groups)
    )
    return OffsetFetchResponse(groups=list(groups))


async def _fetch(
    group: OffsetFetchRequestGroup,
    request: OffsetFetchRequest,
    version: int,
    services: GroupServices,
) -> OffsetFetchResponseGroup:
    everything = group.topics is None
    unknown = _take_out_unknown(group, services.cluster.image) if version >= TOPIC_IDS_SINCE else []
    if version < TOPIC_IDS_SINCE:
        _find_ids(group, services.cluster.image)
    try:
        fetching: Awaitable[OffsetFetchResponseGroup] = services.coordinator.fetch(
            group, require_stable=request.require_stable
        )
        response = await fetching
    except KafkaError as refusal:
        return _refused(group, refusal.code, version)
    if version >= TOPIC_IDS_SINCE and everything:
        _name_by_id(response, services.cluster.image)
    response.topics += unknown
    return response


def _find_ids(group: OffsetFetchRequestGroup, image: Image) -> None:
    """So that offsets of an earlier topic of the same name are not shown."""
    for topic in group.topics or ():
        found = image.topics_by_name.get(topic.name)
        if found is not None:
            topic.topic_id = found.id


def _take_out_unknown(
    group: OffsetFetchRequestGroup, image: Image
) -> list[OffsetFetchResponseTopics]:
    if group.topics is None:
        return []
    known: list[OffsetFetchRequestTopics] = []
    refused: list[OffsetFetchResponseTopics] = []
    for topic in group.topics:
        found = image.topics_by_id.get(topic.topic_id)
        if found is None:
            refused.append(_no_offsets(topic, ErrorCode.UNKNOWN_TOPIC_ID))
        else:
            topic.name = found.name
            known.append(topic)
    group.topics = known
    return refused


def _name_by_id(response: OffsetFetchResponseGroup, image: Image) -> None:
    """Offsets of topics that are gone cannot be shown to who knows topics by their id only."""
    topics = image.topics_by_name
    response.topics = [topic for topic in response.topics if topic.name in topics]
    for topic in response.topics:
        topic.topic_id = topics[topic.name].id


def _refused(
    group: OffsetFetchRequestGroup, code: ErrorCode, version: int
) -> OffsetFetchResponseGroup:
    response = OffsetFetchResponseGroup(group_id=group.group_id, error_code=code)
    if version < ERROR_AT_THE_TOP_SINCE:
        response.topics = [_no_offsets(topic, code) for topic in group.topics or ()]
    return response


def _no_offsets(topic: OffsetFetchRequestTopics, code: ErrorCode) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetFetchResponsePartitions(
                partition_index=index, committed_offset=-1, metadata="", error_code=code
            )
            for index in topic.partition_indexes
        ],
    )


def _only_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    return OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)


def _as_one(group: OffsetFetchResponseGroup, version: int) -> OffsetFetchResponse:
    return OffsetFetchResponse(
        error_code=group.error_code if version >= ERROR_AT_THE_TOP_SINCE else 0,
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=part.partition_index,
                        committed_offset=part.committed_offset,
                        committed_leader_epoch=part.committed_leader_epoch,
                        metadata=part.metadata,
                        error_code=part.error_code,
                    )
                    for part in topic.partitions
                ],
            )
            for topic in group.topics
        ],
    )
