"""DescribeShareGroupOffsets: where share groups start in partitions, and how far they lag.

Whoever asks for single topics is told of each, whether there is such a group, topic or partition
or not: nothing was read of them yet. v1 (KIP-1226): the lag.
"""

from ottla.broker.features import SHARE_GROUPS, require
from ottla.broker.services import ShareServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import KafkaError
from ottla.groups.share.states import NOT_STARTED, SharePartitionKey
from ottla.metadata.image import Topic
from ottla.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)

NO_LAG = -1


async def handle(
    request: DescribeShareGroupOffsetsRequest, context: RequestContext, services: ShareServices
) -> DescribeShareGroupOffsetsResponse:
    require(services.cluster, SHARE_GROUPS)
    groups = [await _describe(group, services) for group in request.groups]
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
    asked: DescribeShareGroupOffsetsRequestGroup, services: ShareServices
) -> DescribeShareGroupOffsetsResponseGroup:
    image, group_id = services.cluster.image, asked.group_id
    wanted: list[tuple[str, Topic | None, list[int]]]
    if asked.topics is None:
        known = services.groups.initialized_share_partitions(group_id)
        wanted = [
            (topic.name, topic, sorted(indexes))
            for topic_id, (_, indexes) in known.items()
            if (topic := image.topics_by_id.get(topic_id)) is not None
        ]
    else:
        wanted = [
            (one.topic_name, image.topics_by_name.get(one.topic_name), one.partitions)
            for one in asked.topics
        ]
    topics = [
        DescribeShareGroupOffsetsResponseTopic(
            topic_name=name,
            topic_id=topic.id if topic is not None else bytes(16),
            partitions=[await _partition(group_id, topic, index, services) for index in indexes],
        )
        for name, topic, indexes in wanted
    ]
    return DescribeShareGroupOffsetsResponseGroup(group_id=group_id, topics=topics)


async def _partition(
    group_id: str, topic: Topic | None, index: int, services: ShareServices
) -> DescribeShareGroupOffsetsResponsePartition:
    response = DescribeShareGroupOffsetsResponsePartition(
        partition_index=index, start_offset=NOT_STARTED, lag=NO_LAG
    )
    if topic is None or index not in topic.partitions:
        return response
    try:
        state = await services.states.summary(SharePartitionKey(group_id, topic.id, index))
    except KafkaError:
        return response
    response.start_offset = state.start_offset
    response.leader_epoch = max(state.leader_epoch, 0)  # 0: none has read it
    if state.start_offset == NOT_STARTED or state.complete == NOT_STARTED:
        return response
    try:
        end_offset = await services.states.end_offset(topic.name, index)
    except KafkaError as refusal:
        return DescribeShareGroupOffsetsResponsePartition(
            partition_index=index, error_code=refusal.code, error_message=refusal.message
        )
    response.lag = end_offset - state.start_offset - state.complete
    return response
