"""DescribeShareGroupOffsets: where share groups start in partitions, and how far they lag."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.broker.features import SHARE_GROUPS, require
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share.states import Place
from ottla.metadata.image import Topic
from ottla.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)


async def handle(
    request: DescribeShareGroupOffsetsRequest, context: RequestContext, broker: Broker
) -> DescribeShareGroupOffsetsResponse:
    require(broker, SHARE_GROUPS)
    groups = [await _describe(group, broker) for group in request.groups]
    return DescribeShareGroupOffsetsResponse(groups=groups)


def refuse(
    request: DescribeShareGroupOffsetsRequest, error: KafkaError
) -> DescribeShareGroupOffsetsResponse:
    return DescribeShareGroupOffsetsResponse(
        groups=[
            DescribeShareGroupOffsetsResponseGroup(
                group_id=group.group_id, error_code=error.code, error_message=error.message
            )
            for group in request.groups
        ]
    )


async def _describe(
    asked: DescribeShareGroupOffsetsRequestGroup, broker: Broker
) -> DescribeShareGroupOffsetsResponseGroup:
    response = DescribeShareGroupOffsetsResponseGroup(group_id=asked.group_id, topics=[])
    try:
        started = broker.groups.started_by(asked.group_id)
    except KafkaError as refusal:
        response.error_code, response.error_message = refusal.code, refusal.message
        return response
    if asked.topics is None:
        wanted = [(name, sorted(indexes)) for name, indexes in started.values()]
    else:
        wanted = [(topic.topic_name, topic.partitions) for topic in asked.topics]
    for name, indexes in wanted:
        topic = broker.image.topics_by_name.get(name)
        response.topics.append(
            DescribeShareGroupOffsetsResponseTopic(
                topic_name=name,
                topic_id=topic.id if topic is not None else bytes(16),
                partitions=[
                    await _partition(asked.group_id, topic, index, broker) for index in indexes
                ],
            )
        )
    return response


async def _partition(
    group_id: str, topic: Topic | None, index: int, broker: Broker
) -> DescribeShareGroupOffsetsResponsePartition:
    response = DescribeShareGroupOffsetsResponsePartition(partition_index=index, start_offset=-1)
    if topic is None or index not in topic.partitions:
        response.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return response
    try:
        state = await broker.share_states.summary(Place(group_id, topic.id, index))
    except KafkaError as refusal:
        response.error_code, response.error_message = refusal.code, refusal.message
        return response
    response.start_offset = state.start_offset
    response.leader_epoch = topic.partitions[index].leader_epoch
    replica = broker.partitions.find(topic.name, index)
    if replica is not None and replica.leader is not None and state.start_offset >= 0:
        behind = replica.log.high_watermark - state.start_offset - max(state.complete, 0)
        response.lag = max(behind, 0)
    return response
