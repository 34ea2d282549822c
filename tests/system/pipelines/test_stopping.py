"""Ctrl-C of `ottla run`, as a terminal sends it: to every process of the foreground."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from ottla.pipelines.api.app import App
from ottla.pipelines.api.store import TableView
from ottla.pipelines.lifecycle.brokers import create
from ottla.pipelines.planning.topics import NewTopic

pytestmark = pytest.mark.timeout(300)
SOURCE = Path(__file__).parents[3] / "src"
PROGRAM = """
import ottla
from ottla.pipelines import json
app = ottla.App("{name}")
numbers = app.stream("{name}-in", value=json("n BIGINT"))
numbers.filter("n >= 0").to("{name}-out")
numbers.map(lambda row: {{"n": -row["n"]}}, "n BIGINT").to("{name}-mapped")
"""


class Terminal:
    """`ottla run` in the foreground of a terminal of its own."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self.name = f"ctrl-{uuid.uuid4().hex[:6]}"
        self.bootstrap = bootstrap
        self.folder = folder
        create(App(self.name, bootstrap=bootstrap).definition(), [NewTopic(f"{self.name}-in", 1)])
        (folder / "program.py").write_text(PROGRAM.format(name=self.name))
        self.producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})

    def send(self, n: int) -> None:
        self.producer.produce(f"{self.name}-in", json.dumps({"n": n}), key=str(n))
        assert self.producer.flush(30) == 0

    @contextlib.contextmanager
    def run(self, *options: str) -> "Iterator[subprocess.Popen[str]]":
        process = subprocess.Popen(
            [sys.executable, "-m", "ottla", "run", "--no-ui", *options, "program.py"],
            cwd=self.folder,
            env=os.environ
            | {
                "PYTHONPATH": str(SOURCE),
                "OTTLA_BOOTSTRAP": self.bootstrap,
                "OTTLA_STATE": str(self.folder / "state"),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def rows(self, topic: str) -> dict[str, object]:
        with contextlib.closing(
            TableView(self.name, f"{self.name}-{topic}", bootstrap=self.bootstrap)
        ) as view:
            return dict(view)


def said_until(process: "subprocess.Popen[str]", words: str) -> str:
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if words in line:
            return said
    raise AssertionError(f"it ended without saying {words!r}: {said}")


def ctrl_c(process: "subprocess.Popen[str]") -> None:
    os.killpg(process.pid, signal.SIGINT)


def test_ctrl_c_stops_cleanly_and_says_what_it_waits_for(driven: str, tmp_path: Path) -> None:
    terminal = Terminal(driven, tmp_path)
    terminal.send(1)
    with terminal.run() as process:
        said_until(process, "Running")
        until = time.monotonic() + 100
        while not (terminal.rows("out") and terminal.rows("mapped")):
            assert time.monotonic() < until
            time.sleep(0.3)
        ctrl_c(process)
        rest, _ = process.communicate(timeout=60)
    assert f"Stopping: waiting for the batch of {terminal.name}-out, at most" in rest
    assert rest.endswith("Stopped.\n")
    assert "failed" not in rest
    assert "Traceback" not in rest
    assert process.returncode == 0


def test_ctrl_c_twice_ends_at_once_without_a_traceback(driven: str, tmp_path: Path) -> None:
    terminal = Terminal(driven, tmp_path)
    with terminal.run() as process:
        said_until(process, "Running")
        ctrl_c(process)
        said = said_until(process, "Stopping")
        ctrl_c(process)
        rest, _ = process.communicate(timeout=10)
    assert "Traceback" not in said + rest
    assert "Stopped." not in rest
    assert process.returncode == 130


@pytest.mark.long
def test_a_second_copy_ends_with_a_sentence_that_names_the_first(
    driven: str, tmp_path: Path
) -> None:
    terminal = Terminal(driven, tmp_path)
    with terminal.run() as first:
        said_until(first, "Running")
        with terminal.run() as second:
            said, _ = second.communicate(timeout=60)
        assert second.returncode == 1
        assert f"{terminal.name} runs already: process {first.pid} on " in said
        with terminal.run("--standby") as second:
            said_until(second, "Standing by")
            first.kill()
            said_until(second, "Running")
