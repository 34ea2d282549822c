"""A schema registry in a process of its own: `with ottla.Registry() as registry: … registry.url`.

The handle, not the server. Without an address it brings a broker of its own along.
"""

import atexit
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from types import TracebackType

from ottla.errors import OttlaError
from ottla.ports.network import free_ports
from ottla.testing.node import STOP_AT_EOF, Node

_SAYS = b"Schema registry at "
_TAIL_LINES = 20


class Registry:
    """One registry. `bootstrap` is the cluster that keeps its topic, of Ottla or Apache Kafka;
    `settings` are options in Confluent's names. The port stays the same over restarts."""

    def __init__(
        self,
        bootstrap: str | None = None,
        *,
        settings: Mapping[str, str | int | float | bool] | None = None,
        start_within_s: float = 30.0,
        stop_within_s: float = 10.0,
    ) -> None:
        self._node = Node() if bootstrap is None else None
        self._bootstrap = bootstrap
        self.host = "127.0.0.1"
        (self.port,) = free_ports(1)
        self._settings = dict(settings or {})
        self._start_within_s = start_within_s
        self._stop_within_s = stop_within_s
        self._process: subprocess.Popen[bytes] | None = None
        self._log = tempfile.TemporaryFile(prefix="ottla-registry-")  # noqa: SIM115

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def bootstrap_servers(self) -> str:
        """Of the cluster that keeps its topic."""
        return self._node.bootstrap_servers if self._node is not None else self._bootstrap or ""

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Of the registry's process; OttlaError when it does not run."""
        if self._process is None:
            raise OttlaError("The registry does not run; start it first.")
        return self._process.pid

    def start(self) -> "Registry":
        """Returns when the registry serves; OttlaError with what it said when it does not."""
        if self.running:
            return self
        if self._node is not None:
            self._node.start()
        self._process = subprocess.Popen(
            self._command(),
            stdin=subprocess.PIPE,  # it ends with us, however we end
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=os.environ | {STOP_AT_EOF: "1"},
            process_group=0,
        )
        atexit.register(self.close)
        if not self._serves(self._process):
            self.stop()
            raise OttlaError(
                f"The registry did not serve within {self._start_within_s:g} s:\n{self._said()}"
            )
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
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._forget()

    def close(self) -> None:
        """Stops it, and the broker that it brought along."""
        atexit.unregister(self.close)
        self.stop()
        if self._node is not None:
            self._node.close()
        self._log.close()

    def __enter__(self) -> "Registry":
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
        command = [sys.executable, "-m", "ottla", "registry", "start"]
        command += ["--bootstrap", self.bootstrap_servers, "--listen", f"{self.host}:{self.port}"]
        for name, value in self._settings.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            command += ["--set", f"{name}={text}"]
        return command

    def _serves(self, process: subprocess.Popen[bytes]) -> bool:
        """In a thread, because a pipe has no deadline."""
        seen: list[bool] = []

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith(_SAYS):
                    seen.append(True)
                    return

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        reader.join(self._start_within_s)
        return bool(seen)

    def _said(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").splitlines()[-_TAIL_LINES:]
        return "\n".join(lines) or "(it said nothing)"

    def _forget(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout) if self._process else ():
            if pipe is not None:
                pipe.close()
        self._process = None
