"""AssignReplicasToDirs: a broker tells in which directory a replica is."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.broker.controlling import ask_controller
from ottla.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)


async def handle(
    request: AssignReplicasToDirsRequest, context: RequestContext, broker: Broker
) -> AssignReplicasToDirsResponse:
    return await ask_controller(request, AssignReplicasToDirsResponse, context, broker)
