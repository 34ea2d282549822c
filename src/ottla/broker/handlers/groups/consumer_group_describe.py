"""ConsumerGroupDescribe: epochs, members, and what each has and should have."""

from ottla.broker.described_groups import tell_operations, tell_rebalances
from ottla.broker.services import GroupServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import KafkaError
from ottla.groups.coordinator import GroupCoordinator
from ottla.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)


def handle(
    request: ConsumerGroupDescribeRequest, context: RequestContext, services: GroupServices
) -> ConsumerGroupDescribeResponse:
    groups = [_describe(group_id, services.coordinator) for group_id in request.group_ids]
    if request.include_authorized_operations:
        tell_operations(groups, context, services.cluster.access)
    if request.include_rebalance:
        tell_rebalances(groups, services.coordinator)
    return ConsumerGroupDescribeResponse(groups=groups)


def refuse(
    request: ConsumerGroupDescribeRequest, error: KafkaError
) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(
        groups=[
            DescribedGroup(group_id=name, error_code=error.code, error_message=error.message)
            for name in request.group_ids
        ]
    )


def _describe(group_id: str, coordinator: GroupCoordinator) -> DescribedGroup:
    try:
        return coordinator.describe_consumer(group_id)
    except KafkaError as refusal:
        return DescribedGroup(
            group_id=group_id, error_code=refusal.code, error_message=refusal.message
        )
