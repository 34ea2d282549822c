"""LeaveGroup: members of a classic group go."""

from collections.abc import Awaitable

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse


def handle(
    request: LeaveGroupRequest, context: RequestContext, broker: Broker
) -> Awaitable[LeaveGroupResponse]:
    return broker.groups.leave(request)
