"""A secured cluster's directory: laid out, renewed, looked over."""

import stat
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ottla.cli.app import app
from ottla.cli.local_cluster import lay_out
from ottla.cli.secured.checks import ERROR, GOOD, WARNING, check_file
from ottla.cli.secured.real_hosts import parse_hosts
from ottla.cli.secured.rotation import rotate_authority, rotate_nodes
from ottla.cli.secured.vault import Vault
from ottla.config.load import load
from ottla.errors import OttlaError
from ottla.node.security import check_options
from ottla.ports.chance import SYSTEM_CHANCE
from ottla.quorum.snapshots import read_snapshot
from ottla.security.authority import describe, is_signed_by

NOW = datetime.now(UTC)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    lay_out(tmp_path / "c", 2, None, secure=True)
    return tmp_path / "c"


def nodes(home: Path) -> list[Path]:
    return sorted(home.glob("node*/server.properties"))


def sentences(files: Iterable[Path], level: str, now: datetime = NOW) -> str:
    found = [one for file in files for one in check_file(file, now)]
    return "\n".join(one.sentence for one in found if one.level == level)


def test_nodes_take_their_files_and_begin_with_one_and_the_same_user(home: Path) -> None:
    for file in nodes(home):
        check_options(load(file).settings, SYSTEM_CHANCE)
    begun = [
        tuple(read_snapshot((file.parent / "data" / "bootstrap.checkpoint").read_bytes()).values())
        for file in nodes(home)
    ]
    assert begun[0] == begun[1]
    assert any(b"admin" in value for value in begun[0])
    password = Vault(home).password_of("admin")
    assert password
    assert all(password.encode() not in value for value in begun[0])


def test_everything_is_its_owners_alone(home: Path) -> None:
    for path in (home, *home.rglob("*")):
        if "data" not in path.parts:
            mode = stat.S_IMODE(path.stat().st_mode)
            assert mode == (0o700 if path.is_dir() else 0o600), path
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o700 for path in home.glob("node*/data"))


def test_a_second_time_takes_what_is_there_and_a_third_node_joins_it(home: Path) -> None:
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    lay_out(home, None, None, secure=True)
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before
    lay_out(home, 3, None)
    (own,) = describe((home / "node3" / "node.pem").read_text())
    assert own.subject == "CN=node-3,O=Ottla"
    clients = home / "secure" / "clients" / "admin" / "librdkafka.conf"
    (servers,) = (line for line in clients.read_text().splitlines() if "bootstrap" in line)
    assert servers.count(",") == 2


def test_a_cluster_that_is_not_secured_is_not_changed(tmp_path: Path) -> None:
    lay_out(tmp_path, 1, None)
    with pytest.raises(OttlaError, match="is not secured"):
        lay_out(tmp_path, 1, None, secure=True)


def test_certificates_are_renewed_for_the_same_names(home: Path) -> None:
    before = [(file.parent / "node.pem").read_text() for file in nodes(home)]
    rotate_nodes(Vault(home), nodes(home))
    for file, old in zip(nodes(home), before, strict=True):
        new = (file.parent / "node.pem").read_text()
        assert new != old
        assert describe(new)[0].names == describe(old)[0].names
        assert is_signed_by(new[new.index("-----BEGIN CERT") :], Vault(home).trusted)


def test_a_new_authority_signs_only_after_it_is_believed_everywhere(home: Path) -> None:
    vault = Vault(home)
    old = vault.authority().certificate

    def seen() -> tuple[int, bool]:
        """How many are believed, and whether nodes still show the old one's signature."""
        pem = (home / "node1" / "node.pem").read_text()
        trusted = (home / "node1" / "trusted.pem").read_text()
        chain = pem[pem.index("-----BEGIN CERT") :]
        assert is_signed_by(chain, trusted)
        java = (home / "secure" / "clients" / "admin" / "java.properties").read_text()
        assert java.count("BEGIN CERTIFICATE") == trusted.count("BEGIN CERTIFICATE")
        return len(describe(trusted)), is_signed_by(chain, old)

    assert seen() == (1, True)
    assert "Step 1" in rotate_authority(vault, nodes(home))
    assert seen() == (2, True)
    assert "Step 2" in rotate_authority(vault, nodes(home))
    assert seen() == (2, False)
    assert "Step 3" in rotate_authority(vault, nodes(home))
    assert seen() == (1, False)


def test_a_check_finds_nothing_wrong_with_what_was_written(home: Path) -> None:
    assert sentences(nodes(home), ERROR) == ""
    assert "holds until" in sentences(nodes(home), GOOD)
    ran = CliRunner().invoke(app, ["secure", "check", str(home)])
    assert ran.exit_code == 0, ran.output


def test_a_check_finds_what_expires(home: Path) -> None:
    assert "expires on" in sentences(nodes(home), WARNING, NOW + timedelta(days=380))
    assert "expired on" in sentences(nodes(home), ERROR, NOW + timedelta(days=400))


def test_a_check_finds_what_is_open(home: Path) -> None:
    file = nodes(home)[0]
    text = file.read_text().replace("CLIENTS:SASL_SSL", "CLIENTS:PLAINTEXT")
    text = text.replace("listeners=CLIENTS://127.0.0.1", "listeners=CLIENTS://")
    text = text.replace(
        "advertised.listeners=CLIENTS://:", "advertised.listeners=CLIENTS://x.example:"
    )
    file.write_text(text.replace("NODES://127.0.0.1", "NODES://y.example"))
    file.chmod(0o644)
    (file.parent / "node.pem").chmod(0o640)
    wrong = sentences([file], ERROR)
    assert "is open to the network without encryption" in wrong
    assert "others are told y.example, but the certificate is for" in wrong
    found = sentences([file], WARNING)
    assert "node.pem has mode 0640" in found
    assert "server.properties has mode 0644" in found
    assert CliRunner().invoke(app, ["secure", "check", str(file)]).exit_code == 1


def test_a_check_finds_a_key_of_the_authority_that_others_can_read(home: Path) -> None:
    (home / "secure" / "authority.key").chmod(0o644)
    ran = CliRunner().invoke(app, ["secure", "check", str(home)])
    assert "authority.key has mode 0644; 0600 keeps others out." in ran.output


def test_files_for_real_hosts_are_complete_before_they_are_carried_there(tmp_path: Path) -> None:
    words = ["secure", "init", str(tmp_path / "r"), "--name", "kafka.example"]
    hosts = [word for n in (1, 2, 3, 4) for word in ("--node", f"{n}@h{n}.example")]
    ran = CliRunner().invoke(app, [*words, *hosts])
    assert ran.exit_code == 0, ran.output
    assert "ottla format -t" in ran.output
    fourth = load(tmp_path / "r" / "node4" / "server.properties").settings.topology
    assert not fourth.is_controller
    assert [voter.host for voter in fourth.voters] == ["h1.example", "h2.example", "h3.example"]
    (own,) = describe((tmp_path / "r" / "node4" / "node.pem").read_text())
    assert {"h4.example", "kafka.example"} <= own.names
    assert sentences([tmp_path / "r" / "node4" / "server.properties"], ERROR) == ""
    assert CliRunner().invoke(app, [*words, *hosts]).exit_code != 0


@pytest.mark.parametrize("given", [["x@h"], ["1@a", "1@b"], []])
def test_hosts_that_cannot_be_read_are_refused(given: list[str]) -> None:
    with pytest.raises(OttlaError):
        parse_hosts(given)
