"""BrokerHeartbeat: a broker is alive, wants to take part, or to stop."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.wire.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)


async def handle(
    request: BrokerHeartbeatRequest, context: RequestContext, broker: Broker
) -> BrokerHeartbeatResponse:
    return await broker.controller.broker_heartbeat(request)
