"""AllocateProducerIds: a block of ids for a broker to hand out."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.broker.controlling import ask_controller
from ottla.wire.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)


async def handle(
    request: AllocateProducerIdsRequest, context: RequestContext, broker: Broker
) -> AllocateProducerIdsResponse:
    return await ask_controller(request, AllocateProducerIdsResponse, context, broker)
