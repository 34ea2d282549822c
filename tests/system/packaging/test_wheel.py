"""The wheel in an empty environment: a broker and its tools, and nothing of Spark."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[3]
USE = """
import ottla, sys
from confluent_kafka import Consumer, Producer
with ottla.Node() as node:
    producer = Producer({"bootstrap.servers": node.bootstrap_servers})
    producer.produce("t", b"hello")
    assert producer.flush(10) == 0
    consumer = Consumer({"bootstrap.servers": node.bootstrap_servers, "group.id": "g",
                         "auto.offset.reset": "earliest"})
    consumer.subscribe(["t"])
    print(consumer.poll(20).value().decode())
    consumer.close()
"""
USER_TEST = """
from confluent_kafka import Producer

def test_a_record_is_taken(ottla_node, ottla_topic):
    producer = Producer({"bootstrap.servers": ottla_node.bootstrap_servers})
    producer.produce(ottla_topic, b"hello")
    assert producer.flush(10) == 0
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel and what it asks for."""
    directory = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    source = directory / "source"  # building in the project would leave its traces there
    shutil.copytree(PROJECT / "src", source / "src", ignore=shutil.ignore_patterns("*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(PROJECT / name, source)
    run(*pip, "wheel", "--no-deps", "--wheel-dir", directory, source)
    venv.create(directory / "env", with_pip=True)
    (wheel,) = directory.glob("ottla-*.whl")
    pip[0] = str(directory / "env" / "bin" / "python")
    run(*pip, "install", "-c", PROJECT / "constraints.txt", wheel, "pytest")
    return directory / "env"


def run(*command: str | Path, cwd: Path | None = None) -> str:
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env=outside,
        cwd=cwd,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(300)
def test_the_wheel_gives_a_broker_and_its_tools(environment: Path, tmp_path: Path) -> None:
    assert run(environment / "bin" / "python", "-c", USE, cwd=tmp_path) == "hello\n"
    assert "reset-offsets" in run(environment / "bin" / "ottla", "group", "--help")


@pytest.mark.timeout(300)
def test_the_wheel_does_not_bring_spark(environment: Path) -> None:
    listed = run(environment / "bin" / "python", "-m", "pip", "list")
    assert "ottla" in listed
    assert "pyspark" not in listed


@pytest.mark.timeout(300)
def test_the_fixtures_are_there_for_a_user_s_suite(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "test_user.py").write_text(USER_TEST)
    run(environment / "bin" / "python", "-m", "pytest", "-q", tmp_path, cwd=tmp_path)
