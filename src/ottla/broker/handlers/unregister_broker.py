"""UnregisterBroker: a broker that will not come back is forgotten."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.wire.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)


async def handle(
    request: UnregisterBrokerRequest, context: RequestContext, broker: Broker
) -> UnregisterBrokerResponse:
    return await broker.controller.unregister_broker(request)
