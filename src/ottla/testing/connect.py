"""A Connect worker in a process of its own: `with ottla.Connect() as connect: … connect.url`.

The handle, not the server. Without an address it brings a broker of its own along.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Self

from ottla.ports.network import free_ports
from ottla.testing.node import Node
from ottla.testing.server import Server, Settings, assignments


class Connect(Server):
    """One worker. `bootstrap` is the cluster that keeps its topics, of Ottla or Apache Kafka;
    `settings` are options in Connect's names. The port stays the same over restarts."""

    kind = "worker"
    ready = b"Connect at "

    def __init__(
        self,
        bootstrap: str | None = None,
        *,
        settings: Settings | None = None,
        master: str | None = None,
        start_within_s: float = 60.0,
        stop_within_s: float = 30.0,
    ) -> None:
        super().__init__(start_within_s, stop_within_s)
        self._node = Node() if bootstrap is None else None
        self._bootstrap = bootstrap
        self.host = "127.0.0.1"
        (self.port,) = free_ports(1)
        self._settings = dict(settings or {})
        self._master = master
        self._folder = Path(tempfile.mkdtemp(prefix="ottla-connect-"))

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def bootstrap_servers(self) -> str:
        """Of the cluster that keeps its topics."""
        return self._node.bootstrap_servers if self._node is not None else self._bootstrap or ""

    @property
    def log_file(self) -> Path:
        return self._folder / "connect.log"

    def start(self) -> Self:
        """Returns when the worker serves; OttlaError with what it said when it does not."""
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
            *("connect", "start", "--bootstrap", self.bootstrap_servers),
            *("--listen", f"{self.host}:{self.port}"),
            *(("--master", self._master) if self._master else ()),
            *assignments(self._settings),
        ]
