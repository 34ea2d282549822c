"""AlterPartition: a leader asks for another in-sync set."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.broker.controlling import ask_controller
from ottla.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
)


async def handle(
    request: AlterPartitionRequest, context: RequestContext, broker: Broker
) -> AlterPartitionResponse:
    return await ask_controller(request, AlterPartitionResponse, context, broker)
