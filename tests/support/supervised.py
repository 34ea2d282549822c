"""`ottla cluster …` and `ottla start --workers` in the foreground, as a user types them."""

import contextlib
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SECONDS_MAX = 60


class Supervised:
    """The foreground command, from its `ready` line to its end."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "ottla", *arguments]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        readable, _, _ = select.select([self.process.stdout], [], [], SECONDS_MAX)
        line = self.process.stdout.readline() if readable else ""
        assert line.startswith("ready "), self.end(signal.SIGKILL)
        self.addresses = line.split()[1].split(",")
        self.bootstrap = ",".join(self.addresses)

    def child(self, mark: str) -> int | None:
        """The process id of the node whose command line has `mark` in it."""
        own = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        for pid in map(int, own.split()):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just died
                if mark in Path(f"/proc/{pid}/cmdline").read_text():
                    return pid
        return None

    def end(self, number: int = signal.SIGTERM) -> str:
        """What it said on standard error."""
        self.process.send_signal(number)
        return self.process.communicate(timeout=SECONDS_MAX)[1]


@contextlib.contextmanager
def running(*arguments: str) -> Iterator[Supervised]:
    supervised = Supervised(*arguments)
    try:
        yield supervised
    finally:
        if supervised.process.poll() is None:
            supervised.end()
