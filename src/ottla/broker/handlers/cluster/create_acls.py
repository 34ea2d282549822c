"""CreateAcls: rules are added by the controller, each with its own answer."""

from collections.abc import Awaitable

from ottla.broker.dispatch import BadRequest
from ottla.broker.services import ClusterServices
from ottla.broker.transport.context import RequestContext
from ottla.controller.acls import acl_of, exactly
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.messages.create_acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)


def handle(
    request: CreateAclsRequest, context: RequestContext, services: ClusterServices
) -> Awaitable[CreateAclsResponse]:
    if any(exactly(acl_of(creation)).has_empty_parts for creation in request.creations):
        raise BadRequest("a rule with parts left out")
    if not services.cluster.access.restricts:
        raise KafkaError(ErrorCode.SECURITY_DISABLED, "There is no authorizer.")
    return services.authority.ask_controller(request, CreateAclsResponse, context)


def refuse(request: CreateAclsRequest, error: KafkaError) -> CreateAclsResponse:
    return CreateAclsResponse(
        results=[
            AclCreationResult(error_code=error.code, error_message=error.message)
            for _ in request.creations
        ]
    )
