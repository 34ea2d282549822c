"""StreamsGroupDescribe: epochs, the topology, members, and which tasks each has."""

from ottla.broker.described_groups import tell_operations, tell_rebalances
from ottla.broker.features import STREAMS_GROUPS, require
from ottla.broker.services import GroupServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import KafkaError
from ottla.groups.coordinator import GroupCoordinator
from ottla.wire.messages.streams_group_describe import (
    DescribedGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)


def handle(
    request: StreamsGroupDescribeRequest, context: RequestContext, services: GroupServices
) -> StreamsGroupDescribeResponse:
    require(services.cluster, STREAMS_GROUPS)
    groups = [_describe(group_id, services.coordinator) for group_id in request.group_ids]
    if request.include_authorized_operations:
        tell_operations(groups, context, services.cluster.access)
    if request.include_rebalance:
        tell_rebalances(groups, services.coordinator)
    return StreamsGroupDescribeResponse(groups=groups)


def refuse(request: StreamsGroupDescribeRequest, error: KafkaError) -> StreamsGroupDescribeResponse:
    return StreamsGroupDescribeResponse(
        groups=[
            DescribedGroup(group_id=name, error_code=error.code, error_message=error.message)
            for name in request.group_ids
        ]
    )


def _describe(group_id: str, coordinator: GroupCoordinator) -> DescribedGroup:
    try:
        return coordinator.describe_streams(group_id)
    except KafkaError as refusal:
        return DescribedGroup(
            group_id=group_id, error_code=refusal.code, error_message=refusal.message
        )
