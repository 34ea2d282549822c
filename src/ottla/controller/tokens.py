"""Delegation tokens as records: made, renewed, ended, as Apache Kafka's
DelegationTokenControlManager does.

Whether a connection may ask for tokens at all is the broker's to check; here it matters whose a
token is.
"""

from ottla.config.settings import Settings
from ottla.controller.decision import ControllerResult
from ottla.errors import ErrorCode
from ottla.ids import show_uuid
from ottla.metadata.image import DelegationToken, Image
from ottla.metadata.records import Record
from ottla.metadata.snapshot import token_record
from ottla.ports.chance import Chance, new_uuid
from ottla.security.principals import USER
from ottla.security.tokens import TokenSecret, has_ended, may_renew
from ottla.wire.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from ottla.wire.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from ottla.wire.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from ottla.wire.records.metadata import RemoveDelegationTokenRecord

SUPPORTED_SINCE = 14  # of metadata.version: 3.6-IV2
REMOVED_MAX = 1000
"""At once, of those that ended: the rest goes with the next look."""
FOREVER_MS = 2**63 - 1


class TokenPolicy:
    """By the options of this node's file."""

    def __init__(self, settings: Settings) -> None:
        self._secret = TokenSecret(settings.text("delegation.token.secret.key"))
        self._lifetime_ms = settings.int("delegation.token.max.lifetime.ms")
        self._period_ms = settings.int("delegation.token.expiry.time.ms")

    def create(
        self,
        image: Image,
        ask: CreateDelegationTokenRequest,
        requester: str,
        now_ms: int,
        chance: Chance,
    ) -> ControllerResult[CreateDelegationTokenResponse]:
        owner = owner_of(ask, requester)
        reply = CreateDelegationTokenResponse()
        reply.principal_type, _, reply.principal_name = owner.partition(":")
        requester_type, _, requester_name = requester.partition(":")
        reply.token_requester_principal_type = requester_type
        reply.token_requester_principal_name = requester_name
        error = self._unavailable(image)
        if not error and any(one.principal_type != USER for one in ask.renewers):
            error = ErrorCode.INVALID_PRINCIPAL_TYPE
        if error:
            reply.error_code = error
            return ControllerResult([], reply)
        token_id = show_uuid(new_uuid(chance))
        lifetime_ms = self._lifetime_ms
        if ask.max_lifetime_ms > 0:
            lifetime_ms = min(lifetime_ms, ask.max_lifetime_ms)
        max_ms = _later(now_ms, lifetime_ms)
        token = DelegationToken(
            owner,
            requester,
            tuple(f"{one.principal_type}:{one.principal_name}" for one in ask.renewers),
            now_ms,
            max_ms,
            min(max_ms, _later(now_ms, self._period_ms)),
        )
        reply.issue_timestamp_ms = token.issued_ms
        reply.expiry_timestamp_ms = token.expires_ms
        reply.max_timestamp_ms = token.max_ms
        reply.token_id, reply.hmac = token_id, self._secret.hmac(token_id)
        return ControllerResult([token_record(token_id, token)], reply)

    def renew(
        self, image: Image, ask: RenewDelegationTokenRequest, requester: str, now_ms: int
    ) -> ControllerResult[RenewDelegationTokenResponse]:
        found = self._find(image, ask.hmac)
        if isinstance(found, ErrorCode):
            return ControllerResult([], RenewDelegationTokenResponse(error_code=found))
        token_id, token = found
        error = None
        if has_ended(token, now_ms):
            error = ErrorCode.DELEGATION_TOKEN_EXPIRED
        elif not may_renew(token, requester):
            error = ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
        if error:
            return ControllerResult([], RenewDelegationTokenResponse(error_code=error))
        period_ms = self._period_ms
        if ask.renew_period_ms > 0:
            period_ms = min(period_ms, ask.renew_period_ms)
        expires_ms = min(token.max_ms, _later(now_ms, period_ms))
        return ControllerResult(
            [_until(token_id, token, expires_ms)],
            RenewDelegationTokenResponse(expiry_timestamp_ms=expires_ms),
        )

    def expire(
        self, image: Image, ask: ExpireDelegationTokenRequest, requester: str, now_ms: int
    ) -> ControllerResult[ExpireDelegationTokenResponse]:
        """A negative period ends it at once."""
        found = self._find(image, ask.hmac)
        if isinstance(found, ErrorCode):
            return ControllerResult([], ExpireDelegationTokenResponse(error_code=found))
        token_id, token = found
        error = None
        if not may_renew(token, requester):
            error = ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
        elif ask.expiry_time_period_ms < 0:
            return ControllerResult(
                [RemoveDelegationTokenRecord(token_id=token_id)],
                ExpireDelegationTokenResponse(expiry_timestamp_ms=now_ms),
            )
        elif has_ended(token, now_ms):
            error = ErrorCode.DELEGATION_TOKEN_EXPIRED
        if error:
            return ControllerResult([], ExpireDelegationTokenResponse(error_code=error))
        expires_ms = min(token.max_ms, _later(now_ms, ask.expiry_time_period_ms))
        return ControllerResult(
            [_until(token_id, token, expires_ms)],
            ExpireDelegationTokenResponse(expiry_timestamp_ms=expires_ms),
        )

    def _unavailable(self, image: Image) -> ErrorCode | None:
        if not self._secret:
            return ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
        if image.metadata_version < SUPPORTED_SINCE:
            return ErrorCode.UNSUPPORTED_VERSION
        return None

    def _find(self, image: Image, hmac: bytes) -> tuple[str, DelegationToken] | ErrorCode:
        error = self._unavailable(image)
        if error:
            return error
        token_id = self._secret.find(hmac, image.delegation_tokens)
        if token_id is None:
            return ErrorCode.DELEGATION_TOKEN_NOT_FOUND
        return token_id, image.delegation_tokens[token_id]


def owner_of(ask: CreateDelegationTokenRequest, requester: str) -> str:
    """A token is for who asks, unless somebody else is named."""
    if not ask.owner_principal_name:
        return requester
    return f"{ask.owner_principal_type}:{ask.owner_principal_name}"


def ended(image: Image, now_ms: int) -> list[Record]:
    """The end of those whose time is over."""
    gone = [one for one, token in image.delegation_tokens.items() if has_ended(token, now_ms)]
    return [RemoveDelegationTokenRecord(token_id=token_id) for token_id in gone[:REMOVED_MAX]]


def _until(token_id: str, token: DelegationToken, expires_ms: int) -> Record:
    record = token_record(token_id, token)
    record.expiration_timestamp = expires_ms
    return record


def _later(now_ms: int, duration_ms: int) -> int:
    return min(FOREVER_MS, now_ms + duration_ms)
