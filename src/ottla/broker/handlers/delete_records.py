"""DeleteRecords: move the start of partitions forward; -1 stands for the high watermark."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

UP_TO_HIGH_WATERMARK = -1


def handle(
    request: DeleteRecordsRequest, context: RequestContext, broker: Broker
) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[_delete(broker, topic.name, asked) for asked in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def refuse(request: DeleteRecordsRequest, error: KafkaError) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[_refused(asked, error) for asked in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _delete(
    broker: Broker, topic: str, asked: DeleteRecordsPartition
) -> DeleteRecordsPartitionResult:
    try:
        leader = broker.partitions.leader(topic, asked.partition_index)
        log = leader.log
        if not log.config.delete:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, f"{topic} is compacted, not deleted.")
        offset = log.high_watermark if asked.offset == UP_TO_HIGH_WATERMARK else asked.offset
        if not 0 <= offset <= log.high_watermark:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        if offset > log.log_start_offset:
            log.delete_records_before(offset)
    except KafkaError as error:
        return _refused(asked, error)
    return DeleteRecordsPartitionResult(
        partition_index=asked.partition_index, low_watermark=log.log_start_offset
    )


def _refused(asked: DeleteRecordsPartition, error: KafkaError) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(
        partition_index=asked.partition_index, low_watermark=-1, error_code=error.code
    )
