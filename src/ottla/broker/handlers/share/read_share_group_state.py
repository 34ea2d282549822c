"""ReadShareGroupState: a leader opens a queue, and fences those before it."""

from ottla.broker.services import ShareServices
from ottla.broker.share.state_requests import answer_each, refuse_each
from ottla.broker.transport.context import RequestContext
from ottla.errors import KafkaError
from ottla.groups.share.states import SharePartitionKey
from ottla.wire.messages.read_share_group_state import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateResult,
    StateBatch,
)


async def handle(
    request: ReadShareGroupStateRequest, context: RequestContext, services: ShareServices
) -> ReadShareGroupStateResponse:
    async def answer(
        place: SharePartitionKey, part: PartitionData, result: PartitionResult
    ) -> None:
        state = await services.coordinator.read(place, part.leader_epoch)
        result.state_epoch, result.start_offset = state.state_epoch, state.start_offset
        result.state_batches = [
            StateBatch(
                first_offset=batch.first,
                last_offset=batch.last,
                delivery_state=batch.state,
                delivery_count=batch.deliveries,
            )
            for batch in state.batches
        ]

    results = await answer_each(request, PartitionResult, answer)
    return ReadShareGroupStateResponse(
        results=[ReadStateResult(topic_id=t, partitions=p) for t, p in results]
    )


def refuse(request: ReadShareGroupStateRequest, error: KafkaError) -> ReadShareGroupStateResponse:
    refused = refuse_each(request, PartitionResult, error)
    return ReadShareGroupStateResponse(
        results=[ReadStateResult(topic_id=t, partitions=p) for t, p in refused]
    )
