"""InitializeShareGroupState: a share group begins with partitions, or is set elsewhere in them."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.errors import KafkaError
from ottla.groups.share.states import Place
from ottla.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionData,
    PartitionResult,
)


async def handle(
    request: InitializeShareGroupStateRequest, context: RequestContext, broker: Broker
) -> InitializeShareGroupStateResponse:
    return InitializeShareGroupStateResponse(
        results=[
            InitializeStateResult(
                topic_id=topic.topic_id,
                partitions=[
                    await _initialize(
                        Place(request.group_id, topic.topic_id, part.partition), part, broker
                    )
                    for part in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def refuse(
    request: InitializeShareGroupStateRequest, error: KafkaError
) -> InitializeShareGroupStateResponse:
    return InitializeShareGroupStateResponse(
        results=[
            InitializeStateResult(
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


async def _initialize(place: Place, part: PartitionData, broker: Broker) -> PartitionResult:
    result = PartitionResult(partition=place.partition)
    try:
        await broker.share_coordinator.initialize(place, part.state_epoch, part.start_offset)
    except KafkaError as refusal:
        result.error_code, result.error_message = refusal.code, refusal.message
    return result
