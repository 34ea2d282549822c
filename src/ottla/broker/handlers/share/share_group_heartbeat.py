"""ShareGroupHeartbeat: members of share groups come, live and go.

Partitions that nobody in the group has read before get a state first: until then the member is
told of none, and has them with a later heartbeat.
"""

from ottla.broker.features import SHARE_GROUPS, require
from ottla.broker.group_caller import caller_of
from ottla.broker.services import ShareServices
from ottla.broker.share.starting import initialize
from ottla.broker.transport.context import RequestContext
from ottla.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)


async def handle(
    request: ShareGroupHeartbeatRequest, context: RequestContext, services: ShareServices
) -> ShareGroupHeartbeatResponse:
    require(services.cluster, SHARE_GROUPS)
    response, to_initialize = await services.groups.share_heartbeat(request, caller_of(context))
    if to_initialize is not None:
        services.background.spawn(initialize(services.states, services.groups, to_initialize))
    return response
