"""A schema registry as a process beside the nodes that a command runs."""

import sys
from collections.abc import Sequence
from pathlib import Path

from ottla.cli.supervisor import Beside, Child
from ottla.errors import OttlaError

DEFAULT_PORT = 8081
SAYS = "Schema registry at "


def with_port(arguments: Sequence[str]) -> list[str]:
    """`--registry` alone is `--registry=8081`: what follows it is its port only if it is one."""
    words = list(arguments)
    for at, word in enumerate(words):
        if word == "--registry" and not "".join(words[at + 1 : at + 2]).isdecimal():
            words[at] = f"--registry={DEFAULT_PORT}"
    return words


def beside(port: str, log: Path | None = None) -> Beside:
    """A registry at this port of loopback, for the nodes that it is told of."""
    if not port.isdecimal() or int(port) > 65535:
        raise OttlaError(f"--registry cannot be {port}: the number of a port is expected.")

    def child(bootstrap: str) -> Child:
        command = [sys.executable, "-m", "ottla", "registry", "start", "--bootstrap", bootstrap]
        return Child("registry", [*command, "--listen", f"127.0.0.1:{port}"], log, SAYS)

    return child
