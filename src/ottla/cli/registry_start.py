"""`ottla registry start`, from its arguments to its end.

Imports nothing that a registry does not need: it should answer within half a second.
"""

import gc
from collections.abc import Iterable, Sequence
from pathlib import Path

from ottla.cli.straight import FILE, exit_code, read_words, stop_with_who_started
from ottla.errors import OttlaError

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
    """None for whatever needs an explanation."""
    words = read_words(arguments, {*_SHORT, "--set"})
    if words is None:
        return None
    asked = RegistryStart()
    for name, value in words:
        if name == FILE:
            asked.file = value
        elif name == "--set":
            option, equals, given = value.partition("=")
            if not equals or not option:
                return None
            asked.said.append((option, given, "--set"))
        else:
            asked.said.append((_SHORT[name], value, name))
    return asked


def start(asked: RegistryStart) -> int:
    """Runs the registry until it is told to stop; the exit code."""
    return exit_code(lambda: run(asked))


def run(asked: RegistryStart) -> None:
    gc.disable()  # nothing of what a start makes is garbage; the server enables it again
    try:
        import uvloop

        from ottla.registry.server import serve_until_stopped
        from ottla.registry.settings import read_settings
        from ottla.serving.options import Said
    except ModuleNotFoundError as missing:
        raise OttlaError(
            f"{missing.name} is missing: install the registry with `pip install 'ottla[registry]'`."
        ) from None
    stop_with_who_started()
    settings = read_settings(
        Path(asked.file) if asked.file else None, [Said(*one) for one in asked.said]
    )
    uvloop.run(serve_until_stopped(settings, lambda sentence: print(sentence, flush=True)))
