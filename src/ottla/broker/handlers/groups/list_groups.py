"""ListGroups: the groups this broker coordinates."""

from ottla.broker.services import GroupServices
from ottla.broker.transport.context import RequestContext
from ottla.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse


def handle(
    request: ListGroupsRequest, context: RequestContext, services: GroupServices
) -> ListGroupsResponse:
    groups = services.coordinator.listed(request.states_filter, request.types_filter)
    return ListGroupsResponse(groups=groups)
