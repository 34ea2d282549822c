"""DescribeProducers: the idempotent and transactional producers that a partition knows."""

from ottla.broker.services import RecordServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import KafkaError
from ottla.replication.partitions import Partitions
from ottla.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)


def handle(
    request: DescribeProducersRequest, context: RequestContext, services: RecordServices
) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[
                    _partition(services.partitions, topic.name, index)
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def refuse(request: DescribeProducersRequest, error: KafkaError) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[_refused(index, error) for index in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


def _partition(partitions: Partitions, topic: str, index: int) -> PartitionResponse:
    try:
        leader = partitions.leader(topic, index)
    except KafkaError as error:
        return _refused(index, error)
    return PartitionResponse(
        partition_index=index,
        active_producers=[
            ProducerState(
                producer_id=producer_id,
                producer_epoch=state.epoch,
                last_sequence=state.last_sequence,
                last_timestamp=state.last_timestamp,
                coordinator_epoch=state.coordinator_epoch,
                current_txn_start_offset=state.transaction_start,
            )
            for producer_id, state in leader.log.producers.states.items()
        ],
    )


def _refused(index: int, error: KafkaError) -> PartitionResponse:
    return PartitionResponse(
        partition_index=index, error_code=error.code, error_message=error.message
    )
