"""Who may ask a service: HTTP's basic authentication against a file of users.

The file has the form of Jetty's, which Confluent's services read: `name: password[,role…]`, where
the password may be `MD5:` and its digest. Pure but for reading the file.
"""

import binascii
import hashlib
import hmac
from base64 import b64decode
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from ottla.config.properties import read_properties
from ottla.errors import OttlaError
from ottla.serving.errors import RestError

ANY_ROLE = "**"
_MD5 = "MD5:"
_NOT_READ = ("OBF:", "CRYPT:")


@dataclass(frozen=True, slots=True)
class User:
    password: str  # or `MD5:` and a digest
    roles: frozenset[str]

    def has(self, password: str) -> bool:
        """In the same time, whatever is wrong with it."""
        held, said = self.password, password
        if held.startswith(_MD5):
            held = held.removeprefix(_MD5).lower()
            said = hashlib.md5(password.encode(), usedforsecurity=False).hexdigest()
        return hmac.compare_digest(held.encode(), said.encode())


_NOBODY = User("", frozenset())


class Users:
    def __init__(
        self, users: Mapping[str, User], realm: str, roles: Collection[str] = (ANY_ROLE,)
    ) -> None:
        self._users = users
        self._roles = frozenset(roles)
        self.challenge = f'Basic realm="{realm}"'

    def check(self, authorization: str | None) -> None:
        """401 for whoever is not known, 403 for who has none of the roles."""
        name, password = _said(authorization)
        user = self._users.get(name, _NOBODY)
        if not user.has(password) or user is _NOBODY:
            raise RestError(401, 401, "Unauthorized")
        if ANY_ROLE not in self._roles and not self._roles & user.roles:
            raise RestError(403, 403, "Forbidden")


def _said(authorization: str | None) -> tuple[str, str]:
    kind, _, token = (authorization or "").partition(" ")
    if kind.lower() != "basic":
        return "", ""
    try:
        name, _, password = b64decode(token, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", ""
    return name, password


def read_users(file: Path) -> dict[str, User]:
    """OttlaError with the line that cannot be read."""
    users = {}
    for entry in read_properties(file):
        password, *roles = (part.strip() for part in entry.value.split(","))
        where = f"{file}, line {entry.line}: the password of {entry.name}"
        if not password:
            raise OttlaError(f"{where} is missing.")
        if password.startswith(_NOT_READ):
            raise OttlaError(f"{where}: {password.partition(':')[0]} cannot be read; MD5 can.")
        users[entry.name] = User(password, frozenset(roles))
    if not users:
        raise OttlaError(f"{file} names no users.")
    return users
