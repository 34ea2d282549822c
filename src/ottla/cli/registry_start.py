"""`ottla registry start`, from its arguments to its end.

Imports nothing that a registry does not need: it should answer within half a second.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from ottla.errors import OttlaError

STOP_AT_EOF = "OTTLA_STOP_AT_EOF"  # as in `start`
_SHORT = {
    "--bootstrap": "kafkastore.bootstrap.servers",
    "-b": "kafkastore.bootstrap.servers",
    "--listen": "listeners",
    "--topic": "kafkastore.topic",
    "--group": "schema.registry.group.id",
}


class RegistryStart:
    """What was asked for on the command line: names of options, in Confluent's words."""

    __slots__ = ("file", "said")

    def __init__(self, file: str | None = None, said: Iterable[tuple[str, str, str]] = ()) -> None:
        self.file = file
        self.said = list(said)  # name, value, origin


def parse(arguments: Sequence[str]) -> RegistryStart | None:
    """The usual forms; None for whatever needs an explanation."""
    asked = RegistryStart()
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if not name.startswith("-"):
            if asked.file is not None:
                return None
            asked.file = word
            continue
        if name not in _SHORT and name != "--set":
            return None
        value = value if equals else next(words, "")
        if not value:
            return None
        if name == "--set":
            option, equals, value = value.partition("=")
            if not equals or not option:
                return None
            asked.said.append((option, value, "--set"))
        else:
            asked.said.append((_SHORT[name], value, name))
    return asked


def start(asked: RegistryStart) -> int:
    """Runs the registry until it is told to stop; the exit code."""
    try:
        run(asked)
    except OttlaError as error:
        print(f"ottla: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def run(asked: RegistryStart) -> None:
    try:
        import uvloop

        from ottla.registry.server import serve_until_stopped
        from ottla.registry.settings import read_settings
        from ottla.serving.options import Said
    except ModuleNotFoundError as missing:
        raise OttlaError(
            f"{missing.name} is missing: install the registry with `pip install 'ottla[registry]'`."
        ) from None
    if os.environ.pop(STOP_AT_EOF, None):
        threading.Thread(target=_stop_at_end_of_input, daemon=True).start()
    settings = read_settings(
        Path(asked.file) if asked.file else None, [Said(*one) for one in asked.said]
    )
    uvloop.run(serve_until_stopped(settings, lambda sentence: print(sentence, flush=True)))


def _stop_at_end_of_input() -> None:
    """Whoever started it holds the other end."""
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
