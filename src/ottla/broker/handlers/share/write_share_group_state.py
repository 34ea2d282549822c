"""WriteShareGroupState: what became of records of a share partition."""

from ottla.broker.services import ShareServices
from ottla.broker.share.state_requests import answer_each, refuse_each
from ottla.broker.transport.context import RequestContext
from ottla.errors import KafkaError
from ottla.groups.share.delivery import DeliveryState, StateBatch
from ottla.groups.share.states import SharePartitionKey
from ottla.wire.messages.write_share_group_state import (
    PartitionData,
    PartitionResult,
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
    WriteStateResult,
)


async def handle(
    request: WriteShareGroupStateRequest, context: RequestContext, services: ShareServices
) -> WriteShareGroupStateResponse:
    async def answer(
        place: SharePartitionKey, part: PartitionData, result: PartitionResult
    ) -> None:
        batches = [
            StateBatch(
                one.first_offset,
                one.last_offset,
                DeliveryState(one.delivery_state),
                one.delivery_count,
            )
            for one in part.state_batches
        ]
        await services.coordinator.write(
            place,
            part.state_epoch,
            part.leader_epoch,
            part.start_offset,
            part.delivery_complete_count,
            batches,
        )

    results = await answer_each(request, PartitionResult, answer)
    return WriteShareGroupStateResponse(
        results=[WriteStateResult(topic_id=t, partitions=p) for t, p in results]
    )


def refuse(request: WriteShareGroupStateRequest, error: KafkaError) -> WriteShareGroupStateResponse:
    refused = refuse_each(request, PartitionResult, error)
    return WriteShareGroupStateResponse(
        results=[WriteStateResult(topic_id=t, partitions=p) for t, p in refused]
    )
