"""DescribeGroups: state, protocol and members of classic groups."""

from ottla.broker.broker import Broker
from ottla.broker.described_groups import tell_operations, tell_rebalances
from ottla.broker.transport.context import RequestContext
from ottla.errors import KafkaError
from ottla.wire.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)


def handle(
    request: DescribeGroupsRequest, context: RequestContext, broker: Broker
) -> DescribeGroupsResponse:
    groups = [_describe(group_id, context.api_version, broker) for group_id in request.groups]
    if request.include_authorized_operations:
        tell_operations(groups, context, broker)
    if request.include_rebalance:
        tell_rebalances(groups, broker)
    return DescribeGroupsResponse(groups=groups)


def refuse(request: DescribeGroupsRequest, error: KafkaError) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        groups=[DescribedGroup(group_id=name, error_code=error.code) for name in request.groups]
    )


def _describe(group_id: str, version: int, broker: Broker) -> DescribedGroup:
    try:
        return broker.groups.describe(group_id, version)
    except KafkaError as refusal:
        return DescribedGroup(group_id=group_id, error_code=refusal.code)
