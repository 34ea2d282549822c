"""DeleteShareGroupState: a share group has done with partitions."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.errors import KafkaError
from ottla.groups.share.states import Place
from ottla.wire.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
    DeleteStateResult,
    PartitionResult,
)


async def handle(
    request: DeleteShareGroupStateRequest, context: RequestContext, broker: Broker
) -> DeleteShareGroupStateResponse:
    return DeleteShareGroupStateResponse(
        results=[
            DeleteStateResult(
                topic_id=topic.topic_id,
                partitions=[
                    await _delete(Place(request.group_id, topic.topic_id, part.partition), broker)
                    for part in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def refuse(
    request: DeleteShareGroupStateRequest, error: KafkaError
) -> DeleteShareGroupStateResponse:
    return DeleteShareGroupStateResponse(
        results=[
            DeleteStateResult(
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


async def _delete(place: Place, broker: Broker) -> PartitionResult:
    result = PartitionResult(partition=place.partition)
    try:
        await broker.share_coordinator.delete(place)
    except KafkaError as refusal:
        result.error_code, result.error_message = refusal.code, refusal.message
    return result
