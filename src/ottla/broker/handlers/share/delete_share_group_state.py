"""DeleteShareGroupState: a share group has done with partitions."""

from ottla.broker.services import ShareServices
from ottla.broker.share.state_requests import answer_each, refuse_each
from ottla.broker.transport.context import RequestContext
from ottla.errors import KafkaError
from ottla.groups.share.states import SharePartitionKey
from ottla.wire.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
    DeleteStateResult,
    PartitionData,
    PartitionResult,
)


async def handle(
    request: DeleteShareGroupStateRequest, context: RequestContext, services: ShareServices
) -> DeleteShareGroupStateResponse:
    async def answer(
        place: SharePartitionKey, part: PartitionData, result: PartitionResult
    ) -> None:
        await services.coordinator.delete(place)

    results = await answer_each(request, PartitionResult, answer)
    return DeleteShareGroupStateResponse(
        results=[DeleteStateResult(topic_id=t, partitions=p) for t, p in results]
    )


def refuse(
    request: DeleteShareGroupStateRequest, error: KafkaError
) -> DeleteShareGroupStateResponse:
    refused = refuse_each(request, PartitionResult, error)
    return DeleteShareGroupStateResponse(
        results=[DeleteStateResult(topic_id=t, partitions=p) for t, p in refused]
    )
