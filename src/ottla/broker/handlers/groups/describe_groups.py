"""DescribeGroups: state, protocol and members of classic groups.

v6 (KIP-1043): one that is not there is GROUP_ID_NOT_FOUND; before, a dead group without an error.
"""

from ottla.broker.described_groups import tell_operations, tell_rebalances
from ottla.broker.services import GroupServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import KafkaError
from ottla.groups.coordinator import GroupCoordinator
from ottla.wire.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)


def handle(
    request: DescribeGroupsRequest, context: RequestContext, services: GroupServices
) -> DescribeGroupsResponse:
    groups = [
        _describe(group_id, context.api_version, services.coordinator)
        for group_id in request.groups
    ]
    if request.include_authorized_operations:
        tell_operations(groups, context, services.cluster.access)
    if request.include_rebalance:
        tell_rebalances(groups, services.coordinator)
    return DescribeGroupsResponse(groups=groups)


def refuse(request: DescribeGroupsRequest, error: KafkaError) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        groups=[DescribedGroup(group_id=name, error_code=error.code) for name in request.groups]
    )


def _describe(group_id: str, version: int, coordinator: GroupCoordinator) -> DescribedGroup:
    try:
        return coordinator.describe(group_id, version)
    except KafkaError as refusal:
        return DescribedGroup(group_id=group_id, error_code=refusal.code)
