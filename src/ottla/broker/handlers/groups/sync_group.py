"""SyncGroup: the leader of a classic group assigns, every member gets its part.

v5 (KIP-559): the member must say which protocol it goes by.
"""

from collections.abc import Awaitable

from ottla.broker.services import GroupServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

PROTOCOL_REQUIRED_SINCE = 5


def handle(
    request: SyncGroupRequest, context: RequestContext, services: GroupServices
) -> Awaitable[SyncGroupResponse]:
    if context.api_version >= PROTOCOL_REQUIRED_SINCE and (
        request.protocol_type is None or request.protocol_name is None
    ):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    return services.coordinator.sync(request)
