"""ReadShareGroupState: a leader opens a queue, and fences those before it."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.errors import KafkaError
from ottla.groups.share.states import Place
from ottla.wire.messages.read_share_group_state import (
    PartitionResult,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateResult,
    StateBatch,
)


async def handle(
    request: ReadShareGroupStateRequest, context: RequestContext, broker: Broker
) -> ReadShareGroupStateResponse:
    return ReadShareGroupStateResponse(
        results=[
            ReadStateResult(
                topic_id=topic.topic_id,
                partitions=[
                    await _read(
                        Place(request.group_id, topic.topic_id, part.partition),
                        part.leader_epoch,
                        broker,
                    )
                    for part in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def refuse(request: ReadShareGroupStateRequest, error: KafkaError) -> ReadShareGroupStateResponse:
    return ReadShareGroupStateResponse(
        results=[
            ReadStateResult(
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


async def _read(place: Place, leader_epoch: int, broker: Broker) -> PartitionResult:
    try:
        state = await broker.share_coordinator.read(place, leader_epoch)
    except KafkaError as refusal:
        return PartitionResult(
            partition=place.partition, error_code=refusal.code, error_message=refusal.message
        )
    return PartitionResult(
        partition=place.partition,
        state_epoch=state.state_epoch,
        start_offset=state.start_offset,
        state_batches=[
            StateBatch(
                first_offset=batch.first,
                last_offset=batch.last,
                delivery_state=batch.state,
                delivery_count=batch.deliveries,
            )
            for batch in state.batches
        ],
    )
