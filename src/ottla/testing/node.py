"""A broker in a process of its own: `with ottla.Node() as node: … node.bootstrap_servers`.

This is the handle, not the server. It starts `python -m ottla start` on free ports with a
temporary directory, waits for the `ready` line, and stops it again.
"""

import atexit
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from ottla.client.connection import Connection, read_connection
from ottla.client.files import Kind, client_config
from ottla.config.properties import read_properties
from ottla.errors import OttlaError
from ottla.ports.network import free_ports
from ottla.testing.accounts import ADMIN, Accounts

_TAIL_LINES = 20
STOP_AT_EOF = "OTTLA_STOP_AT_EOF"  # as in `ottla.cli.start`, which nothing here imports


class Node:
    """One broker. With `data` the directory is the caller's and stays; without, it is removed.

    `settings` are broker options as in `server.properties`. The ports stay the same when the
    node is stopped and started again, so clients find it where it was.

    With `secure` it is what `ottla start --secure` starts, and `data` the directory that holds all
    of it: `node.client_config("alice")` makes a user and what its client needs.
    """

    def __init__(
        self,
        *,
        data: str | os.PathLike[str] | None = None,
        settings: Mapping[str, str | int | float | bool] | None = None,
        secure: bool = False,
        start_within_s: float = 30.0,
        stop_within_s: float = 10.0,
    ) -> None:
        self._own = None if data is not None else Path(tempfile.mkdtemp(prefix="ottla-"))
        self.data = Path(data) if data is not None else self._directory / "data"
        self.host = "127.0.0.1"
        self.port, self.controller_port = free_ports(2)
        self._settings = dict(settings or {})
        self._accounts = Accounts(self.data) if secure else None
        if secure:
            self.port = _clients_port(self.data / "node1" / "server.properties") or self.port
        self._start_within_s = start_within_s
        self._stop_within_s = stop_within_s
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def _directory(self) -> Path:
        return self._own if self._own is not None else self.data.parent

    @property
    def bootstrap_servers(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def connection(self) -> Connection:
        """What makes clients: `node.connection.producer()`; of a secured node, its first user's."""
        if self._accounts is not None:
            return read_connection(file=self._accounts.admin_file, environ={})
        return Connection(self.bootstrap_servers)

    def client_config(self, user: str = ADMIN, *, for_: Kind = "confluent") -> dict[str, Any]:
        """What a client of this user is made with. Whoever is not known yet is made, and may do
        nothing before a rule says so."""
        if self._accounts is None:
            raise OttlaError("The node is not secured: ottla.Node(secure=True) has users.")
        admin = self.connection.admin()
        return client_config(self._accounts.of(user, admin), for_)

    @property
    def pid(self) -> int:
        """Of the broker's process; OttlaError when it does not run."""
        if self._process is None:
            raise OttlaError("The node does not run; start it first.")
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log_file(self) -> Path:
        """What the broker says, across restarts."""
        return self._directory / f"{self.data.name}.node.log"

    def start(self) -> "Node":
        """Returns when the broker serves; OttlaError with the log's tail when it does not."""
        if self.running:
            return self
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        with self.log_file.open("ab") as log:
            process = subprocess.Popen(
                self._command(),
                stdin=subprocess.PIPE,  # it ends with us, however we end
                stdout=subprocess.PIPE,
                stderr=log,
                env=os.environ | {STOP_AT_EOF: "1"},
                process_group=0,  # Ctrl-C is for the caller, who stops the node in good order
            )
        self._process = process
        atexit.register(self.close)  # a notebook or a script may forget to
        if not _says_ready(process, self._start_within_s):
            code = _exit_code(process)
            self.kill()
            happened = (
                f"was not ready within {self._start_within_s:g} s"
                if code is None
                else f"ended with code {code}"
            )
            tail = "\n".join(self._tail()) or "(it said nothing)"
            raise OttlaError(f"The node {happened}. The end of {self.log_file}:\n{tail}")
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
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._forget()

    def close(self) -> None:
        """Stops the broker and removes the directory, unless it is the caller's."""
        atexit.unregister(self.close)
        self.stop()
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)

    def __enter__(self) -> "Node":
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

    def _command(self) -> list[str]:
        command = [sys.executable, "-m", "ottla", "start", "--data", str(self.data)]
        if self._accounts is not None:
            command += ["--secure", "--listen", self.bootstrap_servers]
            return command + _assignments(self._settings)
        listeners = (
            f"PLAINTEXT://{self.host}:{self.port},CONTROLLER://{self.host}:{self.controller_port}"
        )
        return command + _assignments({"listeners": listeners, **self._settings})

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


def _assignments(settings: Mapping[str, str | int | float | bool]) -> list[str]:
    words: list[str] = []
    for name, value in settings.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        words += ["--set", f"{name}={text}"]
    return words


def _clients_port(file: Path) -> int | None:
    """Of a secured node that was started before."""
    if not file.is_file():
        return None
    said = {entry.name: entry.value for entry in read_properties(file)}
    found = re.search(r"CLIENTS://[^,]*:(\d+)", said.get("listeners", ""))
    return int(found[1]) if found else None


def _says_ready(process: subprocess.Popen[bytes], within_s: float) -> bool:
    """Reads standard output up to the `ready` line, in a thread because a pipe has no deadline."""
    stdout = process.stdout
    assert stdout is not None
    seen: list[bool] = []

    def read() -> None:
        for line in stdout:
            if line.startswith(b"ready "):
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
