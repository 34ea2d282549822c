"""`ottla start` before the server takes over: arguments, errors, and what it must not import."""

import subprocess
import sys
from pathlib import Path

import pytest

from ottla.cli.start import Start, parse
from ottla.config.topology import Listener
from ottla.ports.network import own_name


def ottla(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ottla", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_usual_forms_are_understood_at_once() -> None:
    asked = parse(["a.properties", "--listen", "h:1", "--data=d", "--set", "a=1", "--set=b=2"])
    assert asked is not None
    assert (asked.file, asked.listen, asked.data) == ("a.properties", "h:1", "d")
    assert asked.assignments == ["a=1", "b=2"]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--lisen", "x"], ["a", "b"], ["--data"], ["--set="]]
)
def test_what_needs_an_explanation_is_left_to_the_full_command_line(arguments: list[str]) -> None:
    assert parse(arguments) is None


@pytest.mark.parametrize("listen", [":7", "0.0.0.0:7", "[::]:7"])
def test_on_all_interfaces_clients_are_told_the_name_of_the_host(
    listen: str, tmp_path: Path
) -> None:
    topology = Start(None, listen, str(tmp_path)).load().settings.topology
    assert topology.advertised == (Listener("PLAINTEXT", own_name(), 7),)


def test_a_bad_option_is_one_sentence_and_code_1(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("node.id=1\nlog.segment.bytes=big\n")
    done = ottla("start", str(path))
    assert done.returncode == 1
    assert done.stderr == (
        f"ottla: {path}, line 2: log.segment.bytes cannot be 'big': a whole number is expected.\n"
    )


def test_a_typing_mistake_is_code_2_with_a_suggestion() -> None:
    done = ottla("start", "--lisen", "9092")
    assert done.returncode == 2
    assert "--listen" in done.stderr


def test_help_tells_of_every_option() -> None:
    shown = ottla("start", "--help").stdout
    assert all(option in shown for option in ("--listen", "--data", "--set", "server.properties"))


def test_starting_imports_none_of_the_tools_libraries() -> None:
    code = (
        "import sys; from ottla.cli.main import main; from ottla.cli.start import parse, start;"
        "print([name for name in ('typer', 'rich', 'confluent_kafka', 'argparse', 'pyspark')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_node_is_loaded_without_what_msgspec_can_do_without() -> None:
    code = (
        "import sys, ottla.node; ottla.node._load_msgspec(); import ottla.node.lifecycle;"
        "print('typing_extensions' in sys.modules); import typing_extensions"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_typing_mistake_in_the_number_of_workers_is_one_sentence(tmp_path: Path) -> None:
    done = ottla("start", "--data", str(tmp_path), "--workers", "two")
    assert done.returncode == 1
    assert done.stderr == "ottla: --workers cannot be 'two': a number is expected.\n"
