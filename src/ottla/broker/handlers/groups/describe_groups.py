"""DescribeGroups: state, protocol and members of classic groups."""

from ottla.broker.access import Resource, authorized_operations
from ottla.broker.broker import Broker
from ottla.broker.transport.context import RequestContext
from ottla.errors import KafkaError
from ottla.wire.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

"""Read, delete, describe, and the configurations: nobody is refused without an authorizer."""


def handle(
    request: DescribeGroupsRequest, context: RequestContext, broker: Broker
) -> DescribeGroupsResponse:
    groups = [_describe(group_id, context.api_version, broker) for group_id in request.groups]
    if request.include_authorized_operations:
        for group in groups:
            if group.error_code == 0:
                group.authorized_operations = authorized_operations(
                    broker.access, context, Resource.GROUP, group.group_id
                )
    if request.include_rebalance:
        for group in groups:
            if group.error_code == 0:
                group.rebalance = broker.groups.rebalance_of(group.group_id)
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
