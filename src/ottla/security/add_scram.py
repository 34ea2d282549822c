"""Users that a cluster begins with, as `kafka-storage format --add-scram` has them written:
`SCRAM-SHA-512=[name=admin,password=…]`, or with `salt`, `iterations` and `saltedpassword`.

Every voter has to be given the same line, and a line with a salt: which of them leads first, and so
whose users there are, nobody knows.
"""

from base64 import b64decode, b64encode
from binascii import Error as NotBase64

from ottla.errors import OttlaError
from ottla.ports.chance import Chance
from ottla.security.scram import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    MECHANISMS,
    Mechanism,
    credential,
    salted_password,
)
from ottla.wire.records.metadata import UserScramCredentialRecord

SALT_BYTES = 32
KNOWN = ("name", "password", "saltedpassword", "salt", "iterations")


def parse_user(text: str, chance: Chance) -> UserScramCredentialRecord:
    """Errors never say what was given: it may be the password."""
    name, _, rest = text.strip().partition("=")
    if name not in MECHANISMS:
        raise _fault(f"it begins with one of {', '.join(MECHANISMS)} and =")
    if not (rest.startswith("[") and rest.endswith("]")):
        raise _fault("what belongs to the user stands in [ and ]")
    parts = dict(map(_part, rest[1:-1].split(",")))
    if unknown := parts.keys() - set(KNOWN):
        raise _fault(f"{len(unknown)} of its parts are none of {', '.join(KNOWN)}")
    if not parts.get("name"):
        raise _fault("name is missing")
    if "password" not in parts and not {"saltedpassword", "salt"} <= parts.keys():
        raise _fault("password is missing, or salt and saltedpassword")
    mechanism, iterations = MECHANISMS[name], _iterations(parts.get("iterations", ""))
    salt = _bytes(parts, "salt") if "salt" in parts else chance.randbytes(SALT_BYTES)
    if "password" in parts:
        salted = salted_password(mechanism, parts["password"], salt, iterations)
    else:
        salted = _bytes(parts, "saltedpassword")
    return _record(parts["name"], mechanism, salted, salt, iterations)


def render_user(
    name: str, mechanism: Mechanism, password: str, iterations: int, chance: Chance
) -> str:
    """The same user for every voter, without the password."""
    salt = chance.randbytes(SALT_BYTES)
    salted = salted_password(mechanism, password, salt, iterations)
    return (
        f'{mechanism.name}=[name={name},salt="{b64encode(salt).decode()}",'
        f'saltedpassword="{b64encode(salted).decode()}",iterations={iterations}]'
    )


def _record(
    name: str, mechanism: Mechanism, salted: bytes, salt: bytes, iterations: int
) -> UserScramCredentialRecord:
    keys = credential(mechanism, salted, salt, iterations)
    return UserScramCredentialRecord(
        name=name,
        mechanism=mechanism.number,
        salt=salt,
        stored_key=keys.stored_key,
        server_key=keys.server_key,
        iterations=iterations,
    )


def _part(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise _fault("each of its parts is NAME=VALUE")
    if len(value) >= 2 and value[0] == value[-1] == '"':
        value = value[1:-1]
    return name, value


def _iterations(text: str) -> int:
    if not text:
        return ITERATIONS_MIN
    if not text.isdecimal() or not ITERATIONS_MIN <= int(text) <= ITERATIONS_MAX:
        raise _fault(f"iterations is a number from {ITERATIONS_MIN} to {ITERATIONS_MAX}")
    return int(text)


def _bytes(parts: dict[str, str], name: str) -> bytes:
    try:
        return b64decode(parts[name], validate=True)
    except NotBase64:
        raise _fault(f"{name} is not base 64") from None


def _fault(sentence: str) -> OttlaError:
    return OttlaError(f"--add-scram: {sentence}.")
