"""RenewDelegationToken: the controller lets it live on, for its owner and its renewers."""

from collections.abc import Awaitable

from ottla.broker.services import ClusterServices
from ottla.broker.token_requests import NEVER_MS, check_allowed
from ottla.broker.transport.context import RequestContext
from ottla.errors import KafkaError
from ottla.wire.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)


def handle(
    request: RenewDelegationTokenRequest, context: RequestContext, services: ClusterServices
) -> Awaitable[RenewDelegationTokenResponse]:
    check_allowed(context)
    return services.authority.ask_controller(request, RenewDelegationTokenResponse, context)


def refuse(request: RenewDelegationTokenRequest, error: KafkaError) -> RenewDelegationTokenResponse:
    return RenewDelegationTokenResponse(error_code=error.code, expiry_timestamp_ms=NEVER_MS)
