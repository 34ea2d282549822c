"""ConsumerGroupHeartbeat: the one request by which members of KIP-848 join, live and leave."""

from collections.abc import Awaitable

from ottla.broker.broker import Broker
from ottla.broker.group_caller import caller_of
from ottla.broker.transport.context import RequestContext
from ottla.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


def handle(
    request: ConsumerGroupHeartbeatRequest, context: RequestContext, broker: Broker
) -> Awaitable[ConsumerGroupHeartbeatResponse]:
    return broker.groups.consumer_heartbeat(request, caller_of(context))
