"""Certificates for tests, made on the spot."""

import datetime
import ipaddress
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ottla.security.authority import KeyPair

KINDS = {
    "CN": NameOID.COMMON_NAME,
    "C": NameOID.COUNTRY_NAME,
    "O": NameOID.ORGANIZATION_NAME,
    "OU": NameOID.ORGANIZATIONAL_UNIT_NAME,
    "L": NameOID.LOCALITY_NAME,
    "ST": NameOID.STATE_OR_PROVINCE_NAME,
    "STREET": NameOID.STREET_ADDRESS,
    "DC": NameOID.DOMAIN_COMPONENT,
    "UID": NameOID.USER_ID,
    "emailAddress": NameOID.EMAIL_ADDRESS,
    "serialNumber": NameOID.SERIAL_NUMBER,
    "title": NameOID.TITLE,
}
TAGS = {
    "utf8": _ASN1Type.UTF8String,
    "printable": _ASN1Type.PrintableString,
    "ia5": _ASN1Type.IA5String,
    "bmp": _ASN1Type.BMPString,
}
BEGIN, END = datetime.datetime(2020, 1, 1), datetime.datetime(2060, 1, 1)


class Issued(NamedTuple):
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def certificate_pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.DER)

    def key_pem(self, password: str | None = None) -> str:
        encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if password is not None:
            encryption = serialization.BestAvailableEncryption(password.encode())
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
        ).decode()

    def write_pem(self, path: Path, password: str | None = None) -> Path:
        path.write_text(self.key_pem(password) + self.certificate_pem)
        return path


def with_subject(parts: tuple[tuple[str, str, str], ...]) -> bytes:
    """A certificate (DER) of such a name; a part that begins with + belongs to the one before."""
    groups: list[list[x509.NameAttribute[str]]] = []
    for kind, tag, text in parts:
        attribute = x509.NameAttribute(KINDS[kind.lstrip("+")], text, TAGS[tag])
        if kind.startswith("+"):
            groups[-1].append(attribute)
        else:
            groups.append([attribute])
    name = x509.Name([x509.RelativeDistinguishedName(group) for group in groups])
    return _issue(name, None).der


def authority(name: str = "an authority") -> Issued:
    return _issue(_common_name(name), None)


def issue(by: Issued, name: str, *hosts: str, organization: str | None = None) -> Issued:
    """A certificate for both sides of TLS, for these hosts and addresses."""
    return _issue(_common_name(name, organization), by, hosts)


def _common_name(name: str, organization: str | None = None) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
    if organization is not None:
        parts.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(parts)


def _issue(subject: x509.Name, by: Issued | None, hosts: tuple[str, ...] = ()) -> Issued:
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = subject if by is None else by.certificate.subject
    signer = key if by is None else by.key
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(BEGIN)
        .not_valid_after(END)
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
    )
    if by is None:
        builder = builder.add_extension(_usage(signs=True), critical=True)
    else:
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(_usage(signs=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage(both), critical=False)
    if hosts:
        names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        builder = builder.add_extension(names, critical=False)
    return Issued(builder.sign(signer, hashes.SHA256()), key)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
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


def loaded(pair: KeyPair) -> Issued:
    """An authority that was made elsewhere, to issue others by."""
    key = serialization.load_pem_private_key(pair.key.encode(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return Issued(x509.load_pem_x509_certificate(pair.certificate.encode()), key)
