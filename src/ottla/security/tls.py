"""TLS as Kafka's `ssl.*` options ask for it: an `SSLContext` for a listener or for outgoing links.

Keys come from PEM (files or the options themselves), PKCS#12 and JKS; they are handed to OpenSSL
through memory, never through a file of ours. An option that cannot be honoured is refused when it
is read. What connections are made of it is not known here.
"""

import logging
import os
import re
import ssl
from base64 import b64encode
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ottla.config.options import BROKER_OPTIONS
from ottla.errors import OttlaError
from ottla.security import jks

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

log = logging.getLogger(__name__)

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_VERIFY = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
_NOT_HONOURED = (
    "ssl.provider",
    "ssl.keymanager.algorithm",
    "ssl.trustmanager.algorithm",
    "ssl.secure.random.implementation",
)
_KEY = "-----BEGIN"
_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_TLS_1_3 = "TLS_AES_", "TLS_CHACHA20_POLY1305_SHA256"
_SUITES_OF_1_3 = (
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_AES_128_GCM_SHA256",
)
_AEADS = {
    "AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "CHACHA20_POLY1305_SHA256": "CHACHA20-POLY1305",
    "AES_128_CBC_SHA256": "AES128-SHA256",
    "AES_256_CBC_SHA384": "AES256-SHA384",
    "AES_128_CBC_SHA": "AES128-SHA",
    "AES_256_CBC_SHA": "AES256-SHA",
}
_EXCHANGES = {
    "TLS_ECDHE_ECDSA_WITH_": "ECDHE-ECDSA-",
    "TLS_ECDHE_RSA_WITH_": "ECDHE-RSA-",
    "TLS_DHE_RSA_WITH_": "DHE-RSA-",
    "TLS_RSA_WITH_": "",
}


class TlsOptions(NamedTuple):
    """Kafka's options of one listener, prefixes resolved; texts as the file has them."""

    listener: str
    values: Mapping[str, str | None]
    are_of_a_client: bool = False

    def text(self, name: str) -> str:
        return self.values.get(name) or ""

    def names(self, name: str) -> tuple[str, ...]:
        return tuple(filter(None, map(str.strip, self.text(name).split(","))))

    def fault(self, name: str, sentence: str) -> OttlaError:
        return OttlaError(f"{name} of {self.listener}: {sentence}")

    @property
    def has_authorities(self) -> bool:
        return bool(
            self.text("ssl.truststore.location") or self.text("ssl.truststore.certificates")
        )

    @property
    def files(self) -> tuple[Path, ...]:
        """What has to be read again when it changes."""
        names = ("ssl.keystore.location", "ssl.truststore.location")
        return tuple(Path(self.text(name)) for name in names if self.text(name))


def tls_options(static: Mapping[str, str], listener: str, *, sasl: bool = False) -> TlsOptions:
    """`listener.name.NAME.ssl.…` wins over `ssl.…`. On a listener with SASL clients are asked for
    certificates only if the listener's own option says so: that is Kafka's rule."""
    prefix = f"listener.name.{listener.lower()}."
    values = {
        name: static.get(prefix + name, static.get(name, option.default))
        for name, option in BROKER_OPTIONS.items()
        if name.startswith("ssl.")
    }
    if sasl:
        values["ssl.client.auth"] = static.get(f"{prefix}ssl.client.auth", "none")
    return TlsOptions(listener, values)


def server_context(options: TlsOptions) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _protect(context, options)
    _load_key(context, options, is_needed=True)
    verify = options.text("ssl.client.auth").lower() or "none"
    if verify not in _VERIFY:
        raise options.fault("ssl.client.auth", "required, requested or none is expected.")
    context.verify_mode = _VERIFY[verify]
    if context.verify_mode is not ssl.CERT_NONE:
        _load_authorities(context, options)
        context.num_tickets = 0  # a session that is resumed would outlive an authority's dismissal
        context.options |= ssl.OP_NO_TICKET
    return context


def client_context(options: TlsOptions) -> ssl.SSLContext:
    """For links to other nodes: they are believed if who signed for them is, and by their name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _protect(context, options)
    _load_key(context, options, is_needed=False)
    algorithm = options.text("ssl.endpoint.identification.algorithm").lower()
    if algorithm not in ("", "https"):
        raise options.fault("ssl.endpoint.identification.algorithm", "https or empty is expected.")
    context.check_hostname = algorithm == "https"
    if options.are_of_a_client and not options.has_authorities:
        context.load_default_certs()  # as every client does
    else:
        _load_authorities(context, options)
    return context


def _protect(context: ssl.SSLContext, options: TlsOptions) -> None:
    for name in _NOT_HONOURED:
        default = BROKER_OPTIONS[name].default
        if options.text(name) not in ("", default):
            raise options.fault(name, "this is Java's own, and cannot be honoured here.")
    enabled = options.names("ssl.enabled.protocols")
    unknown = [name for name in enabled if name not in _VERSIONS]
    if unknown or not enabled:
        raise options.fault("ssl.enabled.protocols", "some of TLSv1.2, TLSv1.3 are expected.")
    versions = sorted(_VERSIONS[name] for name in enabled)
    suites = options.names("ssl.cipher.suites")
    if suites:
        older = [name for name in suites if not name.startswith(_TLS_1_3)]
        if len(older) == len(suites):
            versions = [one for one in versions if one is ssl.TLSVersion.TLSv1_2]
        if not versions:
            raise options.fault("ssl.cipher.suites", "none of them is for an enabled protocol.")
        _tell_of_kept_suites(suites, versions[-1], options)
        if older:
            context.set_ciphers(":".join(_openssl_name(name, options) for name in older))
        else:
            versions = [ssl.TLSVersion.TLSv1_3]
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION


def _tell_of_kept_suites(
    suites: tuple[str, ...], newest: ssl.TLSVersion, options: TlsOptions
) -> None:
    """Python leaves those of TLSv1.3 to OpenSSL."""
    kept = [name for name in _SUITES_OF_1_3 if name not in suites]
    if kept and newest is ssl.TLSVersion.TLSv1_3:
        log.warning(
            "ssl.cipher.suites of %s: %s cannot be switched off while TLSv1.3 is enabled",
            options.listener,
            " and ".join(kept),
        )


def _openssl_name(suite: str, options: TlsOptions) -> str:
    """Java names them as the registry does, OpenSSL in its own way."""
    for exchange, short in _EXCHANGES.items():
        if suite.startswith(exchange):
            cipher = _AEADS.get(suite.removeprefix(exchange))
            if cipher is not None:
                return short + cipher
    raise options.fault("ssl.cipher.suites", f"{suite} is not known.")


# Keys and certificates ------------------------------------------------------------------------


def _load_key(context: ssl.SSLContext, options: TlsOptions, *, is_needed: bool) -> None:
    password = options.text("ssl.key.password") or options.text("ssl.keystore.password") or None
    pem = _key_and_chain(options)
    if pem is None:
        if is_needed:
            raise options.fault(
                "ssl.keystore.location", "it is missing, and without a key there is no TLS."
            )
        return
    try:
        _through_memory(context, pem, password)
    except (ssl.SSLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or str(error)
        raise options.fault("ssl.keystore", f"the key cannot be used: {reason}.") from None


def _through_memory(context: ssl.SSLContext, pem: str, password: str | None) -> None:
    """`load_cert_chain` takes paths only: this one leads to memory that no disk sees."""
    descriptor = os.memfd_create("ottla-key", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, pem.encode())
        context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=password or "")
    finally:
        os.close(descriptor)


def own_certificate(options: TlsOptions) -> bytes | None:
    """The one that is shown to others (DER)."""
    pem = _key_and_chain(options)
    if pem is None:
        return None
    found = _CERTIFICATE.search(pem)
    if found is None:
        raise options.fault("ssl.keystore.location", "there is no certificate in it.")
    try:
        return ssl.PEM_cert_to_DER_cert(found[0])
    except ValueError:
        raise options.fault("ssl.keystore.location", "the certificate is broken.") from None


def _key_and_chain(options: TlsOptions) -> str | None:
    kind = options.text("ssl.keystore.type").upper()
    key, chain = options.text("ssl.keystore.key"), options.text("ssl.keystore.certificate.chain")
    if key or chain:
        if kind != "PEM" or not key or not chain:
            raise options.fault(
                "ssl.keystore.key",
                "it needs ssl.keystore.certificate.chain and ssl.keystore.type=PEM beside it.",
            )
        return f"{_unfolded(key)}\n{_unfolded(chain)}\n"
    if not options.text("ssl.keystore.location"):
        return None
    data = _read(options, "ssl.keystore.location")
    if kind == "PEM":
        return data.decode("utf-8", "replace")
    return _stored_key(data, options)


def _stored_key(data: bytes, options: TlsOptions) -> str:
    password = options.text("ssl.keystore.password")
    if jks.is_jks(data):
        try:
            store = jks.read(data, password, options.text("ssl.key.password") or None)
        except jks.BadKeyStore as error:
            raise options.fault("ssl.keystore.location", f"{error}.") from None
        if not store.keys:
            raise options.fault("ssl.keystore.location", "there is no key in it.")
        entry = store.keys[0]
        return _pem("PRIVATE KEY", entry.key) + "".join(
            _pem("CERTIFICATE", certificate) for certificate in entry.chain
        )
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    store12 = _pkcs12(data, password, options, "ssl.keystore.location")
    if store12.key is None or store12.cert is None:
        raise options.fault("ssl.keystore.location", "there is no key in it.")
    chain = [store12.cert, *store12.additional_certs]
    key = store12.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return key.decode() + "".join(
        one.certificate.public_bytes(Encoding.PEM).decode() for one in chain
    )


def _load_authorities(context: ssl.SSLContext, options: TlsOptions) -> None:
    try:
        context.load_verify_locations(cadata=_authorities(options))
    except ssl.SSLError as error:
        raise options.fault("ssl.truststore", f"it cannot be read: {error.reason}.") from None


def _authorities(options: TlsOptions) -> str:
    kind = options.text("ssl.truststore.type").upper()
    inline = options.text("ssl.truststore.certificates")
    if inline:
        if kind != "PEM":
            raise options.fault("ssl.truststore.certificates", "ssl.truststore.type must be PEM.")
        return _unfolded(inline)
    if not options.text("ssl.truststore.location"):
        raise options.fault(
            "ssl.truststore.location", "it is missing: who is to be believed must be named."
        )
    data = _read(options, "ssl.truststore.location")
    if kind == "PEM":
        return data.decode("utf-8", "replace")
    password = options.text("ssl.truststore.password")
    if jks.is_jks(data):
        try:
            found: Iterable[bytes] = jks.read(data, password).trusted
        except jks.BadKeyStore as error:
            raise options.fault("ssl.truststore.location", f"{error}.") from None
        return "".join(_pem("CERTIFICATE", one) for one in found)
    from cryptography.hazmat.primitives.serialization import Encoding

    store = _pkcs12(data, password, options, "ssl.truststore.location")
    return "".join(
        one.certificate.public_bytes(Encoding.PEM).decode() for one in store.additional_certs
    )


def _pkcs12(
    data: bytes, password: str, options: TlsOptions, name: str
) -> "PKCS12KeyAndCertificates":
    try:
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ImportError:
        raise OttlaError(
            "PKCS#12 needs the package cryptography: pip install 'ottla[security]'."
        ) from None
    try:
        return load_pkcs12(data, password.encode() if password else None)
    except ValueError:
        raise options.fault(
            name, "the password is wrong, or it is neither PKCS#12 nor JKS."
        ) from None


def _read(options: TlsOptions, name: str) -> bytes:
    path = Path(options.text(name))
    try:
        return path.read_bytes()
    except OSError as error:
        raise options.fault(name, f"{path} cannot be read: {error.strerror}.") from None


def _unfolded(text: str) -> str:
    """PEM in an option may stand on one line: its parts are then divided by blanks."""
    if "\n" in text.strip():
        return text
    out: list[str] = []
    rest = text.strip()
    while rest.startswith(_KEY):
        head_end = rest.index("-----", len(_KEY)) + 5
        foot = rest.index("-----END", head_end)
        foot_end = rest.index("-----", foot + 8) + 5
        out += [rest[:head_end], *rest[head_end:foot].split(), rest[foot:foot_end]]
        rest = rest[foot_end:].strip()
    return "\n".join(out) if out else text


def _pem(kind: str, data: bytes) -> str:
    text = b64encode(data).decode()
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join((f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----", ""))


# For those who look them over -------------------------------------------------------------------


def certificate_chain(options: TlsOptions) -> str:
    """Of the listener, in PEM, without its key."""
    text = _key_and_chain(options)
    if text is None:
        raise options.fault("ssl.keystore.location", "it is missing.")
    found = text.partition("-----BEGIN CERTIFICATE-----")
    return "".join(found[1:])


def trusted_certificates(options: TlsOptions) -> str:
    """Of those who are believed, in PEM."""
    return _authorities(options)
