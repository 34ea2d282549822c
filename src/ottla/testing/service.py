"""A service beside the broker, in a process of its own: what registries and workers share.

The handle, not the server. Without an address it brings a broker of its own along.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Self

from ottla.ports.network import free_ports
from ottla.testing.node import Node
from ottla.testing.server import Server, Settings, assignments


class Service(Server):
    """`kind` is also its command: `ottla KIND start`."""

    def __init__(
        self,
        bootstrap: str | None,
        settings: Settings | None,
        start_within_s: float,
        stop_within_s: float,
    ) -> None:
        super().__init__(start_within_s, stop_within_s)
        self._node = Node() if bootstrap is None else None
        self._bootstrap = bootstrap
        self.host = "127.0.0.1"
        (self.port,) = free_ports(1)
        self._settings = dict(settings or {})
        self._folder = Path(tempfile.mkdtemp(prefix=f"ottla-{self.kind}-"))

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def bootstrap_servers(self) -> str:
        """Of the cluster that keeps its topics."""
        return self._node.bootstrap_servers if self._node is not None else self._bootstrap or ""

    @property
    def log_file(self) -> Path:
        return self._folder / f"{self.kind}.log"

    def start(self) -> Self:
        """Returns when it serves; OttlaError with what it said when it does not."""
        if self._node is not None:
            self._node.start()
        return super().start()

    def close(self) -> None:
        """Stops it, and the broker that it brought along."""
        super().close()
        if self._node is not None:
            self._node.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _arguments(self) -> list[str]:
        return [
            *(self.kind, "start", "--bootstrap", self.bootstrap_servers),
            *("--listen", f"{self.host}:{self.port}"),
            *assignments(self._settings),
        ]
