"""Java's own key stores (JKS), read as PEM needs them: keys with their chains, and trusted
certificates. (Newer files of that ending are mostly PKCS#12: `tls` tells them apart.)

All lengths are checked; a wrong password is told apart from a broken file
as far as the format can.
"""

import hashlib
import hmac
from struct import Struct
from struct import error as StructError
from typing import NamedTuple

from ottla.security import der

MAGIC = 0xFEEDFEED
_HEAD = Struct(">III")
_PROTECTION = "1.3.6.1.4.1.42.2.17.1.1"  # of Sun's own making: SHA-1 as a key stream
_WHITENER = b"Mighty Aphrodite"
_DIGEST = 20
KEY_ENTRY, CERTIFICATE_ENTRY = 1, 2


class BadKeyStore(ValueError):
    """Not a key store, not whole, or not opened by this password."""


class KeyEntry(NamedTuple):
    key: bytes  # PKCS#8, DER
    chain: tuple[bytes, ...]  # certificates, DER, its own first


class KeyStore(NamedTuple):
    keys: tuple[KeyEntry, ...]
    trusted: tuple[bytes, ...]


def is_jks(data: bytes) -> bool:
    return data[:4] == MAGIC.to_bytes(4, "big")


def read(data: bytes, password: str, key_password: str | None = None) -> KeyStore:
    try:
        return _read(data, password, key_password or password)
    except (StructError, IndexError, UnicodeDecodeError, der.BadEncoding) as error:
        raise BadKeyStore(f"the key store is broken ({error})") from None


def _read(data: bytes, password: str, key_password: str) -> KeyStore:
    magic, version, count = _HEAD.unpack_from(data)
    if magic != MAGIC or version not in (1, 2):
        raise BadKeyStore("this is no key store of Java's")
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    seal = hashlib.sha1(password.encode("utf-16-be") + _WHITENER + body, usedforsecurity=False)
    if not hmac.compare_digest(seal.digest(), digest):
        raise BadKeyStore("the password is wrong, or the key store was changed")
    reader = _Reader(body, _HEAD.size)
    keys: list[KeyEntry] = []
    trusted: list[bytes] = []
    for _ in range(count):
        tag = reader.number(4)
        reader.text()  # the alias
        reader.take(8)  # when it was made
        if tag == KEY_ENTRY:
            key = _unprotect(reader.take(reader.number(4)), key_password)
            chain = tuple(reader.certificate(version) for _ in range(reader.number(4)))
            keys.append(KeyEntry(key, chain))
        elif tag == CERTIFICATE_ENTRY:
            trusted.append(reader.certificate(version))
        else:
            raise BadKeyStore(f"an entry of kind {tag}")
    return KeyStore(tuple(keys), tuple(trusted))


class _Reader:
    def __init__(self, data: bytes, position: int) -> None:
        self._data = data
        self._position = position

    def take(self, count: int) -> bytes:
        taken = self._data[self._position : self._position + count]
        if len(taken) != count:
            raise BadKeyStore("the key store ends too early")
        self._position += count
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def text(self) -> str:
        return self.take(self.number(2)).decode("utf-8", "replace")

    def certificate(self, version: int) -> bytes:
        if version == 2 and self.text() != "X.509":
            raise BadKeyStore("a certificate of an unknown kind")
        return self.take(self.number(4))


def _unprotect(protected: bytes, password: str) -> bytes:
    """The key is hidden under a stream of digests, each of the password and the one before."""
    algorithm, secret = der.children(der.read(protected)[0], der.SEQUENCE)
    if der.dotted(next(der.children(algorithm, der.SEQUENCE))) != _PROTECTION:
        raise BadKeyStore("a key is protected in an unknown way")
    salt, hidden, check = (
        secret.content[:_DIGEST],
        secret.content[_DIGEST:-_DIGEST],
        secret.content[-_DIGEST:],
    )
    phrase = password.encode("utf-16-be")
    stream, last = bytearray(), salt
    while len(stream) < len(hidden):
        last = hashlib.sha1(phrase + last, usedforsecurity=False).digest()
        stream += last
    key = bytes(a ^ b for a, b in zip(hidden, stream, strict=False))
    if not hmac.compare_digest(hashlib.sha1(phrase + key, usedforsecurity=False).digest(), check):
        raise BadKeyStore("the key's password is wrong")
    return key
