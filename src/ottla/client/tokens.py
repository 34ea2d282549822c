"""Delegation tokens of any Kafka cluster: made, listed, renewed, ended over the wire. librdkafka's
admin client has none of it."""

from base64 import b64encode
from typing import NamedTuple

from ottla.client.wire_client import WireClient
from ottla.errors import ErrorCode, OttlaError
from ottla.wire.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from ottla.wire.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from ottla.wire.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from ottla.wire.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)

USUAL_MS = -1
"""As long as the cluster's options say; for an end: at once."""
_SENTENCES = {
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED: (
        "The cluster has no tokens: its nodes need delegation.token.secret.key."
    ),
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: (
        "Tokens are asked for on connections that proved who they are, and not by a token: name a "
        "file of client properties with --command-config."
    ),
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: (
        "You may not make tokens for that user (CREATE_TOKENS on the user is missing)."
    ),
    ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH: "It is neither yours nor are you a renewer.",
    ErrorCode.DELEGATION_TOKEN_EXPIRED: "Its time is over.",
}


class Token(NamedTuple):
    id: str
    password: str  # what its bearer shows
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued_ms: int
    expires_ms: int
    max_ms: int


async def create(
    wire: WireClient, owner: str | None, renewers: list[str], lifetime_ms: int
) -> Token:
    owner_type, owner_name = _parts(owner) if owner else (None, None)
    request = CreateDelegationTokenRequest(
        owner_principal_type=owner_type,
        owner_principal_name=owner_name,
        renewers=[
            CreatableRenewers(principal_type=kind, principal_name=name)
            for kind, name in map(_parts, renewers)
        ],
        max_lifetime_ms=lifetime_ms,
    )
    made = await wire.ask_any(request, CreateDelegationTokenResponse)
    _check(made.error_code)
    return Token(
        made.token_id,
        b64encode(made.hmac).decode(),
        f"{made.principal_type}:{made.principal_name}",
        f"{made.token_requester_principal_type}:{made.token_requester_principal_name}",
        tuple(renewers),
        made.issue_timestamp_ms,
        made.expiry_timestamp_ms,
        made.max_timestamp_ms,
    )


async def tokens(wire: WireClient, owners: list[str]) -> list[Token]:
    """All that may be seen, where no owner is named."""
    return [_token(one) for one in await _described(wire, owners)]


async def renew(wire: WireClient, token_id: str, period_ms: int) -> int:
    """Until when it lives now."""
    request = RenewDelegationTokenRequest(
        hmac=(await _found(wire, token_id)).hmac, renew_period_ms=period_ms
    )
    answer = await wire.ask_any(request, RenewDelegationTokenResponse)
    _check(answer.error_code)
    return answer.expiry_timestamp_ms


async def expire(wire: WireClient, token_id: str, period_ms: int) -> int:
    request = ExpireDelegationTokenRequest(
        hmac=(await _found(wire, token_id)).hmac, expiry_time_period_ms=period_ms
    )
    answer = await wire.ask_any(request, ExpireDelegationTokenResponse)
    _check(answer.error_code)
    return answer.expiry_timestamp_ms


async def _described(wire: WireClient, owners: list[str]) -> list[DescribedDelegationToken]:
    named = [
        DescribeDelegationTokenOwner(principal_type=kind, principal_name=name)
        for kind, name in map(_parts, owners)
    ]
    request = DescribeDelegationTokenRequest(owners=named or None)
    answer = await wire.ask_any(request, DescribeDelegationTokenResponse)
    _check(answer.error_code)
    return answer.tokens


async def _found(wire: WireClient, token_id: str) -> DescribedDelegationToken:
    """By its id: what opens the door belongs on no command line."""
    for token in await _described(wire, []):
        if token.token_id == token_id:
            return token
    raise OttlaError(f"There is no token {token_id}, or none that you may see.")


def _token(told: DescribedDelegationToken) -> Token:
    return Token(
        told.token_id,
        b64encode(told.hmac).decode(),
        f"{told.principal_type}:{told.principal_name}",
        f"{told.token_requester_principal_type}:{told.token_requester_principal_name}",
        tuple(f"{one.principal_type}:{one.principal_name}" for one in told.renewers),
        told.issue_timestamp,
        told.expiry_timestamp,
        told.max_timestamp,
    )


def _parts(principal: str) -> tuple[str, str]:
    kind, separator, name = principal.partition(":")
    return (kind, name) if separator else ("User", principal)


def _check(code: int) -> None:
    if code:
        error = ErrorCode(code)
        raise OttlaError(_SENTENCES.get(error, f"The cluster refuses it: {error.name}."))
