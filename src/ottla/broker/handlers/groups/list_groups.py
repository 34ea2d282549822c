"""ListGroups: the groups this broker coordinates."""

from ottla.broker.broker import Broker
from ottla.broker.transport.context import RequestContext
from ottla.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse


def handle(
    request: ListGroupsRequest, context: RequestContext, broker: Broker
) -> ListGroupsResponse:
    groups = broker.groups.listed(request.states_filter, request.types_filter)
    return ListGroupsResponse(groups=groups)
