"""Which cluster a command is for: said on the command line, in a file, or by the environment."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from ottla.cli.app import app
from ottla.cli.arguments import OPTIONS
from ottla.errors import OttlaError

ALONE = {"start", "format", "simulate", "demo", "log dump", "cluster run"}
"""Commands that talk to no cluster, or make their own."""
ELSEWHERE = ("connect ", "schema ", "secure ")
"""These talk to a worker, a registry, and look at files or at what a port speaks."""


def commands(of: typer.Typer, before: str = "") -> Iterator[tuple[str, set[str]]]:
    """Every command, with the names of its parameters."""
    for command in of.registered_commands:
        function = command.callback
        assert function is not None
        name = f"{before}{command.name or function.__name__}"
        yield name, set(getattr(function, "__annotations__", {}))
    for group in of.registered_groups:
        assert group.typer_instance is not None
        yield from commands(group.typer_instance, f"{before}{group.name} ")


def ottla(*arguments: str, **environ: str) -> Result:
    unset: dict[str, str | None] = {"OTTLA_BOOTSTRAP": None, "OTTLA_CLIENT_CONFIG": None}
    env = unset | {f"OTTLA_{name.upper()}": value for name, value in environ.items()}
    return CliRunner().invoke(app, arguments, env=env, prog_name="ottla")


def refused(result: Result) -> str:
    assert isinstance(result.exception, OttlaError), result.output
    return str(result.exception)


@pytest.fixture
def file(tmp_path: Path, bootstrap: str) -> str:
    """As Java's tools would be given it."""
    path = tmp_path / "client.properties"
    path.write_text(f"bootstrap.servers={bootstrap}\nsecurity.protocol=PLAINTEXT\n")
    return str(path)


def test_every_command_that_talks_to_a_cluster_can_be_told_which() -> None:
    without = {name for name, takes in commands(app) if not takes >= OPTIONS.keys()}
    assert {name for name in without if not name.startswith(ELSEWHERE)} == ALONE
    assert "connect start" not in without


@pytest.mark.parametrize("command", [["topic", "list"], ["group", "list"], ["cluster", "status"]])
def test_a_file_for_java_s_tools_says_where_and_how(command: list[str], file: str) -> None:
    assert ottla(*command, "--command-config", file).exit_code == 0
    assert ottla(*command, client_config=file).exit_code == 0


def test_what_is_said_goes_before_what_the_environment_says(file: str, bootstrap: str) -> None:
    nobody = "127.0.0.1:1"
    assert ottla("topic", "list", "--command-config", file, bootstrap=nobody).exit_code == 0
    assert ottla("topic", "list", "-b", bootstrap, bootstrap=nobody).exit_code == 0
    assert ottla("topic", "list", client_config=file, bootstrap=bootstrap).exit_code == 0
    assert nobody in refused(ottla("topic", "list", "-b", nobody, client_config=file))


@pytest.mark.parametrize("command", [["topic", "list"], ["cluster", "status"], ["produce", "t"]])
def test_a_property_that_nobody_knows_is_told_with_file_and_line(
    command: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "client.properties"
    path.write_text("# ours\nsecurity.protcol=SSL\n")
    sentence = refused(ottla(*command, "--command-config", str(path)))
    assert sentence == f"{path}, line 2: security.protcol is no property of Kafka's clients."


def test_a_password_is_not_told_to_whoever_listens_there(bootstrap: str) -> None:
    login = ["-X", "sasl.mechanism=PLAIN", "-X", "sasl.username=a", "-X", "sasl.password=b"]
    secure = ["-X", "security.protocol=SASL_SSL", *login]
    sentence = refused(ottla("cluster", "status", "-b", bootstrap, *secure))
    assert "no TLS there" in sentence or "No broker answers" in sentence


def test_a_property_without_a_value_is_a_mistyped_command() -> None:
    assert ottla("topic", "list", "-X", "client.id").exit_code == 2


APPLICATION = """
from ottla import App
from ottla.pipelines.formats import json

app = App("shop", bootstrap="code:1", client={"linger.ms": "7"})
app.stream("orders", value=json("n INT")).to("out")
"""


def test_an_application_is_for_the_cluster_that_the_command_names(tmp_path: Path) -> None:
    file, properties = tmp_path / "shop.py", tmp_path / "client.properties"
    file.write_text(APPLICATION)
    properties.write_text("bootstrap.servers=file:1\n")
    explain = ("pipeline", "explain", str(file))
    assert "brokers code:1" in ottla(*explain, bootstrap="variable:1").stdout
    assert "brokers file:1" in ottla(*explain, "--command-config", str(properties)).stdout
    assert "brokers said:1" in ottla(*explain, "-b", "said:1").stdout
    sentence = refused(ottla(*explain, "-X", "linger.seconds=7"))
    assert sentence == "-X: linger.seconds is no property of Kafka's clients."


def test_an_application_whose_properties_make_no_sense_is_refused_at_its_line(
    tmp_path: Path,
) -> None:
    file = tmp_path / "shop.py"
    file.write_text(APPLICATION.replace("linger.ms", "linger.seconds"))
    sentence = refused(ottla("pipeline", "explain", str(file)))
    assert sentence == f"{file}:5: linger.seconds is no property of Kafka's clients."
