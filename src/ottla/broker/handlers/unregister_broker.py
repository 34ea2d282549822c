"""UnregisterBroker: a broker that will not come back is forgotten."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.broker.controlling import ask_controller
from ottla.wire.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)


async def handle(
    request: UnregisterBrokerRequest, context: RequestContext, broker: Broker
) -> UnregisterBrokerResponse:
    return await ask_controller(request, UnregisterBrokerResponse, context, broker)
