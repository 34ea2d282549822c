"""DeleteGroups: empty groups go, with their offsets."""

from ottla.broker.services import GroupServices
from ottla.broker.share.starting import delete_states
from ottla.broker.transport.context import RequestContext
from ottla.errors import KafkaError
from ottla.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)


async def handle(
    request: DeleteGroupsRequest, context: RequestContext, services: GroupServices
) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[
            await _delete(group_id, services) for group_id in dict.fromkeys(request.groups_names)
        ]
    )


async def _delete(group_id: str, services: GroupServices) -> DeletableGroupResult:
    try:
        for topic_id, (_, partitions) in services.coordinator.share_queues_to_delete(
            group_id
        ).items():
            await delete_states(services.share_states(), group_id, topic_id, partitions)
        await services.coordinator.delete(group_id)
    except KafkaError as refusal:
        return DeletableGroupResult(group_id=group_id, error_code=refusal.code)
    return DeletableGroupResult(group_id=group_id)


def refuse(request: DeleteGroupsRequest, error: KafkaError) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=group_id, error_code=error.code)
            for group_id in request.groups_names
        ]
    )
