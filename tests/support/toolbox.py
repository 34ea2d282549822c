"""Kafka's own tools and the Java client, kept running in one virtual machine."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.brokers import die_with_parent
from support.class_data import brief_java
from support.jars import PROJECT, class_path

SOURCES = PROJECT / "tests" / "system" / "interop" / "java"


@dataclass(frozen=True)
class Ran:
    """How a tool ended."""

    exit: int
    output: str
    errors: str

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.output.splitlines() if line.strip()]


class Toolbox:
    """See Toolbox.java for what goes over the pipe."""

    def __init__(self, classes: Path, log: Path) -> None:
        sources = [str(source) for source in SOURCES.glob("*.java")]
        subprocess.run(["javac", "-cp", class_path(), "-d", classes, *sources], check=True)
        self.process = subprocess.Popen(
            [*brief_java(), "-Xms64m", "-cp", f"{class_path()}:{classes}", "Toolbox"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log.open("wb"),
            text=True,
            preexec_fn=die_with_parent,
        )

    def close(self) -> None:
        self.process.kill()
        self.process.wait()

    def run(self, tool: str, *args: str, input: str = "") -> Ran:
        """Run a tool's main; it must end well."""
        ran = self.attempt(tool, *args, input=input)
        assert ran.exit == 0, f"{tool} {args} left with {ran.exit}:\n{ran.output}\n{ran.errors}"
        return ran

    def attempt(self, tool: str, *args: str, input: str = "") -> Ran:
        return Ran(**self.ask({"tool": tool, "args": args, "input": input}))

    def scenario(
        self, name: str, bootstrap: str, config: dict[str, str] | None = None, **args: Any
    ) -> Any:
        reply = self.ask(
            {"scenario": name, "args": {"bootstrap": bootstrap, "config": config or {}, **args}}
        )
        assert "result" in reply, reply.get("failure")
        return reply["result"]

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        reply: dict[str, Any] = json.loads(self.process.stdout.readline())
        return reply
