"""BrokerRegistration: a broker tells the controller that it is there."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.broker.controlling import ask_controller
from ottla.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)


async def handle(
    request: BrokerRegistrationRequest, context: RequestContext, broker: Broker
) -> BrokerRegistrationResponse:
    return await ask_controller(request, BrokerRegistrationResponse, context, broker)
