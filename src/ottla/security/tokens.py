"""Delegation tokens: what proves one, and the keys by which SCRAM lets its bearer in.

A token's password is an HMAC over its id, by a secret that all nodes have from their files
(`delegation.token.secret.key`) and the metadata has not: the records alone open no door. Who may
make, renew and end tokens is decided by `controller.tokens`.
"""

import hmac
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ottla.metadata.image import DelegationToken, Image
from ottla.security import scram

HASH = "sha512"


class TokenSecret:
    """The secret of the cluster's tokens; without one there are none."""

    def __init__(self, key: str) -> None:
        self._key = key.encode()
        self._hmacs: dict[str, bytes] = {}

    def __bool__(self) -> bool:
        return bool(self._key)

    def hmac(self, token_id: str) -> bytes:
        return hmac.digest(self._key, token_id.encode(), HASH)

    def find(self, given: bytes, tokens: Mapping[str, DelegationToken]) -> str | None:
        """The id of the token whose HMAC this is."""
        if self._hmacs.keys() != tokens.keys():
            self._hmacs = {one: self._hmacs.get(one) or self.hmac(one) for one in tokens}
        found = None
        for token_id, expected in self._hmacs.items():
            if hmac.compare_digest(expected, given):
                found = token_id
        return found


class TokenCredentials:
    """For the mechanisms of SCRAM: keys are derived when a token is first shown, and kept while
    the token is there."""

    def __init__(
        self, secret: TokenSecret, image: Callable[[], Image], now_ms: Callable[[], int]
    ) -> None:
        self._secret = secret
        self._image = image
        self._now_ms = now_ms
        self._known: dict[tuple[str, str], scram.KnownUser] = {}

    def find(
        self, mechanism: scram.Mechanism, token_id: str
    ) -> scram.KnownUser | scram.Derivation | None:
        tokens = self._image().delegation_tokens
        token = tokens.get(token_id)
        if not self._secret or token is None or has_ended(token, self._now_ms()):
            return None
        known = self._known.get((mechanism.name, token_id))
        if known is not None:
            return known._replace(expires_ms=token.expires_ms)
        return scram.Derivation(lambda: self._derive(mechanism, token_id, token), self._keep)

    def _derive(
        self, mechanism: scram.Mechanism, token_id: str, token: DelegationToken
    ) -> "DerivedKeys":
        password = b64encode(self._secret.hmac(token_id))
        salt = hmac.digest(password, mechanism.name.encode(), HASH)[:20]  # the same on every node
        iterations = scram.ITERATIONS_MIN
        salted = scram.salted_password(mechanism, password.decode(), salt, iterations)
        keys = scram.credential(mechanism, salted, salt, iterations)
        _, _, name = token.owner.partition(":")
        return DerivedKeys(mechanism, token_id, scram.KnownUser(keys, name, token.expires_ms))

    def _keep(self, derived: "DerivedKeys") -> scram.KnownUser:
        tokens = self._image().delegation_tokens
        self._known = {key: known for key, known in self._known.items() if key[1] in tokens}
        self._known[derived.mechanism.name, derived.token_id] = derived.known
        return derived.known


class DerivedKeys(NamedTuple):
    mechanism: scram.Mechanism
    token_id: str
    known: scram.KnownUser


def has_ended(token: DelegationToken, now_ms: int) -> bool:
    return token.max_ms < now_ms or token.expires_ms < now_ms


def may_renew(token: DelegationToken, principal: str) -> bool:
    """And end it."""
    return principal == token.owner or principal in token.renewers


def concerns(token: DelegationToken, principal: str) -> bool:
    """Whoever it was made for, by or with may see it."""
    return may_renew(token, principal) or principal == token.requester
