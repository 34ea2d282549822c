"""ReadShareGroupStateSummary: where a share group starts in partitions, without the rest."""

from ottla.broker.services import ShareServices
from ottla.broker.share.state_requests import answer_each, refuse_each
from ottla.broker.transport.context import RequestContext
from ottla.errors import KafkaError
from ottla.groups.share.states import NOT_STARTED, SharePartitionKey
from ottla.wire.messages.read_share_group_state_summary import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)


async def handle(
    request: ReadShareGroupStateSummaryRequest, context: RequestContext, services: ShareServices
) -> ReadShareGroupStateSummaryResponse:
    async def answer(
        place: SharePartitionKey, part: PartitionData, result: PartitionResult
    ) -> None:
        state = services.coordinator.summary(place)
        if state is None:
            result.start_offset = NOT_STARTED
            return
        result.state_epoch, result.leader_epoch = state.state_epoch, state.leader_epoch
        result.start_offset = state.start_offset
        result.delivery_complete_count = state.complete

    results = await answer_each(request, PartitionResult, answer)
    return ReadShareGroupStateSummaryResponse(
        results=[ReadStateSummaryResult(topic_id=t, partitions=p) for t, p in results]
    )


def refuse(
    request: ReadShareGroupStateSummaryRequest, error: KafkaError
) -> ReadShareGroupStateSummaryResponse:
    refused = refuse_each(request, PartitionResult, error)
    return ReadShareGroupStateSummaryResponse(
        results=[ReadStateSummaryResult(topic_id=t, partitions=p) for t, p in refused]
    )
