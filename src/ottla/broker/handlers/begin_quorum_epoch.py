"""BeginQuorumEpoch: another node leads the quorum now."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest, BeginQuorumEpochResponse


async def handle(
    request: BeginQuorumEpochRequest, context: RequestContext, broker: Broker
) -> BeginQuorumEpochResponse:
    return await broker.ask_quorum(request, BeginQuorumEpochResponse, context)
