"""What a JSON web token must be to be believed: signed by a key of the provider, with an algorithm
that signs, by the right issuer, for us, and now.

Pure: keys and the time are handed in. The library is imported with the first token.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ottla.errors import OttlaError

if TYPE_CHECKING:
    import jwt

ALGORITHMS = frozenset(
    ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
)
"""Signatures of a private key alone: a public one must never do as a secret (HS256), nor none."""
KEY_TYPES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
KEY_ID_MAX = 1000
TOKEN_MAX = 32 * 1024


class TokenRefused(Exception):
    """Why, for the log: the client is told nothing of it."""


class UnknownKey(TokenRefused):
    """Its key is none of those that are known: the provider may have new ones."""


class Bearer(NamedTuple):
    name: str
    expires_ms: int


class TokenRules(NamedTuple):
    """From the options of a listener."""

    issuer: str | None  # None: whoever has the keys
    audiences: tuple[str, ...]  # empty: for whomever it was made
    subject_claim: str
    scope_claim: str
    skew_s: int


def check(
    token: str,
    keys: "Mapping[str, jwt.PyJWK]",
    rules: TokenRules,
    now_ms: int,
) -> Bearer:
    import jwt

    if len(token) > TOKEN_MAX or token.count(".") != 2:
        raise TokenRefused("it is no signed token")
    try:
        header = jwt.get_unverified_header(token)
        key = _key(header, keys)
        claims = jwt.decode(
            token,
            key.key,
            algorithms=[header["alg"]],
            issuer=rules.issuer,
            audience=list(rules.audiences) or None,
            options={
                "verify_signature": True,
                "verify_aud": bool(rules.audiences),
                "verify_iss": rules.issuer is not None,
                "verify_exp": False,  # times are compared below, with our clock
                "verify_iat": False,
                "verify_nbf": False,
                "require": _required(rules),
            },
        )
    except jwt.PyJWTError as error:
        raise TokenRefused(f"{type(error).__name__}: {error}") from None
    except (ValueError, TypeError, RecursionError) as error:  # what no library foresees
        raise TokenRefused(f"it cannot be read: {error}") from None
    return _bearer(claims, rules, now_ms)


def _required(rules: TokenRules) -> list[str]:
    required = ["exp", "iat"]
    if rules.issuer is not None:
        required.append("iss")
    return [*required, "aud"] if rules.audiences else required


def _key(header: Mapping[str, Any], keys: "Mapping[str, jwt.PyJWK]") -> "jwt.PyJWK":
    algorithm, key_id = header.get("alg"), header.get("kid")
    if algorithm not in ALGORITHMS:
        raise TokenRefused(f"algorithm {str(algorithm)[:20]!r} does not sign")
    if "crit" in header or "b64" in header:
        raise TokenRefused("its header asks for what is not known here")
    if key_id is None and len(keys) == 1:
        (key,) = keys.values()
    elif not isinstance(key_id, str) or len(key_id) > KEY_ID_MAX:
        raise TokenRefused("it does not say by which key it is signed")
    elif key_id not in keys:
        raise UnknownKey(f"its key {key_id[:50]!r} is not known")
    else:
        key = keys[key_id]
    said = key._jwk_data.get("alg")
    if key.key_type != KEY_TYPES[algorithm[:2]] or said not in (None, algorithm):
        raise TokenRefused(f"its key is not for {algorithm}")
    return key


def _bearer(claims: Mapping[str, Any], rules: TokenRules, now_ms: int) -> Bearer:
    skew_ms = rules.skew_s * 1000
    expires_ms, issued_ms = _moment_ms(claims, "exp"), _moment_ms(claims, "iat")
    if now_ms - skew_ms >= expires_ms:
        raise TokenRefused("its time is over")
    if issued_ms > now_ms + skew_ms:
        raise TokenRefused("it is of the future")
    if "nbf" in claims and _moment_ms(claims, "nbf") > now_ms + skew_ms:
        raise TokenRefused("its time has not come yet")
    scopes = claims.get(rules.scope_claim)
    for scope in [scopes] if isinstance(scopes, str) else scopes or []:
        if not isinstance(scope, str) or not scope.strip():
            raise TokenRefused(f"{rules.scope_claim} has an empty scope")
    name = claims.get(rules.subject_claim)
    if not isinstance(name, str) or not name.strip():
        raise TokenRefused(f"{rules.subject_claim} names nobody")
    return Bearer(name.strip(), expires_ms)


def _moment_ms(claims: Mapping[str, Any], name: str) -> int:
    seconds = claims.get(name)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TokenRefused(f"{name} is no time")
    if not 0 <= seconds < 2**40:
        raise TokenRefused(f"{name} is no time of ours")
    return int(seconds * 1000)


def parse_key_set(data: bytes) -> "dict[str, jwt.PyJWK]":
    """A provider's keys for signatures, by their ids; others are left alone. ValueError where it is
    no key set."""
    import json

    import jwt

    try:
        entries = json.loads(data)["keys"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError("it is no JSON web key set") from None
    keys: dict[str, jwt.PyJWK] = {}
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict) or entry.get("use", "sig") != "sig":
            continue
        if entry.get("kty") not in KEY_TYPES.values():
            continue
        try:
            keys[str(entry.get("kid", ""))] = jwt.PyJWK(entry)
        except (jwt.PyJWTError, ValueError, TypeError):
            continue
    if not keys:
        raise ValueError("it has no key that could have signed a token")
    return keys


def need_library(what: str) -> None:
    """Said at the start, not with the first client."""
    try:
        import jwt  # noqa: F401
    except ImportError:
        raise OttlaError(
            f"{what} needs the packages PyJWT and cryptography: pip install 'ottla[security]'."
        ) from None
