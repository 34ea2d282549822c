"""EndQuorumEpoch: the leader of the quorum leaves."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.wire.messages.end_quorum_epoch import EndQuorumEpochRequest, EndQuorumEpochResponse


async def handle(
    request: EndQuorumEpochRequest, context: RequestContext, broker: Broker
) -> EndQuorumEpochResponse:
    return await broker.ask_quorum(request, EndQuorumEpochResponse, context)
