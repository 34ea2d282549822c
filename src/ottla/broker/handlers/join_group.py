"""JoinGroup: a member of a classic group wants to take part in its next generation."""

from collections.abc import Awaitable

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.broker.group_caller import caller_of
from ottla.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse


def handle(
    request: JoinGroupRequest, context: RequestContext, broker: Broker
) -> Awaitable[JoinGroupResponse]:
    return broker.groups.join(request, caller_of(context))
