"""Heartbeat: a member of a classic group lives, and learns whether it has to join again."""

from collections.abc import Awaitable

from ottla.broker.services import GroupServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def handle(
    request: HeartbeatRequest, context: RequestContext, services: GroupServices
) -> HeartbeatResponse | Awaitable[HeartbeatResponse]:
    try:
        return services.coordinator.heartbeat(request)
    except KafkaError as refusal:
        if refusal.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return HeartbeatResponse()  # whoever is loading cannot know better: carry on
        raise
