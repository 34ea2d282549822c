"""ExpireDelegationToken: the controller ends it, now or soon, for its owner and its renewers."""

from collections.abc import Awaitable

from ottla.broker.services import ClusterServices
from ottla.broker.token_requests import NEVER_MS, check_allowed
from ottla.broker.transport.context import RequestContext
from ottla.errors import KafkaError
from ottla.wire.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)


def handle(
    request: ExpireDelegationTokenRequest, context: RequestContext, services: ClusterServices
) -> Awaitable[ExpireDelegationTokenResponse]:
    check_allowed(context)
    return services.authority.ask_controller(request, ExpireDelegationTokenResponse, context)


def refuse(
    request: ExpireDelegationTokenRequest, error: KafkaError
) -> ExpireDelegationTokenResponse:
    return ExpireDelegationTokenResponse(error_code=error.code, expiry_timestamp_ms=NEVER_MS)
