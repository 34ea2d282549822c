"""SCRAM (RFC 5802, 7677) of both sides: messages in, messages out.

Pure: nonces are handed in, and stretching a password (PBKDF2) is the caller's affair, who does it
in a thread. A server needs it never: a few HMACs over stored keys prove who somebody is. Somebody
whom nobody knows gets a salt derived from a secret, the same each time, and fails at the end like
one with a wrong password.
"""

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any, NamedTuple

from ottla.metadata.image import ScramCredential
from ottla.security.exchange import Computation
from ottla.security.failures import AuthenticationFailed, InvalidCredentials

ITERATIONS_MIN, ITERATIONS_MAX = 4096, 16384


class Mechanism(NamedTuple):
    name: str
    number: int  # in records and requests
    hash: str
    size: int  # of its digests


SHA_256 = Mechanism("SCRAM-SHA-256", 1, "sha256", 32)
SHA_512 = Mechanism("SCRAM-SHA-512", 2, "sha512", 64)
MECHANISMS = {each.name: each for each in (SHA_256, SHA_512)}
BY_NUMBER = {each.number: each for each in (SHA_256, SHA_512)}

_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_VALUE = r"[\x01-\x2b\x2d-\x7f]+"
_PRINTABLE = r"[\x21-\x2b\x2d-\x7e]+"
_BASE64 = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_EXTENSIONS = rf"((?:,[A-Za-z]+={_VALUE})*)"
_CLIENT_FIRST = re.compile(
    rf"(n,(?:a=({_NAME}))?,)((?:m={_VALUE},)?n=({_NAME}),r=({_PRINTABLE}){_EXTENSIONS})"
)
_CLIENT_FINAL = re.compile(rf"(c={_BASE64},r=({_PRINTABLE}){_EXTENSIONS}),p=({_BASE64})")
_SERVER_FIRST = re.compile(rf"(?:m={_VALUE},)?r=({_PRINTABLE}),s=({_BASE64}),i=(\d+){_EXTENSIONS}")
_SERVER_FINAL = re.compile(rf"(?:e=([^,]+)|v=({_BASE64})){_EXTENSIONS}")


# Keys -----------------------------------------------------------------------------------------


def salted_password(mechanism: Mechanism, password: str, salt: bytes, iterations: int) -> bytes:
    """Slow by design: 2 to 20 ms. Native, so a thread that does it holds nobody up."""
    return hashlib.pbkdf2_hmac(mechanism.hash, password.encode(), salt, iterations)


def credential(
    mechanism: Mechanism, salted: bytes, salt: bytes, iterations: int
) -> ScramCredential:
    """What a cluster keeps of a password."""
    client_key = _hmac(mechanism, salted, b"Client Key")
    return ScramCredential(
        salt,
        hashlib.new(mechanism.hash, client_key).digest(),
        _hmac(mechanism, salted, b"Server Key"),
        iterations,
    )


def proves(mechanism: Mechanism, salted: bytes, known: ScramCredential) -> bool:
    """Whether a stretched password is the one of these keys."""
    made = credential(mechanism, salted, known.salt, known.iterations)
    return hmac.compare_digest(made.stored_key, known.stored_key)


def decoy(mechanism: Mechanism, name: str, secret: bytes) -> ScramCredential:
    """For a user that does not exist: always the same salt, and keys that nobody has."""
    derived = _hmac(SHA_512, secret, f"{mechanism.name}:{name}".encode())
    salt = b64encode(derived[:19]).lower()[:26].replace(b"+", b"x").replace(b"/", b"y")
    nobody = derived[-mechanism.size :].ljust(mechanism.size, b"\0")
    return ScramCredential(salt.replace(b"=", b"z"), nobody, nobody, ITERATIONS_MIN)


def _hmac(mechanism: Mechanism, key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, mechanism.hash)


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


# The server's side ----------------------------------------------------------------------------


class KnownUser(NamedTuple):
    """What is known of a name that wants in."""

    credential: ScramCredential
    user: str  # for a delegation token, its owner
    expires_ms: int | None = None


class Derivation(NamedTuple):
    """Of a delegation token's keys: work for a thread, whose outcome `keep` takes."""

    run: Callable[[], Any]
    keep: Callable[[Any], KnownUser]


class ScramServer:
    """One exchange: `step` takes the client's two messages and answers each."""

    def __init__(
        self,
        mechanism: Mechanism,
        find: Callable[[str, bool], KnownUser | Derivation | None],
        *,
        nonce: str,
        secret: bytes,
    ) -> None:
        """`find` is given the name, and whether it is a delegation token's."""
        self.mechanism = mechanism
        self._find = find
        self._nonce = nonce
        self._secret = secret
        self._name = ""
        self._known: KnownUser | None = None
        self._is_known = False
        self._first = b""  # the client's first message, bare, and ours
        self.is_complete = False
        self.is_by_token = False

    @property
    def user(self) -> str:
        assert self._known is not None
        return self._known.user

    @property
    def claimed(self) -> str:
        return self._name

    @property
    def expires_ms(self) -> int | None:
        return None if self._known is None else self._known.expires_ms

    def is_good(self) -> bool:
        assert self._known is not None
        found = self._find(self._name, self.is_by_token)
        if isinstance(found, Derivation):
            return True  # the token is there; its keys are always the same
        return found is not None and found.credential == self._known.credential

    def step(self, message: bytes) -> bytes | Computation:
        if self.is_complete:
            raise AuthenticationFailed("The exchange is over.")
        return self._final(message) if self._first else self._begin(message)

    def _begin(self, message: bytes) -> bytes | Computation:
        parsed = _CLIENT_FIRST.fullmatch(_text(message))
        if parsed is None:
            raise InvalidCredentials("the first message is not SCRAM's")
        _, authorization_id, bare, sasl_name, nonce, extensions = parsed.groups()
        name = self._name = unescape_name(sasl_name)
        if authorization_id is not None and unescape_name(authorization_id) != name:
            raise AuthenticationFailed(
                "Authentication failed: nobody may act in the name of another user."
            )
        self.is_by_token = _extensions(extensions).get("tokenauth", "").lower() == "true"
        found = self._find(name, self.is_by_token)
        if isinstance(found, Derivation):
            keep = found.keep
            return Computation(
                found.run, lambda derived: self._challenge(bare, nonce, keep(derived))
            )
        return self._challenge(bare, nonce, found)

    def _challenge(self, bare: str, nonce: str, found: KnownUser | None) -> bytes:
        if found is not None and found.credential.iterations < ITERATIONS_MIN:
            raise InvalidCredentials(f"the credential has fewer than {ITERATIONS_MIN} iterations")
        # Work and answer are the same for one who exists.
        pretended = decoy(self.mechanism, self._name, self._secret)
        self._known = found or KnownUser(pretended, "")
        self._is_known = found is not None
        self._nonce = nonce + self._nonce
        known = self._known.credential
        answer = f"r={self._nonce},s={b64encode(known.salt).decode()},i={known.iterations}"
        self._first = f"{bare},{answer}".encode()
        return answer.encode()

    def _final(self, message: bytes) -> bytes:
        parsed = _CLIENT_FINAL.fullmatch(_text(message))
        if parsed is None:
            raise InvalidCredentials("the final message is not SCRAM's")
        without_proof, nonce, _, proof = parsed.groups()
        if nonce != self._nonce:
            raise InvalidCredentials(
                "the nonce is not the one that was given: librdkafka before 2.6.1 errs so"
            )
        assert self._known is not None
        keys = self._known.credential
        signed = self._first + b"," + without_proof.encode()
        signature = _hmac(self.mechanism, keys.stored_key, signed)
        given = b64decode(proof)
        if len(given) != self.mechanism.size:
            raise InvalidCredentials("the proof has the wrong size")
        client_key = _xor(signature, given)
        stored = hashlib.new(self.mechanism.hash, client_key).digest()
        if not hmac.compare_digest(stored, keys.stored_key) or not self._is_known:
            raise InvalidCredentials("the proof is wrong")
        self.is_complete = True
        return b"v=" + b64encode(_hmac(self.mechanism, keys.server_key, signed))


# The client's side ----------------------------------------------------------------------------


class Stretching(NamedTuple):
    """A password to be stretched, in a thread; `ScramClient.prove` takes what comes out."""

    mechanism: Mechanism
    password: str
    salt: bytes
    iterations: int

    def run(self) -> bytes:
        return salted_password(self.mechanism, self.password, self.salt, self.iterations)


class ScramClient:
    """`first` → `challenge` → (stretch) → `prove` → `check`."""

    def __init__(
        self, mechanism: Mechanism, name: str, password: str, *, nonce: str, token: bool = False
    ) -> None:
        self.mechanism = mechanism
        self._password = password
        self._nonce = nonce
        extension = ",tokenauth=true" if token else ""
        self._bare = f"n={escape_name(name)},r={nonce}{extension}"
        self._signed = b""
        self._final = ""
        self._server_signature = b""

    def first(self) -> bytes:
        return f"n,,{self._bare}".encode()

    def challenge(self, message: bytes) -> Stretching:
        text = _text(message)
        parsed = _SERVER_FIRST.fullmatch(text)
        if parsed is None:
            raise AuthenticationFailed("The server's first message is not SCRAM's.")
        nonce, salt, iterations, _ = parsed.groups()
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise AuthenticationFailed("The server's nonce does not go on from ours.")
        if not ITERATIONS_MIN <= int(iterations[:9]) <= ITERATIONS_MAX:
            raise AuthenticationFailed(
                f"The server asks for {iterations[:9]} iterations; {ITERATIONS_MIN} to "
                f"{ITERATIONS_MAX} are accepted."
            )
        self._final = f"c=biws,r={nonce}"
        self._signed = f"{self._bare},{text},{self._final}".encode()
        return Stretching(self.mechanism, self._password, b64decode(salt), int(iterations))

    def prove(self, salted: bytes) -> bytes:
        client_key = _hmac(self.mechanism, salted, b"Client Key")
        stored_key = hashlib.new(self.mechanism.hash, client_key).digest()
        proof = _xor(client_key, _hmac(self.mechanism, stored_key, self._signed))
        server_key = _hmac(self.mechanism, salted, b"Server Key")
        self._server_signature = _hmac(self.mechanism, server_key, self._signed)
        return f"{self._final},p={b64encode(proof).decode()}".encode()

    def check(self, message: bytes) -> None:
        """The server has to prove that it knows the password, too."""
        parsed = _SERVER_FINAL.fullmatch(_text(message))
        if parsed is None or parsed[2] is None:
            raise AuthenticationFailed("The server refused the password.")
        if not hmac.compare_digest(b64decode(parsed[2]), self._server_signature):
            raise AuthenticationFailed("The server does not know the password it asked for.")


def escape_name(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def unescape_name(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")


def _extensions(text: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in text.split(",") if pair)
    return {name: value for name, _, value in pairs}


def _text(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError:
        raise InvalidCredentials("a message is not text") from None
