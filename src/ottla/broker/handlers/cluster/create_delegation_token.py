"""CreateDelegationToken: the controller makes it, for who asks or, with CREATE_TOKENS on that user,
for another. v3 names the owner and tells who asked."""

from collections.abc import Awaitable

from ottla.broker.access import Operation, Resource
from ottla.broker.services import ClusterServices
from ottla.broker.token_requests import NEVER_MS, are_allowed
from ottla.broker.transport.context import RequestContext
from ottla.controller.tokens import owner_of
from ottla.errors import ErrorCode, KafkaError
from ottla.security.principals import USER
from ottla.wire.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)


def handle(
    request: CreateDelegationTokenRequest, context: RequestContext, services: ClusterServices
) -> CreateDelegationTokenResponse | Awaitable[CreateDelegationTokenResponse]:
    requester = context.principal
    owner = owner_of(request, requester)
    access = services.cluster.access
    error = None
    if not are_allowed(context):
        error = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    elif owner != requester and not access.allows(
        context, Operation.CREATE_TOKENS, Resource.USER, owner
    ):
        error = ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    elif any(one.principal_type != USER for one in request.renewers):
        error = ErrorCode.INVALID_PRINCIPAL_TYPE
    if error is not None:
        return _refused(error, owner, requester)
    return services.authority.ask_controller(request, CreateDelegationTokenResponse, context)


def refuse(
    request: CreateDelegationTokenRequest, error: KafkaError
) -> CreateDelegationTokenResponse:
    return _refused(error.code, owner_of(request, ":"), ":")


def _refused(code: ErrorCode, owner: str, requester: str) -> CreateDelegationTokenResponse:
    owner_type, _, owner_name = owner.partition(":")
    requester_type, _, requester_name = requester.partition(":")
    return CreateDelegationTokenResponse(
        error_code=code,
        principal_type=owner_type,
        principal_name=owner_name,
        token_requester_principal_type=requester_type,
        token_requester_principal_name=requester_name,
        issue_timestamp_ms=NEVER_MS,
        expiry_timestamp_ms=NEVER_MS,
        max_timestamp_ms=NEVER_MS,
    )
