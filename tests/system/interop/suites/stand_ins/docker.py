"""A stand-in for Docker's Python client: its one container is the broker that runs already.

aiokafka's suite asks Docker for a broker on ports that it has drawn itself, so what comes in there
is passed on to the broker. Commands inside the container (certificates, access rules, Kerberos) do
nothing: the tests that need them fail on every broker started this way.
"""

import os
import socket
import threading
from types import SimpleNamespace
from typing import Any

_ADDRESS = os.environ["OTTLA_SUITE_BOOTSTRAP"].rsplit(":", 1)
BROKER = (_ADDRESS[0], int(_ADDRESS[1]))


class Container:
    def exec_run(self, *_: Any, **__: Any) -> tuple[int, bytes]:
        return 0, b""

    def stop(self) -> None:
        pass


class Containers:
    def run(self, *, environment: dict[str, Any] | None = None, **_: Any) -> Container:
        if environment is not None:
            threading.Thread(
                target=pass_on, args=(int(environment["ADVERTISED_PORT"]),), daemon=True
            ).start()
        return Container()


class Client:
    containers = Containers()
    images = SimpleNamespace(pull=lambda image: None)

    def close(self) -> None:
        pass


def from_env() -> Client:
    return Client()


def pass_on(port: int) -> None:
    """Only who bootstraps comes through here: the broker then names its own address."""
    with socket.create_server(("127.0.0.1", port)) as server:
        while True:
            client, _ = server.accept()
            broker = socket.create_connection(BROKER)
            for source, target in ((client, broker), (broker, client)):
                threading.Thread(target=copy, args=(source, target), daemon=True).start()


def copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while piece := source.recv(65536):
            target.sendall(piece)
    except OSError:
        pass
    finally:
        for end in (source, target):
            end.close()


models = SimpleNamespace(containers=SimpleNamespace(Container=Container))
