"""PLAIN (RFC 4616): a name and a password in clear, so for listeners with TLS.

Users stand in the listener's JAAS line, or are those of SCRAM: then the password is stretched (in a
thread, by the caller) and compared with the stored keys, for an unknown name as well.
"""

import hmac
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ottla.metadata.image import ScramCredential
from ottla.security import scram
from ottla.security.exchange import Computation
from ottla.security.failures import AuthenticationFailed

USER_PREFIX = "user_"


class PlainMessage(NamedTuple):
    authorization_id: str
    name: str
    password: str


def parse(message: bytes) -> PlainMessage:
    try:
        parts = message.decode().split("\0")
    except UnicodeDecodeError:
        raise AuthenticationFailed("A PLAIN message is text in UTF-8.") from None
    if len(parts) != 3:
        raise AuthenticationFailed(f"A PLAIN message has three parts, not {len(parts)}.")
    parsed = PlainMessage(*parts)
    if not parsed.name:
        raise AuthenticationFailed("Authentication failed: the name is missing.")
    if not parsed.password:
        raise AuthenticationFailed("Authentication failed: the password is missing.")
    return parsed


def message(name: str, password: str) -> bytes:
    """What a client sends."""
    return f"\0{name}\0{password}".encode()


def jaas_users(options: Mapping[str, str]) -> dict[str, str]:
    """`user_alice="secret"` of a login module: passwords by name."""
    return {
        option.removeprefix(USER_PREFIX): password
        for option, password in options.items()
        if option.startswith(USER_PREFIX)
    }


class PlainServer:
    """One exchange, of one message."""

    is_by_token = False
    expires_ms: int | None = None

    def __init__(
        self,
        passwords: Mapping[str, str],
        find: Callable[[scram.Mechanism, str], ScramCredential | None],
        *,
        secret: bytes,
    ) -> None:
        """`find` has the keys that SCRAM keeps of users whom the JAAS line does not name."""
        self._passwords = passwords
        self._find = find
        self._secret = secret
        self.user = self.claimed = ""
        self.is_complete = False
        self._proven: tuple[scram.Mechanism, ScramCredential] | None = None

    def is_good(self) -> bool:
        if self._proven is None:
            return True  # the file's word, which does not change
        mechanism, known = self._proven
        return self._find(mechanism, self.user) == known

    def step(self, message: bytes) -> bytes | Computation:
        asked = parse(message)
        self.claimed = asked.name
        expected = self._passwords.get(asked.name)
        if expected is not None:
            same = hmac.compare_digest(expected.encode(), asked.password.encode())
            return self._answer(asked, same)
        for mechanism in (scram.SHA_512, scram.SHA_256):
            known = self._find(mechanism, asked.name)
            if known is not None:
                return self._compare(asked, mechanism, known, exists=True)
        nobody = scram.decoy(scram.SHA_512, asked.name, self._secret)
        return self._compare(asked, scram.SHA_512, nobody, exists=False)

    def _compare(
        self,
        asked: PlainMessage,
        mechanism: scram.Mechanism,
        known: ScramCredential,
        *,
        exists: bool,
    ) -> Computation:
        self._proven = mechanism, known
        stretching = scram.Stretching(mechanism, asked.password, known.salt, known.iterations)
        return Computation(
            lambda: scram.proves(mechanism, stretching.run(), known),
            lambda same: self._answer(asked, bool(same) and exists),
        )

    def _answer(self, asked: PlainMessage, is_right: bool) -> bytes:
        if not is_right:
            raise AuthenticationFailed("Authentication failed: the name or the password is wrong.")
        if asked.authorization_id not in ("", asked.name):
            raise AuthenticationFailed(
                "Authentication failed: nobody may act in the name of another user."
            )
        self.user, self.is_complete = asked.name, True
        return b""
