"""JoinGroup: a member of a classic group wants to take part in its next generation.

v0 knows one time-out; v4 (KIP-394): a new member is told its id and joins again; v7 (KIP-559): a
missing protocol name is none, and no longer an empty one.
"""

from ottla.broker.group_caller import caller_of
from ottla.broker.services import GroupServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode
from ottla.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse


async def handle(
    request: JoinGroupRequest, context: RequestContext, services: GroupServices
) -> JoinGroupResponse:
    if context.api_version < 1:
        request.rebalance_timeout_ms = request.session_timeout_ms
    response = await _join(request, context, services)
    if context.api_version < 7 and response.protocol_name is None:
        response.protocol_name = ""
    return response


async def _join(
    request: JoinGroupRequest, context: RequestContext, services: GroupServices
) -> JoinGroupResponse:
    if not request.group_id:
        code = ErrorCode.INVALID_GROUP_ID
        return JoinGroupResponse(error_code=code, member_id=request.member_id)
    return await services.coordinator.join(request, caller_of(context))
