"""DeleteAcls: rules are removed by the controller, those of each filter."""

from collections.abc import Awaitable

from ottla.broker.dispatch import BadRequest
from ottla.broker.services import ClusterServices
from ottla.broker.transport.context import RequestContext
from ottla.controller.acls import filter_of
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
)


def handle(
    request: DeleteAclsRequest, context: RequestContext, services: ClusterServices
) -> Awaitable[DeleteAclsResponse]:
    if any(filter_of(one).has_empty_parts for one in request.filters):
        raise BadRequest("a filter with parts left out")
    if not services.cluster.access.restricts:
        raise KafkaError(ErrorCode.SECURITY_DISABLED, "There is no authorizer.")
    return services.authority.ask_controller(request, DeleteAclsResponse, context)


def refuse(request: DeleteAclsRequest, error: KafkaError) -> DeleteAclsResponse:
    return DeleteAclsResponse(
        filter_results=[
            DeleteAclsFilterResult(error_code=error.code, error_message=error.message)
            for _ in request.filters
        ]
    )
