"""ElectLeaders: back to the preferred replica, or unclean where nothing else is left."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
)


async def handle(
    request: ElectLeadersRequest, context: RequestContext, broker: Broker
) -> ElectLeadersResponse:
    return await broker.controller.elect_leaders(request)
