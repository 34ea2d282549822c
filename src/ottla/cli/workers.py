"""`ottla start --workers N`: more brokers on one host, each a process, from one file.

The first worker is the node that the file describes. The others are brokers beside it: the next
node ids and ports, directories of their own, and the host as rack, so that replicas of a partition
can be kept from sharing one.
"""

import socket
from pathlib import Path

from ottla.config import Settings
from ottla.config.topology import Listener, Topology, show_address
from ottla.errors import OttlaError

MANY = 64


def plan_workers(
    settings: Settings, count: int, host: str, controller_port: int
) -> list[dict[str, str]]:
    """What each worker has to set over the file; `controller_port` is used where it names none."""
    if not 1 <= count <= MANY:
        raise OttlaError(f"--workers cannot be {count}: a number from 1 to {MANY} is expected.")
    topology = settings.topology
    if not topology.is_broker:
        raise OttlaError("--workers needs a node with process.roles=broker; a controller is one.")
    rack = settings.text("broker.rack") or host
    controllers = tuple(
        each if each.port else each._replace(port=controller_port)
        for each in topology.controller_listeners
    )
    first = {
        "broker.rack": rack,
        "listeners": ",".join(map(str, (*topology.listeners, *controllers))),
        **_advertised(settings, 0),
    }
    shared = {"broker.rack": rack, "process.roles": "broker", **_quorum(topology, controllers)}
    return [first, *(shared | _own(settings, at) for at in range(1, count))]


def _own(settings: Settings, at: int) -> dict[str, str]:
    """What tells worker `at` from the first, whose options stay where they are not named here."""
    topology = settings.topology
    own = {
        "node.id": str(topology.node_id + at),
        "listeners": ",".join(map(str, _shifted(topology.listeners, at))),
        "log.dirs": ",".join(str(_beside(path, at)) for path in topology.log_dirs),
        **_advertised(settings, at),
    }
    if settings.text("metadata.log.dir"):
        own["metadata.log.dir"] = str(_beside(topology.metadata_dir, at))
    cordoned = settings.names("cordoned.log.dirs")
    if cordoned not in ((), ("*",)):
        own["cordoned.log.dirs"] = ",".join(str(_beside(Path(name), at)) for name in cordoned)
    return own


def _advertised(settings: Settings, at: int) -> dict[str, str]:
    if not settings.names("advertised.listeners"):
        return {}
    return {"advertised.listeners": ",".join(map(str, _shifted(settings.topology.advertised, at)))}


def host_name() -> str:
    return socket.gethostname()


def _quorum(topology: Topology, controllers: tuple[Listener, ...]) -> dict[str, str]:
    """Nothing where the file names the controllers; else the first worker is the only one."""
    if topology.voters or topology.bootstrap_controllers:
        return {}
    host, port = controllers[0].host or "127.0.0.1", controllers[0].port
    return {"controller.quorum.bootstrap.servers": show_address(host, port)}


def _shifted(listeners: tuple[Listener, ...], by: int) -> tuple[Listener, ...]:
    return tuple(each._replace(port=each.port + by if each.port else 0) for each in listeners)


def _beside(path: Path, at: int) -> Path:
    """Not inside: a log directory holds partitions and nothing else."""
    return path.with_name(f"{path.name}.worker{at + 1}")
