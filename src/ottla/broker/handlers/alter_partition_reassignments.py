"""AlterPartitionReassignments: replicas move, or stay after all."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)


async def handle(
    request: AlterPartitionReassignmentsRequest, context: RequestContext, broker: Broker
) -> AlterPartitionReassignmentsResponse:
    return await broker.controller.alter_partition_reassignments(request)
