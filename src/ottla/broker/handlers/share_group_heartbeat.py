"""ShareGroupHeartbeat: members of share groups come, live and go."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.broker.features import SHARE_GROUPS, require
from ottla.broker.group_caller import caller_of
from ottla.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)


async def handle(
    request: ShareGroupHeartbeatRequest, context: RequestContext, broker: Broker
) -> ShareGroupHeartbeatResponse:
    require(broker, SHARE_GROUPS)
    return await broker.groups.share_heartbeat(request, caller_of(context))
