"""BrokerHeartbeat: a broker is alive, wants to take part, or to stop.

The connection it comes on is watched: when it closes, the broker may be dead."""

from ottla.broker.broker import Broker
from ottla.broker.forwarding import ask_controller
from ottla.broker.transport.context import RequestContext
from ottla.wire.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)


async def handle(
    request: BrokerHeartbeatRequest, context: RequestContext, broker: Broker
) -> BrokerHeartbeatResponse:
    context.peer.heartbeats_of = (request.broker_id, request.broker_epoch)
    return await ask_controller(request, BrokerHeartbeatResponse, context, broker)
