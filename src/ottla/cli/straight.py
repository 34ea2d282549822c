"""What servers that are started without the command line's library share. Imports nothing else."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Sequence

from ottla.errors import OttlaError

STOP_AT_EOF = "OTTLA_STOP_AT_EOF"  # set by who starts a server and wants it to end with them
FILE = ""


def read_words(
    arguments: Sequence[str], options: Collection[str], flags: Collection[str] = ()
) -> list[tuple[str, str]] | None:
    """The usual forms, names and values in their order; the one word without a name is FILE's.
    None for whatever needs an explanation."""
    said: list[tuple[str, str]] = []
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if not name.startswith("-"):
            if any(known == FILE for known, _ in said):
                return None
            said.append((FILE, word))
        elif word in flags:
            said.append((word, ""))
        elif name in options and (value := value if equals else next(words, "")):
            said.append((name, value))
        else:
            return None
    return said


def exit_code(serve: Callable[[], int | None]) -> int:
    """Of a server that runs until it is told to stop."""
    try:
        return serve() or 0
    except OttlaError as error:
        print(f"ottla: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def stop_with_who_started() -> None:
    """Whoever started it may hold the other end: a script that was killed must not leave it."""
    if os.environ.pop(STOP_AT_EOF, None):
        threading.Thread(target=_stop_at_end_of_input, daemon=True).start()


def _stop_at_end_of_input() -> None:
    while os.read(0, 1024):
        continue
    os.kill(os.getpid(), signal.SIGTERM)
