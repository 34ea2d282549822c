"""OffsetForLeaderEpoch: where an epoch ended here, so that readers see if their logs diverged."""

from ottla.broker.services import RecordServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import KafkaError
from ottla.replication.partitions import Partitions
from ottla.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


def handle(
    request: OffsetForLeaderEpochRequest, context: RequestContext, services: RecordServices
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    _end(services.partitions, topic.topic, asked) for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def refuse(request: OffsetForLeaderEpochRequest, error: KafkaError) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    EpochEndOffset(error_code=error.code, partition=asked.partition)
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _end(partitions: Partitions, topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    answer = EpochEndOffset(partition=asked.partition)
    try:
        leader = partitions.leader(topic, asked.partition)
        leader.check_epoch(asked.current_leader_epoch)
    except KafkaError as error:
        answer.error_code = error.code
        return answer
    log = leader.log
    answer.leader_epoch, answer.end_offset = log.epochs.end_offset_for(
        asked.leader_epoch, log.log_end_offset
    )
    return answer
