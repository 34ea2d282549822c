"""RemoveRaftVoter: a node votes no longer."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.wire.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse


async def handle(
    request: RemoveRaftVoterRequest, context: RequestContext, broker: Broker
) -> RemoveRaftVoterResponse:
    return await broker.ask_quorum(request, RemoveRaftVoterResponse, context)
