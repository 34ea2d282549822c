"""A process of `python -m ottla` that is started, waited for, and stopped again.

The handle that nodes and registries share. It ends with whoever holds it, however that one ends.
"""

import atexit
import os
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from ottla.errors import OttlaError

_TAIL_LINES = 20
STOP_AT_EOF = "OTTLA_STOP_AT_EOF"  # as in `ottla.cli.straight`, which nothing here imports

Settings = Mapping[str, str | int | float | bool]


class Server(ABC):
    kind: ClassVar[str]
    ready: ClassVar[bytes]
    """How the line begins that it prints when it serves."""

    def __init__(self, start_within_s: float, stop_within_s: float) -> None:
        self._start_within_s = start_within_s
        self._stop_within_s = stop_within_s
        self._process: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def log_file(self) -> Path:
        """What it says, across restarts."""

    @abstractmethod
    def _arguments(self) -> list[str]:
        """Of `ottla`."""

    @property
    def pid(self) -> int:
        """Of its process; OttlaError when it does not run."""
        if self._process is None:
            raise OttlaError(f"The {self.kind} does not run; start it first.")
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> Self:
        """Returns when it serves; OttlaError with the log's tail when it does not."""
        if self.running:
            return self
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        with self.log_file.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "ottla", *self._arguments()],
                stdin=subprocess.PIPE,  # it ends with us, however we end
                stdout=subprocess.PIPE,
                stderr=log,
                env=os.environ | {STOP_AT_EOF: "1"},
                process_group=0,  # Ctrl-C is for the caller, who stops it in good order
            )
        self._process = process
        atexit.register(self.close)  # a notebook or a script may forget to
        if not _says(process, self.ready, self._start_within_s):
            code = _exit_code(process)
            self.kill()
            happened = (
                f"was not ready within {self._start_within_s:g} s"
                if code is None
                else f"ended with code {code}"
            )
            tail = "\n".join(self._tail()) or "(it said nothing)"
            raise OttlaError(f"The {self.kind} {happened}. The end of {self.log_file}:\n{tail}")
        return self

    def stop(self) -> None:
        """A clean stop: SIGTERM, and a kill only if that is not enough."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(self._stop_within_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._forget()

    def kill(self) -> None:
        """`kill -9`: for tests of what survives it."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        self._forget()

    def close(self) -> None:
        """Stops it, and leaves nothing behind that is not the caller's."""
        atexit.unregister(self.close)
        self.stop()

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _tail(self) -> list[str]:
        try:
            return self.log_file.read_text(errors="replace").splitlines()[-_TAIL_LINES:]
        except OSError:
            return []

    def _forget(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout) if self._process else ():
            if pipe is not None:
                pipe.close()
        self._process = None


def assignments(settings: Settings) -> list[str]:
    words: list[str] = []
    for name, value in settings.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        words += ["--set", f"{name}={text}"]
    return words


def _says(process: subprocess.Popen[bytes], ready: bytes, within_s: float) -> bool:
    """Reads standard output up to that line, in a thread because a pipe has no deadline."""
    stdout = process.stdout
    assert stdout is not None
    seen: list[bool] = []

    def read() -> None:
        for line in stdout:
            if line.startswith(ready):
                seen.append(True)
                return

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(within_s)
    return bool(seen)


def _exit_code(process: subprocess.Popen[bytes]) -> int | None:
    """None while it runs; the end of its output comes a moment before the end of the process."""
    try:
        return process.wait(0.5)
    except subprocess.TimeoutExpired:
        return None
