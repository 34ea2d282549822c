"""Certificates of a cluster's own authority: strict verifiers believe them, by their names."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ottla.security.authority import (
    NODE_DAYS,
    KeyPair,
    describe,
    is_signed_by,
    new_authority,
    new_node,
)

NOW = datetime.now(UTC)


def handshake(node: KeyPair, trusted: str, host: str, folder: Path) -> None:
    """Both sides in memory, each with a certificate; strict as Python 3.13 is by default."""
    file = folder / "node.pem"
    file.write_text(node.chained)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for context in (server, client):
        context.load_cert_chain(file)
        context.load_verify_locations(cadata=trusted)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
    server.verify_mode = ssl.CERT_REQUIRED
    ways = ssl.MemoryBIO(), ssl.MemoryBIO()
    here = client.wrap_bio(*ways, server_hostname=host)
    there = server.wrap_bio(ways[1], ways[0], server_side=True)
    for _ in range(3):
        for side in (here, there):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    there.read(0)
    assert here.version() == "TLSv1.3"


@pytest.mark.parametrize("host", ["localhost", "a.example", "127.0.0.1", "::1"])
def test_both_sides_of_a_strict_handshake_believe_a_node(host: str, tmp_path: Path) -> None:
    authority = new_authority(NOW)
    node = new_node(authority, 1, ["localhost", "a.example", "127.0.0.1", "::1"], NOW)
    handshake(node, authority.certificate, host, tmp_path)


def test_a_name_that_is_not_in_it_and_another_authority_are_not_believed(tmp_path: Path) -> None:
    authority, other = new_authority(NOW), new_authority(NOW + timedelta(seconds=1))
    node = new_node(authority, 1, ["a.example"], NOW)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(node, authority.certificate, "b.example", tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(node, other.certificate, "a.example", tmp_path)
    assert is_signed_by(node.certificate, other.certificate + authority.certificate)
    assert not is_signed_by(node.certificate, other.certificate)


def test_a_certificate_is_described_and_a_key_is_never_shown() -> None:
    authority = new_authority(NOW)
    node = new_node(authority, 7, ["a.example", "10.0.0.1"], NOW)
    (own,) = describe(node.chained)
    assert own.subject == "CN=node-7,O=Ottla"
    assert own.names == {"a.example", "10.0.0.1"}
    assert own.ends.date() == (NOW + timedelta(days=NODE_DAYS)).date()
    assert not own.is_authority
    assert describe(authority.certificate)[0].is_authority
    assert "PRIVATE" not in repr(node)
