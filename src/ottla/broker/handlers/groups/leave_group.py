"""LeaveGroup: members of a classic group go.

Up to v2 a request names one member, whose error is the answer's own; v3 (KIP-345): several.
"""

from collections.abc import Awaitable

from ottla.broker.services import GroupServices
from ottla.broker.transport.context import RequestContext
from ottla.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)

SEVERAL_MEMBERS_SINCE = 3


def handle(
    request: LeaveGroupRequest, context: RequestContext, services: GroupServices
) -> Awaitable[LeaveGroupResponse]:
    if context.api_version >= SEVERAL_MEMBERS_SINCE:
        return services.coordinator.leave(request)
    request.members = [MemberIdentity(member_id=request.member_id)]
    return _one(services.coordinator.leave(request))


async def _one(leaving: Awaitable[LeaveGroupResponse]) -> LeaveGroupResponse:
    response = await leaving
    return LeaveGroupResponse(error_code=response.members[0].error_code)
