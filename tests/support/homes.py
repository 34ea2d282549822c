"""A node's folder: `server.properties` and its data directories, the same for either broker."""

import enum
import itertools
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import SystemRandom

CLUSTER_ID = "qxMSOLpFR9-f3GtICWzutw"

QUICK_GROUPS = {  # the servers' heartbeat intervals are 5 s, too long for tests to wait for
    f"group.{kind}.{name}": value
    for kind in ("consumer", "share", "streams")
    for name, value in {
        "min.session.timeout.ms": "6000",
        "session.timeout.ms": "6000",
        "min.heartbeat.interval.ms": "200",
        "heartbeat.interval.ms": "200",
    }.items()
}


class Quorum(enum.Enum):
    """The two ways in which Kafka forms a quorum of one."""

    STATIC = "static"  # controller.quorum.voters
    STANDALONE = "standalone"  # format --standalone: voters in the log


PORTS = range(10_000, 32_768)
"""Below those that the system gives to whoever connects: of them one may be taken at any moment."""
PROCESSES = 8


def _own_ports() -> Iterator[int]:
    """No other process of the tests has them, and none comes twice before all came once."""
    process = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    ports = PORTS[process % PROCESSES :: PROCESSES]
    begin = SystemRandom().randrange(len(ports))  # others may have a seed in common
    return itertools.cycle([*ports[begin:], *ports[:begin]])


_ports = _own_ports()


def free_port() -> int:
    while True:
        port = next(_ports)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@dataclass(frozen=True, kw_only=True)
class Home:
    """One node's place on disk and its ports, fixed for its life, whoever runs on it."""

    path: Path
    quorum: Quorum = Quorum.STATIC
    settings: Mapping[str, str] = field(default_factory=dict)
    log_dirs: int = 1
    host: str = "127.0.0.1"
    port: int = field(default_factory=free_port)
    controller_port: int = field(default_factory=free_port)

    @property
    def bootstrap(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def data(self) -> list[Path]:
        return [self.path / f"data{n}" for n in range(1, self.log_dirs + 1)]

    @property
    def formatted(self) -> bool:
        return (self.data[0] / "meta.properties").exists()

    def write_properties(self) -> Path:
        controller = f"{self.host}:{self.controller_port}"
        node = self.settings.get("node.id", "1")
        voters = {
            Quorum.STATIC: {"controller.quorum.voters": f"{node}@{controller}"},
            Quorum.STANDALONE: {"controller.quorum.bootstrap.servers": controller},
        }
        properties = {
            "process.roles": "broker,controller",
            "node.id": node,
            **voters[self.quorum],
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": ",".join(map(str, self.data)),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "4",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "4",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "share.coordinator.state.topic.num.partitions": "4",
            "group.initial.rebalance.delay.ms": "0",
            "group.streams.initial.rebalance.delay.ms": "300",
            **QUICK_GROUPS,
            **self.settings,
        }
        self.path.mkdir(parents=True, exist_ok=True)
        file = self.path / "server.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        return file
