"""Vote: may another node lead the quorum?"""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.wire.messages.vote import VoteRequest, VoteResponse


async def handle(request: VoteRequest, context: RequestContext, broker: Broker) -> VoteResponse:
    return await broker.ask_quorum(request, VoteResponse, context)
