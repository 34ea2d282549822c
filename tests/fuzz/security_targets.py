"""What strangers send before it is known who they are, and what files of keys hold."""

import hashlib
from collections.abc import Callable
from contextlib import suppress

from ottla.errors import OttlaError
from ottla.security import jaas, jks, oauthbearer, scram
from ottla.security.access_tokens import TokenRefused, TokenRules, check, parse_key_set
from ottla.security.der import BadEncoding, alternative_names
from ottla.security.exchange import Computation
from ottla.security.plain import PlainServer
from ottla.security.principals import certificate_name
from ottla.security.sasl import SaslListener, SaslServer, SaslState
from support.provider import Provider

PROVIDER = Provider()
KEYS = parse_key_set(PROVIDER.key_set())
RULES = TokenRules("https://provider.test", ("kafka",), "sub", "scope", 30)
NOW_MS = 1_700_000_000_000
MECHANISMS = ("SCRAM-SHA-256", "PLAIN", "OAUTHBEARER", "nothing")
PASSWORDS = {"alice": "secret"}


def _listener() -> SaslListener:
    known = scram.KnownUser(scram.decoy(scram.SHA_256, "alice", b"x"), "alice")
    return SaslListener(
        {
            "SCRAM-SHA-256": lambda: scram.ScramServer(
                scram.SHA_256,
                lambda name, token: known if name == "alice" else None,
                nonce="n",
                secret=b"s",
            ),
            "PLAIN": lambda: PlainServer(PASSWORDS, lambda mechanism, name: None, secret=b"s"),
            "OAUTHBEARER": lambda: oauthbearer.OAuthServer(
                lambda token: check(token, KEYS, RULES, NOW_MS)
            ),
        },
        {},
    )


def sasl(data: bytes) -> None:
    """The first byte chooses the mechanism; the rest are messages, each behind its size."""
    if not data:
        return
    server = SaslServer(_listener(), lambda: 0.0, lambda: NOW_MS)
    server.handshake(MECHANISMS[data[0] % len(MECHANISMS)], 1)
    position = 1
    while position + 2 <= len(data):
        size = int.from_bytes(data[position : position + 2], "big")
        token = data[position + 2 : position + 2 + size]
        position += 2 + size
        step = server.authenticate(token)
        if isinstance(step, Computation):
            if server.mechanism == "PLAIN":
                server.finish(step, False)  # stretching takes its time, by design
            else:
                server.finish(step, step.run())
        if server.state in (SaslState.FAILED, SaslState.COMPLETE):
            break
    named = token_of_alice(data)
    assert server.state is not SaslState.COMPLETE or named, "somebody came in who proved nothing"


def token_of_alice(data: bytes) -> bool:
    """The one proof among the seeds: PLAIN with the right password."""
    return b"alice\0secret" in data


def jwt(data: bytes) -> None:
    with suppress(TokenRefused):
        check(data.decode("latin-1"), KEYS, RULES, NOW_MS)
        raise AssertionError("a token that nobody signed was believed")


def key_set(data: bytes) -> None:
    with suppress(ValueError):
        parse_key_set(data)


def jaas_line(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    with suppress(OttlaError):
        login = jaas.parse_line(text, "a line")
        assert jaas.parse_line(jaas.render(login), "again") == login
    with suppress(OttlaError):
        jaas.parse_file(text, "a file")


def jks_store(data: bytes) -> None:
    """Its digest is put right, for a fuzzer cannot guess it."""
    digest = hashlib.sha1("password".encode("utf-16-be") + b"Mighty Aphrodite" + data).digest()
    for store in (data, data + digest):
        with suppress(jks.BadKeyStore):
            jks.read(store, "password")


def certificate(data: bytes) -> None:
    for read in (certificate_name, alternative_names):
        with suppress(BadEncoding):
            read(data)


SECURITY_TARGETS: dict[str, Callable[[bytes], None]] = {
    "sasl": sasl,
    "jwt": jwt,
    "key_set": key_set,
    "jaas": jaas_line,
    "jks": jks_store,
    "certificate": certificate,
}
