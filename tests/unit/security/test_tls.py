"""TLS by Kafka's options: real handshakes in memory, with stores that others made."""

import ssl
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

from ottla.errors import OttlaError
from ottla.security import jks
from ottla.security.principals import certificate_name
from ottla.security.tls import client_context, server_context, tls_options
from support import certificates
from support.certificates import Issued

AUTHORITY = certificates.authority()
SERVER = certificates.issue(AUTHORITY, "server", "localhost", "127.0.0.1")
CLIENT = certificates.issue(AUTHORITY, "client")


def shake(
    server: ssl.SSLContext, client: ssl.SSLContext, host: str = "localhost"
) -> tuple[ssl.SSLObject, ssl.SSLObject]:
    """Both sides, connected."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(to_client, to_server, server_hostname=host)
    asked = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(10):
        done = 0
        for side in (asking, asked):
            try:
                side.do_handshake()
                done += 1
            except ssl.SSLWantReadError:
                pass
        if done == 2:
            return asked, asking
    raise AssertionError("the handshake does not end")


def pem_options(**more: str) -> dict[str, str]:
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": SERVER.key_pem(),
        "ssl.keystore.certificate.chain": SERVER.certificate_pem,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": AUTHORITY.certificate_pem,
        **{name.replace("_", "."): value for name, value in more.items()},
    }


def server_of(static: Mapping[str, str]) -> ssl.SSLContext:
    return server_context(tls_options(static, "EXTERNAL"))


def client_of(static: Mapping[str, str]) -> ssl.SSLContext:
    return client_context(tls_options(static, "EXTERNAL"))


def own(issued: Issued) -> dict[str, str]:
    return pem_options(
        ssl_keystore_key=issued.key_pem(), ssl_keystore_certificate_chain=issued.certificate_pem
    )


def test_keys_may_stand_in_the_options_themselves() -> None:
    asked, asking = shake(server_of(pem_options()), client_of(pem_options()))
    assert asking.version() == "TLSv1.3"
    assert asked.getpeercert(True) is None


def test_keys_in_options_may_stand_on_one_line() -> None:
    one_line = {name: " ".join(value.split("\n")) for name, value in pem_options().items()}
    shake(server_of(one_line), client_of(one_line))


def test_an_encrypted_key_in_a_file_opens_with_its_password(tmp_path: Path) -> None:
    file = SERVER.write_pem(tmp_path / "both.pem", "secret")
    static = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(file),
        "ssl.key.password": "secret",
    }
    shake(server_of(static), client_of(pem_options()))
    with pytest.raises(OttlaError, match="the key cannot be used"):
        server_of({**static, "ssl.key.password": "wrong"})


def test_pkcs12_of_cryptography_is_read(tmp_path: Path) -> None:
    data = pkcs12.serialize_key_and_certificates(
        b"name",
        SERVER.key,
        SERVER.certificate,
        [AUTHORITY.certificate],
        BestAvailableEncryption(b"secret"),
    )
    file = tmp_path / "store.p12"
    file.write_bytes(data)
    static = {
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(file),
        "ssl.keystore.password": "secret",
    }
    shake(server_of(static), client_of(pem_options()))
    with pytest.raises(OttlaError, match="password is wrong"):
        server_of({**static, "ssl.keystore.password": "wrong"})


@pytest.mark.java
@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_stores_that_keytool_made_are_read(tmp_path: Path, kind: str) -> None:
    """Kafka takes either for JKS, and so do we."""
    store, trust = tmp_path / "store.jks", tmp_path / "trust.jks"
    authority = tmp_path / "authority.pem"
    keytool("-genkeypair", "-keyalg", "EC", "-dname", "CN=server", "-ext", "san=dns:localhost",
            "-alias", "own", "-keystore", store, "-storetype", kind)  # fmt: skip
    keytool("-exportcert", "-rfc", "-alias", "own", "-keystore", store, "-file", authority)
    keytool("-importcert", "-noprompt", "-alias", "ca", "-keystore", trust, "-storetype", kind,
            "-file", authority)  # fmt: skip
    static = {
        "ssl.keystore.location": str(store),
        "ssl.keystore.password": "secret",
        "ssl.truststore.location": str(trust),
        "ssl.truststore.password": "secret",
    }
    shake(server_of(static), client_of(static))
    if kind == "JKS":
        with pytest.raises(jks.BadKeyStore, match="password is wrong"):
            jks.read(store.read_bytes(), "wrong")
        for length in range(0, len(store.read_bytes()), 7):
            with pytest.raises(jks.BadKeyStore):
                jks.read(store.read_bytes()[:length], "secret")


def keytool(*arguments: str | Path) -> None:
    common = ("-storepass", "secret", "-J-Xmx64m")
    command = ["keytool", *map(str, arguments), *common]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def test_a_required_certificate_is_required_and_names_its_bearer() -> None:
    server = server_of(pem_options(ssl_client_auth="required"))
    asked, _ = shake(server, client_of(own(CLIENT)))
    shown = asked.getpeercert(True)
    assert shown is not None
    assert certificate_name(shown) == "CN=client"
    nobody = ssl.create_default_context(cadata=AUTHORITY.certificate_pem)
    nobody.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError):
        shake(server, nobody)


def test_a_certificate_of_another_authority_is_refused() -> None:
    foreign = certificates.issue(certificates.authority("foreign"), "client")
    server = server_of(pem_options(ssl_client_auth="requested"))
    client = client_of(own(foreign))
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError):
        shake(server, client)


def test_a_server_of_another_name_is_refused_unless_names_do_not_count() -> None:
    server = server_of(pem_options())
    with pytest.raises(ssl.SSLCertVerificationError):
        shake(server, client_of(pem_options()), "elsewhere")
    careless = {**pem_options(), "ssl.endpoint.identification.algorithm": ""}
    shake(server, client_of(careless), "elsewhere")


def test_the_option_of_a_listener_wins_and_sasl_has_a_rule_of_its_own() -> None:
    static = {"ssl.client.auth": "required", "listener.name.external.ssl.protocol": "TLSv1.2"}
    assert tls_options(static, "EXTERNAL").text("ssl.protocol") == "TLSv1.2"
    assert tls_options(static, "EXTERNAL").text("ssl.client.auth") == "required"
    assert tls_options(static, "EXTERNAL", sasl=True).text("ssl.client.auth") == "none"
    static["listener.name.external.ssl.client.auth"] = "requested"
    assert tls_options(static, "EXTERNAL", sasl=True).text("ssl.client.auth") == "requested"


def test_suites_have_javas_names() -> None:
    suite = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
    server = server_of(pem_options(ssl_cipher_suites=suite))
    assert server.maximum_version is ssl.TLSVersion.TLSv1_2
    asked, _ = shake(server, client_of(pem_options()))
    cipher = asked.cipher()
    assert cipher is not None
    assert cipher[0] == "ECDHE-ECDSA-AES256-GCM-SHA384"
    only_new = server_of(pem_options(ssl_cipher_suites="TLS_AES_256_GCM_SHA384"))
    assert only_new.minimum_version is ssl.TLSVersion.TLSv1_3


def test_suites_that_cannot_be_switched_off_are_told(caplog: pytest.LogCaptureFixture) -> None:
    server_of(pem_options(ssl_cipher_suites="TLS_AES_256_GCM_SHA384"))
    assert "TLS_CHACHA20_POLY1305_SHA256 and TLS_AES_128_GCM_SHA256 cannot be" in caplog.text
    caplog.clear()
    server_of(pem_options(ssl_cipher_suites="TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"))
    assert not caplog.text  # TLSv1.3 is off


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ssl.enabled.protocols", "TLSv1.1"),
        ("ssl.cipher.suites", "TLS_FOO"),
        ("ssl.provider", "BC"),
        ("ssl.trustmanager.algorithm", "SunX509"),
        ("ssl.client.auth", "perhaps"),
        ("ssl.keystore.certificate.chain", ""),
        ("ssl.keystore.key", "no key"),
        ("ssl.keystore.type", "JKS"),
    ],
)
def test_what_cannot_be_honoured_is_refused(name: str, value: str) -> None:
    with pytest.raises(OttlaError, match="of EXTERNAL"):
        server_of({**pem_options(), name: value})


def test_without_a_key_or_somebody_to_believe_there_is_no_tls() -> None:
    with pytest.raises(OttlaError, match=r"ssl\.keystore\.location"):
        server_of({})
    static = pem_options(ssl_client_auth="required")
    del static["ssl.truststore.certificates"]
    with pytest.raises(OttlaError, match=r"ssl\.truststore\.location"):
        server_of(static)
