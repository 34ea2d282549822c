"""`ottla start`: one node in the foreground. Imports nothing the server does not need."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from ottla.config.load import load, parse_listen
from ottla.errors import OttlaError
from ottla.node import serve


class Start:
    """What was asked for on the command line."""

    __slots__ = ("assignments", "data", "file", "listen")

    def __init__(
        self,
        file: str | None = None,
        listen: str | None = None,
        data: str | None = None,
        assignments: Iterable[str] = (),
    ) -> None:
        self.file = file
        self.listen = listen
        self.data = data
        self.assignments = list(assignments)


def parse(arguments: Sequence[str]) -> Start | None:
    """The usual forms; None for whatever needs an explanation."""
    asked = Start()
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if not name.startswith("-"):
            if asked.file is not None:
                return None
            asked.file = word
            continue
        if name not in ("--listen", "--data", "--set"):
            return None
        value = value if equals else next(words, "")
        if not value:
            return None
        if name == "--set":
            asked.assignments.append(value)
        else:
            setattr(asked, name[2:], value)
    return asked


def start(asked: Start) -> int:
    """Runs the node until it is told to stop; the exit code."""
    try:
        settings, warnings = load(
            Path(asked.file) if asked.file else None,
            listen=parse_listen(asked.listen) if asked.listen else None,
            data=Path(asked.data).absolute() if asked.data else None,
            assignments=asked.assignments,
        )
        for warning in warnings:
            print(f"warning: {warning}", file=sys.stderr)
        for listener in settings.topology.exposed:
            print(
                f"warning: {listener.name} on {listener.host or 'all interfaces'}:{listener.port} "
                "is open to the network without encryption or authentication: whoever reaches it "
                "may read, write and delete everything.",
                file=sys.stderr,
            )
        serve(settings)
    except OttlaError as error:
        print(f"ottla: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0
