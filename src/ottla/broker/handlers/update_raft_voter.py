"""UpdateRaftVoter: a voter is reached elsewhere, or knows newer versions."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.wire.messages.update_raft_voter import UpdateRaftVoterRequest, UpdateRaftVoterResponse


async def handle(
    request: UpdateRaftVoterRequest, context: RequestContext, broker: Broker
) -> UpdateRaftVoterResponse:
    return await broker.ask_quorum(request, UpdateRaftVoterResponse, context)
