"""BrokerHeartbeat: a broker is alive, wants to take part, or to stop.

The connection it comes on is watched: when it closes, the broker may be dead."""

from functools import partial

from ottla.broker.services import ControllerServices
from ottla.broker.transport.context import RequestContext
from ottla.wire.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)


async def handle(
    request: BrokerHeartbeatRequest, context: RequestContext, services: ControllerServices
) -> BrokerHeartbeatResponse:
    ended = partial(services.heartbeats_ended, request.broker_id, request.broker_epoch)
    context.peer.when_closed["heartbeats"] = ended
    return await services.authority.ask_controller(request, BrokerHeartbeatResponse, context)
