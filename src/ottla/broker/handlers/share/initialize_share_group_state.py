"""InitializeShareGroupState: a share group begins with partitions, or is set elsewhere in them."""

from ottla.broker.services import ShareServices
from ottla.broker.share.state_requests import answer_each, refuse_each
from ottla.broker.transport.context import RequestContext
from ottla.errors import KafkaError
from ottla.groups.share.states import SharePartitionKey
from ottla.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionData,
    PartitionResult,
)


async def handle(
    request: InitializeShareGroupStateRequest, context: RequestContext, services: ShareServices
) -> InitializeShareGroupStateResponse:
    async def answer(
        place: SharePartitionKey, part: PartitionData, result: PartitionResult
    ) -> None:
        await services.coordinator.initialize(place, part.state_epoch, part.start_offset)

    results = await answer_each(request, PartitionResult, answer)
    return InitializeShareGroupStateResponse(
        results=[InitializeStateResult(topic_id=t, partitions=p) for t, p in results]
    )


def refuse(
    request: InitializeShareGroupStateRequest, error: KafkaError
) -> InitializeShareGroupStateResponse:
    refused = refuse_each(request, PartitionResult, error)
    return InitializeShareGroupStateResponse(
        results=[InitializeStateResult(topic_id=t, partitions=p) for t, p in refused]
    )
