"""DescribeDelegationToken: those that concern who asks, and others' with DESCRIBE on the token or
DESCRIBE_TOKENS on its owner. Their HMACs are told, too: that is how Kafka has it. No owners at all
(null) are all of them; v3 tells who asked for a token."""

from ottla.broker.access import Access, Operation, Resource
from ottla.broker.services import ClusterServices
from ottla.broker.token_requests import check_allowed
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.metadata.image import DelegationToken
from ottla.security.tokens import TokenSecret, concerns
from ottla.wire.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)


def handle(
    request: DescribeDelegationTokenRequest, context: RequestContext, services: ClusterServices
) -> DescribeDelegationTokenResponse:
    check_allowed(context)
    secret = TokenSecret(services.cluster.settings.text("delegation.token.secret.key"))
    if not secret:
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    owners = None
    if request.owners is not None:
        owners = [f"{one.principal_type}:{one.principal_name}" for one in request.owners]
    return DescribeDelegationTokenResponse(
        tokens=[
            _described(token_id, token, secret)
            for token_id, token in services.cluster.image.delegation_tokens.items()
            if (owners is None or any(concerns(token, one) for one in owners))
            and _is_seen(token_id, token, context, services.cluster.access)
        ]
    )


def _is_seen(
    token_id: str, token: DelegationToken, context: RequestContext, access: Access
) -> bool:
    return (
        concerns(token, context.principal)
        or access.would_allow(context, Operation.DESCRIBE, Resource.DELEGATION_TOKEN, token_id)
        or access.would_allow(context, Operation.DESCRIBE_TOKENS, Resource.USER, token.owner)
    )


def _described(
    token_id: str, token: DelegationToken, secret: TokenSecret
) -> DescribedDelegationToken:
    owner_type, _, owner_name = token.owner.partition(":")
    requester_type, _, requester_name = token.requester.partition(":")
    renewers = (one.partition(":") for one in token.renewers)
    return DescribedDelegationToken(
        principal_type=owner_type,
        principal_name=owner_name,
        token_requester_principal_type=requester_type,
        token_requester_principal_name=requester_name,
        issue_timestamp=token.issued_ms,
        expiry_timestamp=token.expires_ms,
        max_timestamp=token.max_ms,
        token_id=token_id,
        hmac=secret.hmac(token_id),
        renewers=[
            DescribedDelegationTokenRenewer(principal_type=kind, principal_name=name)
            for kind, _, name in renewers
        ],
    )
