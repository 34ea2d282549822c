"""OffsetCommit: how far a group is. v10 (KIP-848): topics are named by their id only.

What does not exist is refused one by one, before anything else is looked at; the rest goes to the
group's shard as one.
"""

from collections.abc import Awaitable, Container, Iterable

from ottla.broker.repeated_commits import shortcut as shortcut
from ottla.broker.services import GroupServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.coordinator import GroupCoordinator
from ottla.ids import Uuid
from ottla.metadata.image import Image
from ottla.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

TOPIC_IDS_SINCE = 10


def handle(
    request: OffsetCommitRequest, context: RequestContext, services: GroupServices
) -> OffsetCommitResponse | Awaitable[OffsetCommitResponse]:
    unknown = _take_out_unknown(request, context.api_version, services.cluster.image)
    if not unknown:
        by_topic_id = context.api_version >= TOPIC_IDS_SINCE
        services.coordinator.repeated_commits.remember(
            request, context.api_version, by_topic_id=by_topic_id
        )
        return services.coordinator.commit(request, context.api_version)
    if not request.topics:
        return OffsetCommitResponse(topics=unknown)
    return _with(unknown, request, context.api_version, services.coordinator)


async def _with(
    unknown: list[OffsetCommitResponseTopic],
    request: OffsetCommitRequest,
    api_version: int,
    coordinator: GroupCoordinator,
) -> OffsetCommitResponse:
    try:
        response = await coordinator.commit(request, api_version)
    except KafkaError as refusal:
        response = refuse(request, refusal)
    response.topics = _merged(unknown, response.topics)
    return response


def _merged(
    refused: list[OffsetCommitResponseTopic], answered: list[OffsetCommitResponseTopic]
) -> list[OffsetCommitResponseTopic]:
    """Each topic once, however often it was asked for."""
    merged: dict[tuple[Uuid, str], OffsetCommitResponseTopic] = {}
    for topic in (*refused, *answered):
        known = merged.setdefault((topic.topic_id, topic.name), topic)
        if known is not topic:
            known.partitions += topic.partitions
    return list(merged.values())


def _take_out_unknown(
    request: OffsetCommitRequest, api_version: int, image: Image
) -> list[OffsetCommitResponseTopic]:
    refused: list[OffsetCommitResponseTopic] = []
    known: list[OffsetCommitRequestTopic] = []
    for topic in request.topics:
        if api_version >= TOPIC_IDS_SINCE:
            found = image.topics_by_id.get(topic.topic_id)
            if found is None:
                refused.append(_refused(topic, ErrorCode.UNKNOWN_TOPIC_ID))
                continue
            topic.name = found.name
        else:
            found = image.topics_by_name.get(topic.name)
            if found is None:
                refused.append(_refused(topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
                continue
            topic.topic_id = found.id
        exists = found.partitions
        if any(part.partition_index not in exists for part in topic.partitions):
            refused.append(_without(topic, exists))
        if topic.partitions:
            known.append(topic)
    request.topics = known
    return refused


def _without(topic: OffsetCommitRequestTopic, exists: Container[int]) -> OffsetCommitResponseTopic:
    """The refusal of the topic's partitions that do not exist; the others stay in it."""
    missing = [part for part in topic.partitions if part.partition_index not in exists]
    topic.partitions = [part for part in topic.partitions if part.partition_index in exists]
    return _refused(topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, missing)


def _refused(
    topic: OffsetCommitRequestTopic,
    code: ErrorCode,
    partitions: Iterable[OffsetCommitRequestPartition] | None = None,
) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetCommitResponsePartition(partition_index=part.partition_index, error_code=code)
            for part in (topic.partitions if partitions is None else partitions)
        ],
    )


def refuse(request: OffsetCommitRequest, error: KafkaError) -> OffsetCommitResponse:
    code = error.code
    if code is ErrorCode.MESSAGE_TOO_LARGE:
        code = ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    return OffsetCommitResponse(topics=[_refused(topic, code) for topic in request.topics])
