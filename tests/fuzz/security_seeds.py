"""Sound messages and files of what `security_targets` reads."""

from struct import pack

from fuzz.security_targets import PROVIDER
from ottla.security import oauthbearer, plain, scram
from support import certificates

_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


def security_seeds(target: str) -> list[bytes]:
    return {
        "sasl": _exchanges,
        "jwt": lambda: [_token(), PROVIDER.unsigned("alice").encode()],
        "key_set": lambda: [PROVIDER.key_set(), b'{"keys": []}'],
        "jaas": lambda: [
            f'{_MODULE} required username="a" user_a="x;y";'.encode(),
            f"KafkaServer {{ {_MODULE} required a=b; }};".encode(),
        ],
        "jks": _stores,
        "certificate": lambda: [certificates.issue(certificates.authority(), "a", "b.c").der],
    }[target]()


def _token() -> bytes:
    return PROVIDER.token("alice").encode()


def _exchanges() -> list[bytes]:
    client = scram.ScramClient(scram.SHA_256, "alice", "secret", nonce="c")
    final = b"c=biws,r=cn,p=" + b"A" * 43 + b"="
    return [
        b"\0" + _message(client.first()) + _message(final),
        b"\1" + _message(plain.message("alice", "secret")),
        b"\2" + _message(oauthbearer.message(_token().decode(), {})) + _message(b"\1"),
    ]


def _message(token: bytes) -> bytes:
    return pack(">H", len(token)) + token


def _stores() -> list[bytes]:
    """One trusted certificate, without the digest behind it."""
    der = certificates.authority().der
    head = pack(">III", 0xFEEDFEED, 2, 1)
    entry = pack(">IH", 2, 1) + b"a" + pack(">q", 0)
    return [head + entry + pack(">H", 5) + b"X.509" + pack(">I", len(der)) + der]
