"""AlterShareGroupOffsets: a share group that nobody is in starts elsewhere."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.broker.features import SHARE_GROUPS, require
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share.states import Place
from ottla.metadata.image import Topic
from ottla.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)


async def handle(
    request: AlterShareGroupOffsetsRequest, context: RequestContext, broker: Broker
) -> AlterShareGroupOffsetsResponse:
    require(broker, SHARE_GROUPS)
    topics = [
        (asked, broker.image.topics_by_name.get(asked.topic_name)) for asked in request.topics
    ]
    await broker.groups.start_share(
        request.group_id,
        {
            topic.id: (topic.name, frozenset(part.partition_index for part in asked.partitions))
            for asked, topic in topics
            if topic is not None
        },
    )
    return AlterShareGroupOffsetsResponse(
        responses=[
            AlterShareGroupOffsetsResponseTopic(
                topic_name=asked.topic_name,
                topic_id=topic.id if topic is not None else bytes(16),
                partitions=[
                    await _alter(request.group_id, topic, part, broker) for part in asked.partitions
                ],
            )
            for asked, topic in topics
        ]
    )


async def _alter(
    group_id: str,
    topic: Topic | None,
    part: AlterShareGroupOffsetsRequestPartition,
    broker: Broker,
) -> AlterShareGroupOffsetsResponsePartition:
    response = AlterShareGroupOffsetsResponsePartition(partition_index=part.partition_index)
    if topic is None or part.partition_index not in topic.partitions:
        response.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return response
    place = Place(group_id, topic.id, part.partition_index)
    try:
        known = await broker.share_states.summary(place)
        # A higher epoch fences the queue of a leader that has not heard of this.
        await broker.share_states.initialize(place, known.state_epoch + 1, part.start_offset)
    except KafkaError as refusal:
        response.error_code, response.error_message = refusal.code, refusal.message
    return response
