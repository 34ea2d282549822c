"""AllocateProducerIds: a block of ids for a broker to hand out."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.wire.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)


async def handle(
    request: AllocateProducerIdsRequest, context: RequestContext, broker: Broker
) -> AllocateProducerIdsResponse:
    return await broker.controller.allocate_producer_ids(request)
