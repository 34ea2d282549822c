"""`ottla token`, from making one to its end."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ottla.cli.app import app
from support.brokers import Kind
from support.secured import Secured, running_secured, sign_in
from support.wire import Connection


@pytest.fixture(scope="module")
def secured(broker_kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with running_secured(broker_kind, tmp_path_factory.mktemp("secured")) as secured:
        yield secured


def run(secured: Secured, file: Path, *arguments: str) -> Result:
    options = ["--bootstrap", secured.address, "--command-config", str(file)]
    return CliRunner().invoke(app, ["token", *arguments, *options])


@pytest.fixture
def login(tmp_path: Path) -> Path:
    file = tmp_path / "alice.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanisms=SCRAM-SHA-256\n"
        "sasl.username=alice\nsasl.password=secret\n"
    )
    return file


def test_a_token_is_made_listed_renewed_and_ended(secured: Secured, login: Path) -> None:
    made = run(secured, login, "create", "--renewer", "bob", "--hours", "8", "--json")
    assert made.exit_code == 0, made.output
    token = json.loads(made.stdout)
    assert (token["owner"], token["renewers"]) == ("User:alice", ["bob"])
    with Connection(secured.address) as connection:
        answer = sign_in(connection, token["id"], token["password"], token=True)
        assert int(answer.error_code) == 0
    listed = run(secured, login, "list")
    assert token["id"] in listed.stdout
    assert token["password"] not in listed.stdout
    assert run(secured, login, "renew", token["id"]).exit_code == 0
    assert run(secured, login, "expire", token["id"]).exit_code == 0
    assert token["id"] not in run(secured, login, "list").stdout


def test_who_has_not_said_who_it_is_is_told_what_to_do(secured: Secured, tmp_path: Path) -> None:
    file = tmp_path / "nobody.properties"
    file.write_text("")
    options = ["--bootstrap", secured.process.bootstrap, "--command-config", str(file)]
    refused = CliRunner().invoke(app, ["token", "create", *options])
    assert refused.exit_code != 0
