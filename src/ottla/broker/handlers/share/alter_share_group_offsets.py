"""AlterShareGroupOffsets: a share group that nobody is in starts elsewhere."""

from ottla.broker.features import SHARE_GROUPS, require
from ottla.broker.services import ShareServices
from ottla.broker.share.starting import initialize_states
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share.states import SharePartitionKey
from ottla.metadata.image import Topic
from ottla.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)

Asked = list[tuple[AlterShareGroupOffsetsRequestTopic, Topic | None]]


async def handle(
    request: AlterShareGroupOffsetsRequest, context: RequestContext, services: ShareServices
) -> AlterShareGroupOffsetsResponse:
    require(services.cluster, SHARE_GROUPS)
    if not request.group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    names = services.cluster.image.topics_by_name
    asked: Asked = [(topic, names.get(topic.topic_name)) for topic in request.topics]
    refusals = await _alter(request.group_id, asked, services)
    return AlterShareGroupOffsetsResponse(
        responses=[
            AlterShareGroupOffsetsResponseTopic(
                topic_name=wanted.topic_name,
                topic_id=topic.id if topic is not None else bytes(16),
                partitions=[
                    _partition(request.group_id, topic, part.partition_index, refusals)
                    for part in wanted.partitions
                ],
            )
            for wanted, topic in asked
        ]
    )


async def _alter(
    group_id: str, asked: Asked, services: ShareServices
) -> dict[SharePartitionKey, KafkaError]:
    starts: dict[SharePartitionKey, int] = {}
    topics = {}
    for wanted, topic in asked:
        if topic is None:
            continue
        known = {
            part.partition_index: part.start_offset
            for part in wanted.partitions
            if part.partition_index in topic.partitions
        }
        topics[topic.id] = (topic.name, frozenset(known))
        starts |= {
            SharePartitionKey(group_id, topic.id, index): start for index, start in known.items()
        }
    begun = await services.groups.start_share(group_id, topics)
    refusals = await initialize_states(services.states, begun, starts)
    made = {topic_id: told for topic_id, told in topics.items() if told[1]}
    if not refusals and made:  # of a topic that has none of the partitions nothing begins
        await services.groups.share_initialized(group_id, made)
    return refusals


def _partition(
    group_id: str, topic: Topic | None, index: int, refusals: dict[SharePartitionKey, KafkaError]
) -> AlterShareGroupOffsetsResponsePartition:
    response = AlterShareGroupOffsetsResponsePartition(partition_index=index)
    if topic is None or index not in topic.partitions:
        response.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return response
    refusal = refusals.get(SharePartitionKey(group_id, topic.id, index))
    if refusal is not None:
        response.error_code, response.error_message = refusal.code, refusal.message
    return response
