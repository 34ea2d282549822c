"""A broker in a process of its own: `with ottla.Node() as node: … node.bootstrap_servers`.

This is the handle, not the server. It starts `python -m ottla start` on free ports with a
temporary directory, waits for the `ready` line, and stops it again.
"""

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from ottla.client.connection import Connection, read_connection
from ottla.client.files import Kind, client_config
from ottla.config.properties import read_properties
from ottla.errors import OttlaError
from ottla.ports.network import free_ports
from ottla.testing.accounts import ADMIN, Accounts
from ottla.testing.server import Server, Settings, assignments


class Node(Server):
    """One broker. With `data` the directory is the caller's and stays; without, it is removed.

    `settings` are broker options as in `server.properties`. The ports stay the same when the
    node is stopped and started again, so clients find it where it was.

    With `secure` it is what `ottla start --secure` starts, and `data` the directory that holds all
    of it: `node.client_config("alice")` makes a user and what its client needs.
    """

    kind = "node"
    ready = b"ready "

    def __init__(
        self,
        *,
        data: str | os.PathLike[str] | None = None,
        settings: Settings | None = None,
        secure: bool = False,
        start_within_s: float = 30.0,
        stop_within_s: float = 10.0,
    ) -> None:
        super().__init__(start_within_s, stop_within_s)
        self._own = None if data is not None else Path(tempfile.mkdtemp(prefix="ottla-"))
        self.data = Path(data) if data is not None else self._directory / "data"
        self.host = "127.0.0.1"
        self.port, self.controller_port = free_ports(2)
        self._settings = dict(settings or {})
        self._accounts = Accounts(self.data) if secure else None
        if secure:
            self.port = _clients_port(self.data / "node1" / "server.properties") or self.port

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

    @property
    def client_files(self) -> Path | None:
        """Of a secured node's first user: a folder with a file for each client."""
        return None if self._accounts is None else self._accounts.admin_file.parent

    def client_config(self, user: str = ADMIN, *, for_: Kind = "confluent") -> dict[str, Any]:
        """What a client of this user is made with. Whoever is not known yet is made, and may do
        nothing before a rule says so."""
        if self._accounts is None:
            raise OttlaError("The node is not secured: ottla.Node(secure=True) has users.")
        admin = self.connection.admin()
        return client_config(self._accounts.of(user, admin), for_)

    @property
    def log_file(self) -> Path:
        """What the broker says, across restarts."""
        return self._directory / f"{self.data.name}.node.log"

    def close(self) -> None:
        """Stops the broker and removes the directory, unless it is the caller's."""
        super().close()
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)

    def _arguments(self) -> list[str]:
        words = ["start", "--data", str(self.data)]
        if self._accounts is not None:
            words += ["--secure", "--listen", self.bootstrap_servers]
            return words + assignments(self._settings)
        listeners = (
            f"PLAINTEXT://{self.host}:{self.port},CONTROLLER://{self.host}:{self.controller_port}"
        )
        return words + assignments({"listeners": listeners, **self._settings})


def _clients_port(file: Path) -> int | None:
    """Of a secured node that was started before."""
    if not file.is_file():
        return None
    said = {entry.name: entry.value for entry in read_properties(file)}
    found = re.search(r"CLIENTS://[^,]*:(\d+)", said.get("listeners", ""))
    return int(found[1]) if found else None
