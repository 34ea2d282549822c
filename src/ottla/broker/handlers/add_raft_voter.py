"""AddRaftVoter: one more node votes."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.wire.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse


async def handle(
    request: AddRaftVoterRequest, context: RequestContext, broker: Broker
) -> AddRaftVoterResponse:
    return await broker.ask_quorum(request, AddRaftVoterResponse, context)
