"""BrokerRegistration: a broker tells the controller that it is there."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)


async def handle(
    request: BrokerRegistrationRequest, context: RequestContext, broker: Broker
) -> BrokerRegistrationResponse:
    return await broker.controller.register_broker(request)
