"""Which tokens of a provider are believed, and which attacks are not."""

import hmac
from base64 import urlsafe_b64encode
from collections.abc import Callable
from time import time_ns

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from ottla.security.access_tokens import (
    Bearer,
    TokenRefused,
    TokenRules,
    UnknownKey,
    check,
    parse_key_set,
)
from support.provider import AUDIENCE, ISSUER, Provider

RULES = TokenRules(ISSUER, (AUDIENCE, "other"), "sub", "scope", 5)


@pytest.fixture(scope="module")
def provider() -> Provider:
    provider = Provider()
    provider.add_key("key-2", "ES256")
    return provider


def checked(provider: Provider, token: str, rules: TokenRules = RULES) -> Bearer:
    return check(token, parse_key_set(provider.key_set()), rules, time_ns() // 1_000_000)


@pytest.mark.parametrize("key_id", ["key-1", "key-2"])
def test_a_signed_token_says_who_comes_and_for_how_long(provider: Provider, key_id: str) -> None:
    token = provider.token("alice", key_id=key_id, exp=4_000_000_000, scope="a b")
    assert checked(provider, token) == Bearer("alice", 4_000_000_000_000)


def test_the_name_may_stand_in_another_claim(provider: Provider) -> None:
    rules = RULES._replace(subject_claim="client_id")
    token = provider.token("x", client_id="robot")
    assert checked(provider, token, rules).name == "robot"


FORGED: dict[str, Callable[[Provider], str]] = {
    "a foreign issuer": lambda one: one.token("a", iss="https://evil.test"),
    "no issuer": lambda one: one.token("a", iss=None),
    "for another service": lambda one: one.token("a", aud="mail"),
    "for nobody": lambda one: one.token("a", aud=None),
    "its time is over": lambda one: one.token("a", lifetime_s=-60),
    "it never ends": lambda one: one.token("a", exp=None),
    "an end that is no time": lambda one: one.token("a", exp=10**400),
    "it was never issued": lambda one: one.token("a", iat=None),
    "of the future": lambda one: one.token("a", iat=4_000_000_000, exp=4_000_000_100),
    "not yet": lambda one: one.token("a", nbf=4_000_000_000),
    "nobody": lambda one: one.token("a", sub=None),
    "a blank": lambda one: one.token(" "),
    "a number": lambda one: one.token("a", sub=7),
    "alg none": lambda one: one.unsigned("a"),
    "no signature": lambda one: one.token("a").rpartition(".")[0] + ".",
    "two parts": lambda one: "a.b",
    "no token": lambda one: "....",
    "no base64": lambda one: "a.b.c",
    "of another provider": lambda one: Provider().token("a"),
    "one key's in the name of another": lambda one: one.token("a", said_key_id="key-2"),
    "too long": lambda one: one.token("a" * 40_000),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_token_is_refused_that_is(provider: Provider, name: str) -> None:
    with pytest.raises(TokenRefused):
        checked(provider, FORGED[name](provider))


def test_a_public_key_is_no_secret(provider: Provider) -> None:
    """The public key as an HMAC's: the oldest confusion of them all."""
    known = provider.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    _, claims, _ = provider.token("root").split(".")
    header = urlsafe_b64encode(b'{"alg":"HS256","kid":"key-1"}').rstrip(b"=").decode()
    signed = f"{header}.{claims}"
    forged = urlsafe_b64encode(hmac.digest(known, signed.encode(), "sha256")).rstrip(b"=")
    with pytest.raises(TokenRefused, match="does not sign"):
        checked(provider, f"{signed}.{forged.decode()}")


def test_a_changed_token_is_refused(provider: Provider) -> None:
    head, _, tail = provider.token("alice").split(".")
    _, other, _ = provider.token("root").split(".")
    with pytest.raises(TokenRefused, match="Signature"):
        checked(provider, f"{head}.{other}.{tail}")


def test_a_key_that_is_not_known_is_told_apart(provider: Provider) -> None:
    with pytest.raises(UnknownKey):
        checked(provider, provider.token("a", said_key_id="key-9"))


def test_what_is_no_key_set_is_refused() -> None:
    for data in (b"", b"{}", b"[]", b'{"keys": 3}', b'{"keys": [{"kty": "oct", "k": "AA"}]}'):
        with pytest.raises(ValueError, match="it"):
            parse_key_set(data)
