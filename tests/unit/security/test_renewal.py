"""Certificates that are replaced under a listener that goes on: real handshakes, in memory."""

import logging
import ssl
from pathlib import Path

import pytest

from ottla.errors import OttlaError
from ottla.ports.rare_log import RareLog
from ottla.security.principals import certificate_name
from ottla.security.renewal import RenewedEncryption, check_names
from ottla.security.tls import TlsOptions, server_context, tls_options
from support import certificates
from support.certificates import Issued


def shaken(server: ssl.SSLContext, authority: Issued, own: Issued | None = None) -> bytes:
    """The certificate that a client is shown."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.load_verify_locations(cadata=authority.certificate_pem)
    if own is not None:
        path = Path("/dev/shm") / f"renewal-{id(own)}.pem"
        client.load_cert_chain(own.write_pem(path))
        path.unlink()
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    here = client.wrap_bio(to_client, to_server, server_hostname="localhost")
    there = server.wrap_bio(to_server, to_client, server_side=True)
    done = 0
    for side in (here, there) * 4:
        try:
            side.do_handshake()
            done += 1
        except ssl.SSLWantReadError:
            continue
    assert done >= 2
    shown = here.getpeercert(binary_form=True)
    assert shown is not None
    return shown


COMPLAINTS = RareLog(logging.getLogger("test"), lambda: 0.0)


class Files:
    def __init__(self, folder: Path, **more: str) -> None:
        self.store, self.trusted = folder / "own.pem", folder / "trusted.pem"
        self.static = {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.store),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.trusted),
            **more,
        }

    def options(self) -> TlsOptions:
        return tls_options(self.static, "USERS")


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_a_new_certificate_is_shown_and_the_old_is_not(files: Files) -> None:
    authority = certificates.authority()
    first = certificates.issue(authority, "broker", "localhost")
    second = certificates.issue(authority, "broker", "localhost")
    first.write_pem(files.store)
    renewed = RenewedEncryption(files.options, server_context, COMPLAINTS)
    door = renewed.listening()
    assert shaken(door, authority) == first.der
    second.write_pem(files.store)
    renewed.look()
    assert shaken(door, authority) == second.der


def test_a_new_authority_replaces_the_old_one(files: Files) -> None:
    old, new = certificates.authority("old"), certificates.authority("new")
    certificates.issue(old, "broker", "localhost").write_pem(files.store)
    files.trusted.write_text(old.certificate_pem)
    files.static["ssl.client.auth"] = "required"
    renewed = RenewedEncryption(files.options, server_context, COMPLAINTS)
    door = renewed.listening()
    shaken(door, old, certificates.issue(old, "client"))
    files.trusted.write_text(new.certificate_pem)
    renewed.look()
    shaken(door, old, certificates.issue(new, "client"))
    with pytest.raises(ssl.SSLError):
        shaken(door, old, certificates.issue(old, "client"))


def test_a_bad_file_leaves_the_old_in_use_and_is_told_once(
    files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    authority = certificates.authority()
    first = certificates.issue(authority, "broker", "localhost")
    first.write_pem(files.store)
    renewed = RenewedEncryption(files.options, server_context, COMPLAINTS)
    door = renewed.listening()
    files.store.write_text("half of a f")
    renewed.look()
    renewed.look()
    assert shaken(door, authority) == first.der
    assert len([one for one in caplog.records if "stay in use" in one.message]) == 1
    third = certificates.issue(authority, "broker", "localhost")
    third.write_pem(files.store)
    renewed.look()
    assert shaken(door, authority) == third.der


@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.parametrize("option", ["ssl.allow.dn.changes", "ssl.allow.san.changes"])
def test_names_and_hosts_change_only_where_that_is_meant(
    files: Files, option: str, allowed: bool
) -> None:
    authority = certificates.authority()
    first = certificates.issue(authority, "broker", "localhost", "a.example")
    name, hosts = ("other", ("localhost", "a.example")), ("broker", ("localhost",))
    changed = name if "dn" in option else hosts
    other = certificates.issue(authority, changed[0], *changed[1])
    first.write_pem(files.store)
    files.static[option] = str(allowed).lower()
    renewed = RenewedEncryption(files.options, server_context, COMPLAINTS)
    door = renewed.listening()
    other.write_pem(files.store)
    renewed.look()
    assert shaken(door, authority) == (other if allowed else first).der


def test_more_hosts_are_no_change() -> None:
    authority = certificates.authority()
    few, many = (certificates.issue(authority, "broker", *hosts) for hosts in (("a",), ("b", "a")))
    options = tls_options({}, "USERS")
    check_names(few.der, many.der, options)
    with pytest.raises(OttlaError, match=r"ssl\.allow\.san\.changes"):
        check_names(many.der, few.der, options)
    assert certificate_name(few.der) == "CN=broker"


def test_options_of_run_time_name_another_store(files: Files, tmp_path: Path) -> None:
    authority = certificates.authority()
    first, second = (certificates.issue(authority, "broker", "localhost") for _ in range(2))
    first.write_pem(files.store)
    renewed = RenewedEncryption(files.options, server_context, COMPLAINTS)
    door = renewed.listening()
    files.static["listener.name.users.ssl.keystore.location"] = str(
        second.write_pem(tmp_path / "next.pem")
    )
    renewed.look()
    assert shaken(door, authority) == second.der


@pytest.mark.parametrize(
    "said", [b"\0\0\0\x17\0\x12\0\3plain request.....", b"GET / HTTP/1.1\r\n\r\n"]
)
def test_who_speaks_without_tls_is_told_of_once_in_a_while(
    files: Files, said: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    certificates.issue(certificates.authority(), "broker", "localhost").write_pem(files.store)
    now = [0.0]
    complaints = RareLog(logging.getLogger("test"), lambda: now[0])
    door = RenewedEncryption(files.options, server_context, complaints).listening()
    for moment in (0.0, 1.0, 2.0, 31.0):
        now[0] = moment
        incoming = ssl.MemoryBIO()
        incoming.write(said)
        with pytest.raises(ssl.SSLError):
            door.wrap_bio(incoming, ssl.MemoryBIO(), server_side=True).do_handshake()
    told = [one.message for one in caplog.records]
    assert len(told) == 2
    assert "without TLS" in told[0]
    assert "2 more" in told[1]
