"""An authority of a cluster's own: it signs the certificates by which nodes are known.

Certificates are ECDSA on P-256 and strict by RFC 5280, which Python asks for since 3.13. Needs the
package cryptography, which is imported with this module and nowhere near a broker. Which files
there are is not known here.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from msgspec import Struct

from ottla.errors import OttlaError

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        load_pem_private_key,
    )
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
except ImportError:
    raise OttlaError(
        "Certificates need the package cryptography: pip install 'ottla[security]'."
    ) from None

ORGANIZATION = "Ottla"
AUTHORITY_DAYS = 3650
NODE_DAYS = 398
"""No longer than browsers and Apple's TLS believe anybody."""
CLOCKS_APART = timedelta(minutes=10)


class KeyPair(Struct, frozen=True):
    """In PEM; the key is never shown."""

    certificate: str
    key: str

    def __repr__(self) -> str:
        return "KeyPair(…)"

    @property
    def chained(self) -> str:
        """As `ssl.keystore.location` has it: the key, then who it belongs to."""
        return self.key + self.certificate


class DescribedCertificate(Struct, frozen=True):
    """What a certificate says."""

    subject: str
    names: frozenset[str]  # hosts and addresses
    begins: datetime
    ends: datetime
    is_authority: bool


def new_authority(now: datetime) -> KeyPair:
    """Named after the moment, so that its successor is another."""
    subject = _subject(f"Ottla cluster authority {now:%Y-%m-%d %H:%M:%S}")
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(subject, subject, key, key.public_key(), now, AUTHORITY_DAYS)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs=True), critical=True)
    return _pair(builder.sign(key, hashes.SHA256()), key)


def new_node(authority: KeyPair, node: int, hosts: Iterable[str], now: datetime) -> KeyPair:
    """For both sides of TLS, at these hosts and addresses."""
    by, signer = _loaded(authority)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(
        _subject(f"node-{node}"), by.subject, key, signer.public_key(), now, NODE_DAYS
    )
    names = x509.SubjectAlternativeName([_general_name(host) for host in dict.fromkeys(hosts)])
    both = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
    builder = (
        builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(both, critical=False)
        .add_extension(names, critical=False)
    )
    return _pair(builder.sign(signer, hashes.SHA256()), key)


def describe(pem: str) -> list[DescribedCertificate]:
    """Every certificate in such a text; OttlaError where there is none."""
    try:
        found = x509.load_pem_x509_certificates(pem.encode())
    except ValueError:
        raise OttlaError("there is no certificate in it") from None
    return [_described(one) for one in found]


def is_signed_by(certificate: str, authorities: str) -> bool:
    """Whether one of them signed it."""
    own = x509.load_pem_x509_certificates(certificate.encode())[0]
    for one in x509.load_pem_x509_certificates(authorities.encode()):
        try:
            own.verify_directly_issued_by(one)
        except Exception:  # of a kind for each reason
            continue
        return True
    return False


def _described(one: x509.Certificate) -> DescribedCertificate:
    names: frozenset[str] = frozenset()
    is_authority = False
    for extension in one.extensions:
        match extension.value:
            case x509.SubjectAlternativeName() as found:
                names = frozenset(str(each.value) for each in found)
            case x509.BasicConstraints() as found:
                is_authority = found.ca
    return DescribedCertificate(
        one.subject.rfc4514_string(),
        names,
        one.not_valid_before_utc,
        one.not_valid_after_utc,
        is_authority,
    )


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePublicKey,
    now: datetime,
    days: int,
) -> x509.CertificateBuilder:
    now = now.astimezone(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCKS_APART)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer), critical=False)
    )


def _subject(name: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, ORGANIZATION),
            x509.NameAttribute(NameOID.COMMON_NAME, name),
        ]
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
    return KeyPair(
        certificate.public_bytes(Encoding.PEM).decode(),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
    )


def _loaded(pair: KeyPair) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = load_pem_private_key(pair.key.encode(), None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise OttlaError("The authority's key is none that was made here.")
    return x509.load_pem_x509_certificate(pair.certificate.encode()), key
