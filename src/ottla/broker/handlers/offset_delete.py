"""OffsetDelete: a group forgets how far it was in topics that it no longer reads."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.errors import ErrorCode
from ottla.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


async def handle(
    request: OffsetDeleteRequest, context: RequestContext, broker: Broker
) -> OffsetDeleteResponse:
    topics = broker.image.topics_by_name
    unknown = [_unknown(topic) for topic in request.topics if topic.name not in topics]
    request.topics = [topic for topic in request.topics if topic.name in topics]
    response = await broker.groups.delete_offsets(request)
    response.topics = unknown + response.topics
    return response


def _unknown(topic: OffsetDeleteRequestTopic) -> OffsetDeleteResponseTopic:
    return OffsetDeleteResponseTopic(
        name=topic.name,
        partitions=[
            OffsetDeleteResponsePartition(
                partition_index=part.partition_index,
                error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            )
            for part in topic.partitions
        ],
    )
