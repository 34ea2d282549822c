"""ConsumerGroupDescribe: epochs, members, and what each has and should have."""

from ottla.broker.access import Resource, authorized_operations
from ottla.broker.broker import Broker
from ottla.broker.transport.context import RequestContext
from ottla.errors import KafkaError
from ottla.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)


def handle(
    request: ConsumerGroupDescribeRequest, context: RequestContext, broker: Broker
) -> ConsumerGroupDescribeResponse:
    groups = [_describe(group_id, broker) for group_id in request.group_ids]
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


def _describe(group_id: str, broker: Broker) -> DescribedGroup:
    try:
        return broker.groups.describe_consumer(group_id)
    except KafkaError as refusal:
        return DescribedGroup(
            group_id=group_id, error_code=refusal.code, error_message=refusal.message
        )
