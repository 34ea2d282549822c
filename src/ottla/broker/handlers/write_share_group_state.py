"""WriteShareGroupState: what became of records of a share partition."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.errors import KafkaError
from ottla.groups.share.in_flight import Batch, DeliveryState
from ottla.groups.share.states import Place
from ottla.wire.messages.write_share_group_state import (
    PartitionData,
    PartitionResult,
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
    WriteStateResult,
)


async def handle(
    request: WriteShareGroupStateRequest, context: RequestContext, broker: Broker
) -> WriteShareGroupStateResponse:
    return WriteShareGroupStateResponse(
        results=[
            WriteStateResult(
                topic_id=topic.topic_id,
                partitions=[
                    await _write(
                        Place(request.group_id, topic.topic_id, part.partition), part, broker
                    )
                    for part in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def refuse(request: WriteShareGroupStateRequest, error: KafkaError) -> WriteShareGroupStateResponse:
    return WriteShareGroupStateResponse(
        results=[
            WriteStateResult(
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


async def _write(place: Place, part: PartitionData, broker: Broker) -> PartitionResult:
    result = PartitionResult(partition=place.partition)
    batches = [
        Batch(
            one.first_offset, one.last_offset, DeliveryState(one.delivery_state), one.delivery_count
        )
        for one in part.state_batches
    ]
    try:
        await broker.share_coordinator.write(
            place,
            part.state_epoch,
            part.leader_epoch,
            part.start_offset,
            part.delivery_complete_count,
            batches,
        )
    except KafkaError as refusal:
        result.error_code, result.error_message = refusal.code, refusal.message
    return result
