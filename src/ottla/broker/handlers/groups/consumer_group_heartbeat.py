"""ConsumerGroupHeartbeat: the one request by which members of KIP-848 join, live and leave."""

from collections.abc import Awaitable

from ottla.broker.group_caller import caller_of
from ottla.broker.services import GroupServices
from ottla.broker.transport.context import RequestContext
from ottla.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


def handle(
    request: ConsumerGroupHeartbeatRequest, context: RequestContext, services: GroupServices
) -> Awaitable[ConsumerGroupHeartbeatResponse]:
    return services.coordinator.consumer_heartbeat(request, caller_of(context))
