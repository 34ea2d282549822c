"""A schema registry in a process of its own: `with ottla.Registry() as registry: … registry.url`.

The handle, not the server. Without an address it brings a broker of its own along.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Self

from ottla.ports.network import free_ports
from ottla.testing.node import Node
from ottla.testing.server import Server, Settings, assignments


class Registry(Server):
    """One registry. `bootstrap` is the cluster that keeps its topic, of Ottla or Apache Kafka;
    `settings` are options in Confluent's names. The port stays the same over restarts."""

    kind = "registry"
    ready = b"Schema registry at "

    def __init__(
        self,
        bootstrap: str | None = None,
        *,
        settings: Settings | None = None,
        start_within_s: float = 30.0,
        stop_within_s: float = 10.0,
    ) -> None:
        super().__init__(start_within_s, stop_within_s)
        self._node = Node() if bootstrap is None else None
        self._bootstrap = bootstrap
        self.host = "127.0.0.1"
        (self.port,) = free_ports(1)
        self._settings = dict(settings or {})
        self._folder = Path(tempfile.mkdtemp(prefix="ottla-registry-"))

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def bootstrap_servers(self) -> str:
        """Of the cluster that keeps its topic."""
        return self._node.bootstrap_servers if self._node is not None else self._bootstrap or ""

    @property
    def log_file(self) -> Path:
        return self._folder / "registry.log"

    def start(self) -> Self:
        """Returns when the registry serves; OttlaError with what it said when it does not."""
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
            *("registry", "start", "--bootstrap", self.bootstrap_servers),
            *("--listen", f"{self.host}:{self.port}"),
            *assignments(self._settings),
        ]
