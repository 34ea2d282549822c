"""OffsetCommit: how far a group is. From version 10 on topics are named by their id only.

Topics that do not exist are refused one by one; the rest goes to the group's shard as one.
"""

from collections.abc import Awaitable

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

TOPIC_IDS_SINCE = 10


def handle(
    request: OffsetCommitRequest, context: RequestContext, broker: Broker
) -> OffsetCommitResponse | Awaitable[OffsetCommitResponse]:
    unknown = _take_out_unknown(request, context.api_version, broker)
    if not unknown:
        return broker.groups.commit(request, context.api_version)
    if not request.topics:
        return OffsetCommitResponse(topics=unknown)
    return _with(unknown, broker.groups.commit(request, context.api_version))


async def _with(
    unknown: list[OffsetCommitResponseTopic], committing: Awaitable[OffsetCommitResponse]
) -> OffsetCommitResponse:
    response = await committing
    response.topics = unknown + response.topics
    return response


def _take_out_unknown(
    request: OffsetCommitRequest, api_version: int, broker: Broker
) -> list[OffsetCommitResponseTopic]:
    refused: list[OffsetCommitResponseTopic] = []
    known: list[OffsetCommitRequestTopic] = []
    image = broker.image
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
        known.append(topic)
    request.topics = known
    return refused


def _refused(topic: OffsetCommitRequestTopic, code: ErrorCode) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetCommitResponsePartition(partition_index=part.partition_index, error_code=code)
            for part in topic.partitions
        ],
    )


def refuse(request: OffsetCommitRequest, error: KafkaError) -> OffsetCommitResponse:
    code = error.code
    if code is ErrorCode.MESSAGE_TOO_LARGE:
        code = ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    return OffsetCommitResponse(topics=[_refused(topic, code) for topic in request.topics])
