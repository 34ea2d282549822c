"""ReadShareGroupStateSummary: where a share group starts in partitions, without the rest."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.errors import KafkaError
from ottla.groups.share.states import NOT_STARTED, Place
from ottla.wire.messages.read_share_group_state_summary import (
    PartitionResult,
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)


def handle(
    request: ReadShareGroupStateSummaryRequest, context: RequestContext, broker: Broker
) -> ReadShareGroupStateSummaryResponse:
    return ReadShareGroupStateSummaryResponse(
        results=[
            ReadStateSummaryResult(
                topic_id=topic.topic_id,
                partitions=[
                    _summary(Place(request.group_id, topic.topic_id, part.partition), broker)
                    for part in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def refuse(
    request: ReadShareGroupStateSummaryRequest, error: KafkaError
) -> ReadShareGroupStateSummaryResponse:
    return ReadShareGroupStateSummaryResponse(
        results=[
            ReadStateSummaryResult(
                topic_id=topic.topic_id,
                partitions=[
                    PartitionResult(
                        partition=part.partition,
                        error_code=error.code,
                        error_message=error.message,
                    )
                    for part in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _summary(place: Place, broker: Broker) -> PartitionResult:
    result = PartitionResult(partition=place.partition, start_offset=NOT_STARTED)
    try:
        state = broker.share_coordinator.summary(place)
    except KafkaError as refusal:
        result.error_code, result.error_message = refusal.code, refusal.message
        return result
    if state is not None:
        result.state_epoch, result.leader_epoch = state.state_epoch, state.leader_epoch
        result.start_offset = state.start_offset
        result.delivery_complete_count = state.complete
    return result
