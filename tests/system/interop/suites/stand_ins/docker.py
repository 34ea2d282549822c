"""A stand-in for Docker's Python client: its one container is the broker that runs already.

aiokafka's suite asks Docker for a broker on ports that it has drawn itself, so what comes in there
is passed on to the broker. Apache Kafka's tools for access rules and users run beside it, and reach
it where everybody is a super user; all other commands inside the container do nothing.
"""

import json
import os
import shlex
import socket
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ADDRESSES: dict[str, str] = json.loads(os.environ["OTTLA_SUITE_ADDRESSES"])
"""The broker's, by the protocol spoken there."""
PORTS = {
    "ADVERTISED_PORT": "PLAINTEXT",
    "ADVERTISED_SSL_PORT": "SSL",
    "ADVERTISED_SASL_PLAINTEXT_PORT": "SASL_PLAINTEXT",
    "ADVERTISED_SASL_SSL_PORT": "SASL_SSL",
}
TOOLS = {
    "kafka-acls.sh": "org.apache.kafka.tools.AclCommand",
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
}
WHERE = ("--authorizer-properties", "--zookeeper")  # how tools found a cluster before Kafka 4
JAVA = ("java", "-Xmx256m", "-XX:TieredStopAtLevel=1")


class Container:
    def exec_run(self, command: str | list[str], **_: Any) -> tuple[int, bytes]:
        name, *options = shlex.split(command) if isinstance(command, str) else command
        tool = TOOLS.get(Path(name).name)
        if tool is None:
            return 0, b""
        ran = [use(tool, some) for some in one_at_a_time(asking_the_broker(options))]
        return max(one.returncode for one in ran), b"".join(one.stdout for one in ran)

    def stop(self) -> None:
        pass


def asking_the_broker(options: list[str]) -> list[str]:
    for place in WHERE:
        if place in options:
            at = options.index(place)
            options[at : at + 2] = ["--bootstrap-server", ADDRESSES["PLAINTEXT"]]
    return options


def one_at_a_time(options: list[str]) -> list[list[str]]:
    """A user's passwords: Kafka 4 takes one of a user in a request."""
    if "--add-config" not in options:
        return [options]
    at = options.index("--add-config") + 1
    settings = options[at].split(",")
    return [[*options[:at], setting, *options[at + 1 :]] for setting in settings]


def use(tool: str, options: list[str]) -> subprocess.CompletedProcess[bytes]:
    command = [*JAVA, "-cp", os.environ["KAFKA_CLASS_PATH"], tool, *options]
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False
    )


class Containers:
    def run(self, *, environment: dict[str, Any] | None = None, **_: Any) -> Container:
        for name, protocol in PORTS.items():
            if environment is not None and protocol in ADDRESSES:
                asked = (int(environment[name]), ADDRESSES[protocol])
                threading.Thread(target=pass_on, args=asked, daemon=True).start()
        return Container()


class Client:
    containers = Containers()
    images = SimpleNamespace(pull=lambda image: None)

    def close(self) -> None:
        pass


def from_env() -> Client:
    return Client()


def pass_on(port: int, address: str) -> None:
    """Only who bootstraps comes through here: the broker then names its own address."""
    host, _, broker_port = address.rpartition(":")
    with socket.create_server(("127.0.0.1", port)) as server:
        while True:
            client, _peer = server.accept()
            broker = socket.create_connection((host, int(broker_port)))
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
