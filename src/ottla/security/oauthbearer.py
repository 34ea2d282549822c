"""OAUTHBEARER (RFC 7628): a signed token of a provider says who somebody is.

Messages in, messages out. What a token must say, and by whose keys it is signed, is
`access_tokens`' affair; the check is work for a thread. A token that does not do is answered as the
RFC has it: a status, upon which the client sends one byte and is refused.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ottla.security.access_tokens import Bearer, TokenRefused
from ottla.security.exchange import Computation
from ottla.security.failures import AuthenticationFailed, InvalidCredentials

MECHANISM = "OAUTHBEARER"
_FIRST = re.compile(
    r"n,(?:a=((?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+))?,\x01"
    r"((?:[A-Za-z]+=[\x21-\x7e \t\r\n]*\x01)*)\x01"
)
_AUTHORIZATION = re.compile(r"(?i:bearer) +([-_~+/.a-zA-Z0-9]+=*)")


class FirstMessage(NamedTuple):
    authorization_id: str
    token: str


def parse(message: bytes) -> FirstMessage:
    try:
        text = message.decode()
    except UnicodeDecodeError:
        raise InvalidCredentials("the message is not text") from None
    parsed = _FIRST.fullmatch(text)
    if parsed is None:
        raise InvalidCredentials("the message is not OAUTHBEARER's")
    pairs = [pair.partition("=") for pair in parsed[2].split("\x01") if pair]
    given = [value for name, _, value in pairs if name == "auth"]
    bearer = _AUTHORIZATION.fullmatch(given[0].strip()) if len(given) == 1 else None
    if bearer is None:
        raise InvalidCredentials("the message has no bearer's token")
    name = (parsed[1] or "").replace("=2C", ",").replace("=3D", "=")
    return FirstMessage(name, bearer[1])


def message(token: str, extensions: Mapping[str, str]) -> bytes:
    """What a client sends."""
    more = "".join(f"{name}={value}\x01" for name, value in extensions.items())
    return f"n,,\x01auth=Bearer {token}\x01{more}\x01".encode()


class OAuthServer:
    """One exchange: a token, and a word of regret where it did not do."""

    is_by_token = False  # that is for delegation tokens
    claimed = ""  # a name that nobody signed is none

    def __init__(self, check: Callable[[str], Bearer]) -> None:
        """`check` raises `TokenRefused`."""
        self._check = check
        self._refused = ""
        self.is_complete = False
        self.user = ""
        self.expires_ms: int | None = None

    def is_good(self) -> bool:
        return True  # until it ends, and then the session does

    def step(self, message: bytes) -> bytes | Computation:
        if self.is_complete:
            raise AuthenticationFailed("The exchange is over.")
        if self._refused:
            raise InvalidCredentials(self._refused)
        asked = parse(message)
        return Computation(
            lambda: self._outcome(asked.token), lambda outcome: self._answer(asked, outcome)
        )

    def _outcome(self, token: str) -> Bearer | TokenRefused:
        try:
            return self._check(token)
        except TokenRefused as refused:
            return refused

    def _answer(self, asked: FirstMessage, outcome: Bearer | TokenRefused) -> bytes:
        if isinstance(outcome, TokenRefused):
            self._refused = str(outcome)
            return json.dumps({"status": "invalid_token"}).encode()
        if asked.authorization_id not in ("", outcome.name):
            raise AuthenticationFailed(
                "Authentication failed: nobody may act in the name of another user."
            )
        self.user, self.expires_ms, self.is_complete = outcome.name, outcome.expires_ms, True
        return b""
