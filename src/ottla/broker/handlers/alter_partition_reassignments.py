"""AlterPartitionReassignments: replicas move, or stay after all."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.broker.controlling import ask_controller
from ottla.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)


async def handle(
    request: AlterPartitionReassignmentsRequest, context: RequestContext, broker: Broker
) -> AlterPartitionReassignmentsResponse:
    return await ask_controller(request, AlterPartitionReassignmentsResponse, context, broker)
