"""`ottla connect start`, from its arguments to its end.

Imports nothing that a worker does not need before it serves; Spark is started by the first run.
"""

import gc
from collections.abc import Iterable, Sequence
from pathlib import Path

from ottla.cli.straight import exit_code, stop_with_who_started
from ottla.errors import OttlaError

_SHORT = {
    "--bootstrap": "bootstrap.servers",
    "-b": "bootstrap.servers",
    "--listen": "listeners",
    "--group": "group.id",
}
_OTHER = ("--set", "--master")


class ConnectStart:
    """What was asked for on the command line: names of options, in Connect's words."""

    __slots__ = ("connectors", "file", "master", "said")

    def __init__(
        self,
        file: str | None = None,
        connectors: Iterable[str] = (),
        said: Iterable[tuple[str, str, str]] = (),
        master: str | None = None,
    ) -> None:
        self.file = file
        self.connectors = list(connectors)
        self.said = list(said)  # name, value, origin
        self.master = master


def parse(arguments: Sequence[str]) -> ConnectStart | None:
    """None for whatever needs an explanation. The first word without a name is the worker's file,
    the others are connectors'."""
    asked = ConnectStart()
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if not name.startswith("-"):
            asked.connectors.append(word)
        elif (name not in _SHORT and name not in _OTHER) or not (
            value := value if equals else next(words, "")
        ):
            return None
        elif name == "--master":
            asked.master = value
        elif name == "--set":
            option, equals, given = value.partition("=")
            if not equals or not option:
                return None
            asked.said.append((option, given, "--set"))
        else:
            asked.said.append((_SHORT[name], value, name))
    if asked.connectors:
        asked.file = asked.connectors.pop(0)
    return asked


def start(asked: ConnectStart) -> int:
    """Runs the worker until it is told to stop; the exit code."""
    return exit_code(lambda: run(asked))


def run(asked: ConnectStart) -> None:
    gc.disable()  # nothing of what a start makes is garbage; the server enables it again
    try:
        import uvloop

        from ottla.connect.runs.spark_runner import SparkRunner
        from ottla.connect.server import serve_until_stopped
        from ottla.connect.settings import read_settings
        from ottla.pipelines.runtime.settings import LOCAL_MASTER
        from ottla.serving.options import Said
    except ModuleNotFoundError as missing:
        raise OttlaError(
            f"{missing.name} is missing: install it with `pip install 'ottla[pipelines,registry]'`."
        ) from None
    stop_with_who_started()
    settings = read_settings(
        Path(asked.file) if asked.file else None, [Said(*one) for one in asked.said]
    )
    runner = SparkRunner(master=asked.master or LOCAL_MASTER)
    uvloop.run(
        serve_until_stopped(
            settings,
            runner,
            [Path(one) for one in asked.connectors],
            lambda sentence: print(sentence, flush=True),
        )
    )
