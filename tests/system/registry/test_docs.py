"""The page about the registry, done as a reader would: every block runs, on a node and a registry
that its own first command starts. Its options are all of them.

What begins Spark (`drive`) is left to `tests/system/pipelines/test_registry_page.py`.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ottla.config import BROKER_OPTIONS
from ottla.config.properties import parse_properties
from ottla.registry.settings import TABLE
from support.brokers import die_with_parent
from support.homes import free_port
from support.jars import PROJECT

PAGE = (PROJECT / "docs/registry.md").read_text()
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WITHIN_S = 60


class Reader:
    """Follows the page with ports of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports = {port: str(free_port()) for port in ("9092", "8081", "8082")}
        self.names: dict[str, Any] = {}
        self.said = ""
        self.kinds: list[str] = []
        self._running: list[subprocess.Popen[str]] = []
        self._environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(PROJECT / "src"),
            "OTTLA_BOOTSTRAP": f"127.0.0.1:{self.ports['9092']}",
            "OTTLA_REGISTRY": f"http://127.0.0.1:{self.ports['8081']}",
        }

    def follow(self, kind: str, text: str) -> None:
        for port, own in self.ports.items():
            text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{own}")
        match kind:
            case "python":
                if "drive(" not in text:
                    exec(compile(text, "docs/registry.md", "exec"), self.names)
            case "sh":
                self.said = self._shell(text)
            case "json":
                assert json.loads(self.said) == json.loads(text)
            case "console":
                self._console(text)
            case "properties":
                self._properties(text)
            case _:
                raise AssertionError(f"nobody runs {kind}")
        self.kinds.append(kind)

    def _shell(self, command: str) -> str:
        return subprocess.run(
            ["sh", "-e", "-c", command],
            check=True,
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
            timeout=WITHIN_S,
        ).stdout

    def _console(self, text: str) -> None:
        """Each command, and the lines that the page shows below it."""
        for part in text.split("$ ")[1:]:
            command, _, shown = part.partition("\n")
            if command.startswith("pip install"):
                continue  # the package is there: this is its test
            if "start" in command.split():
                self._start(command, shown.splitlines())
            else:
                assert self._shell(command) == shown, command

    def _start(self, command: str, shown: list[str]) -> None:
        if command == "ottla start --registry":
            command = f"ottla start --listen 127.0.0.1:{self.ports['9092']} --data data"
            command += f" --registry {self.ports['8081']}"
        process = subprocess.Popen(
            command.split(),
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        self._running.append(process)
        assert process.stdout is not None
        for line in shown:  # a node says more between the two
            while (said := process.stdout.readline().strip()) != line:
                assert process.poll() is None, (line, said)

    def _properties(self, text: str) -> None:
        """Each line is an option; a registry's file is used by the next command."""
        (self.folder / "schema-registry.properties").write_text(text)
        known = {*BROKER_OPTIONS, *(one.name for one in TABLE)}
        for entry in parse_properties(text):
            assert entry.name in known or entry.name.startswith("kafkastore."), entry.name

    def close(self) -> None:
        self.names.clear()  # clients that would look for what is gone
        for process in reversed(self._running):
            process.send_signal(signal.SIGTERM)
            process.wait(20)


@contextmanager
def reading(folder: Path) -> Iterator[Reader]:
    reader = Reader(folder)
    try:
        yield reader
    finally:
        reader.close()


def test_every_block_does_what_the_page_says(tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("needs curl")
    with reading(tmp_path) as reader:
        for kind, text in BLOCK.findall(PAGE):
            reader.follow(kind, text)
    assert {*reader.kinds} == {"python", "sh", "json", "console", "properties"}
    assert len(reader.kinds) >= 20


def test_the_page_names_each_option() -> None:
    told = re.findall(r"^\| `([a-z.]+)` \| [^|]*\| ([^|]+) \|$", PAGE, re.MULTILINE)
    assert told == [(one.name, one.doc) for one in TABLE]
