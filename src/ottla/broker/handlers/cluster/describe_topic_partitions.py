"""DescribeTopicPartitions: topics in the order of their names, page by page.

A page holds so many partitions at most; its cursor names the first one of the next page.
"""

from ottla.broker.access import Resource, authorized_operations
from ottla.broker.internal_topics import INTERNAL_TOPICS
from ottla.broker.services import BrokerServices
from ottla.broker.transport.context import RequestContext
from ottla.controller.naming import why_missing
from ottla.errors import ErrorCode, KafkaError
from ottla.metadata.image import NO_LEADER, Image, PartitionRegistration, Topic
from ottla.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    ResponseCursor,
)


def handle(
    request: DescribeTopicPartitionsRequest, context: RequestContext, services: BrokerServices
) -> DescribeTopicPartitionsResponse:
    image, response = services.cluster.image, DescribeTopicPartitionsResponse()
    limit = services.cluster.settings.int("max.request.partition.size.limit")
    left = max(min(request.response_partition_limit, limit), 1)
    for name, first in _asked(request, image):
        if not left:
            response.next_cursor = ResponseCursor(topic_name=name, partition_index=0)
            break
        topic = image.topics_by_name.get(name)
        if topic is None:
            response.topics.append(_missing(name))
            continue
        indexes = [index for index in sorted(topic.partitions) if index >= first]
        page, rest = indexes[:left], indexes[left:]
        response.topics.append(_described(image, context.listener_name, topic, page))
        left -= len(page)
        if rest:
            response.next_cursor = ResponseCursor(topic_name=name, partition_index=rest[0])
            break
    for told in response.topics:
        told.topic_authorized_operations = authorized_operations(
            services.cluster.access, context, Resource.TOPIC, told.name or ""
        )
    return response


def refuse(
    request: DescribeTopicPartitionsRequest, error: KafkaError
) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(name=topic.name, error_code=error.code)
            for topic in request.topics
        ]
    )


def _asked(request: DescribeTopicPartitionsRequest, image: Image) -> list[tuple[str, int]]:
    """Names and the first partition wanted of each, from the cursor on."""
    cursor = request.cursor
    asked = {topic.name for topic in request.topics}
    names = sorted(asked or image.topics_by_name)
    if cursor is None:
        return [(name, 0) for name in names]
    if cursor.partition_index < 0:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "A cursor's partition is not negative.")
    if asked and cursor.topic_name not in asked:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "A cursor's topic is one of those asked for.")
    return [
        (name, cursor.partition_index if name == cursor.topic_name else 0)
        for name in names
        if name >= cursor.topic_name
    ]


def _missing(name: str) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=why_missing(name),
        name=name,
        is_internal=name in INTERNAL_TOPICS,
    )


def _described(
    image: Image, listener: str, topic: Topic, indexes: list[int]
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=[
            _partition(image, listener, index, topic.partitions[index]) for index in indexes
        ],
    )


def _partition(
    image: Image, listener: str, index: int, partition: PartitionRegistration
) -> DescribeTopicPartitionsResponsePartition:
    return DescribeTopicPartitionsResponsePartition(
        partition_index=index,
        leader_id=partition.leader if _reachable(image, partition.leader, listener) else NO_LEADER,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        eligible_leader_replicas=list(partition.elr),
        last_known_elr=list(partition.last_known_elr),
        offline_replicas=[
            one for one in partition.replicas if not _online(image, one, listener, partition)
        ],
    )


def _reachable(image: Image, replica: int, listener: str) -> bool:
    broker = image.brokers.get(replica)
    return broker is not None and not broker.fenced and broker.listener(listener) is not None


def _online(image: Image, replica: int, listener: str, partition: PartitionRegistration) -> bool:
    if not _reachable(image, replica, listener):
        return False
    return image.brokers[replica].holds(partition.directory(replica))
