"""Who this node is and where it can be reached: roles, listeners, voters and directories.

Read from the options once; a contradiction is an `OttlaError` before anything is opened.
"""

from pathlib import Path
from typing import NamedTuple

from ottla.config.settings import Settings
from ottla.errors import OttlaError

EVERYWHERE = frozenset({"", "0.0.0.0", "::"})
"""Hosts that mean all interfaces: one can listen there, but nobody can connect to them."""
KNOWN_PROTOCOLS = frozenset({"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"})


class Listener(NamedTuple):
    name: str
    host: str  # empty: all interfaces
    port: int
    protocol: str = "PLAINTEXT"

    def __str__(self) -> str:
        """As options write it."""
        return f"{self.name}://{show_address(self.host, self.port)}"


class VoterAddress(NamedTuple):
    node_id: int
    host: str
    port: int


class Topology(NamedTuple):
    node_id: int
    roles: frozenset[str]
    listeners: tuple[Listener, ...]  # for clients and brokers
    advertised: tuple[Listener, ...]  # all interfaces stand for the name of the host
    inter_broker: str  # the name of one of the listeners
    controller_listeners: tuple[Listener, ...]
    controller_names: tuple[str, ...]
    controller_protocol: str  # by which controllers are reached: that of the first name
    voters: tuple[VoterAddress, ...]  # a static quorum; empty when it is dynamic
    bootstrap_controllers: tuple[tuple[str, int], ...]
    log_dirs: tuple[Path, ...]
    metadata_dir: Path

    @property
    def is_broker(self) -> bool:
        return "broker" in self.roles

    @property
    def is_controller(self) -> bool:
        return "controller" in self.roles

    @property
    def exposed(self) -> tuple[Listener, ...]:
        """Listeners that other hosts can reach, though nobody has to say there who it is."""
        bound = (*self.listeners, *self.controller_listeners)
        return tuple(
            each for each in bound if each.protocol == "PLAINTEXT" and not is_loopback(each.host)
        )


def read_topology(settings: Settings) -> Topology:
    roles = frozenset(settings.names("process.roles"))
    if not roles:
        raise OttlaError("process.roles is missing: say process.roles=broker,controller.")
    controller_names = settings.names("controller.listener.names")
    if not controller_names:
        raise OttlaError("controller.listener.names is missing: name the controllers' listener.")
    protocols = _protocols(settings, controller_names)
    bound = parse_listeners("listeners", settings.names("listeners"), protocols)
    for name in controller_names:
        if name.upper() not in protocols:
            raise OttlaError(
                f"controller.listener.names: {name} has no protocol; add it to "
                "listener.security.protocol.map."
            )
    _check_early(settings, bound, controller_names)
    listeners = tuple(each for each in bound if each.name not in controller_names)
    controllers = tuple(each for each in bound if each.name in controller_names)
    if "controller" in roles and not controllers:
        raise OttlaError(
            f"listeners lacks {controller_names[0]}, which controller.listener.names asks for."
        )
    if "broker" in roles and not listeners:
        raise OttlaError("listeners names no listener that clients could use.")
    directories = _log_dirs(settings)
    return Topology(
        node_id=_node_id(settings),
        roles=roles,
        listeners=listeners,
        advertised=_advertised(settings, protocols, listeners, controller_names),
        inter_broker=_inter_broker(settings, listeners),
        controller_listeners=controllers,
        controller_names=controller_names,
        controller_protocol=protocols[controller_names[0].upper()],
        voters=tuple(map(_voter, settings.names("controller.quorum.voters"))),
        bootstrap_controllers=tuple(
            host_and_port("controller.quorum.bootstrap.servers", server)
            for server in settings.names("controller.quorum.bootstrap.servers")
        ),
        log_dirs=directories,
        metadata_dir=Path(settings.text("metadata.log.dir") or directories[0]),
    )


def parse_listeners(
    option: str, entries: tuple[str, ...], protocols: dict[str, str]
) -> tuple[Listener, ...]:
    found: list[Listener] = []
    for entry in entries:
        name, separator, address = entry.partition("://")
        name = name.upper()
        if not separator:
            raise OttlaError(f"{option}: {entry!r} is no listener; write NAME://HOST:PORT.")
        if name not in protocols:
            raise OttlaError(
                f"{option}: {name} has no protocol; add it to listener.security.protocol.map."
            )
        host, port = host_and_port(option, address)
        if any(name == other.name for other in found):
            raise OttlaError(f"{option}: {name} is named twice.")
        if port and any((host, port) == (other.host, other.port) for other in found):
            raise OttlaError(f"{option}: port {port} is used twice; each listener needs its own.")
        found.append(Listener(name, host, port, protocols[name]))
    return tuple(found)


def show_address(host: str, port: int) -> str:
    """As options write it: an address of IPv6 has colons of its own."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def host_and_port(option: str, address: str) -> tuple[str, int]:
    """`HOST:PORT`, `[::1]:9092` or `:9092`."""
    host, _, port = address.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise OttlaError(f"{option}: {address!r} has no port; write HOST:PORT.")
    return host.strip("[]"), int(port)


def is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _voter(entry: str) -> VoterAddress:
    node_id, _, address = entry.partition("@")
    if not node_id.isdigit():
        raise OttlaError(f"controller.quorum.voters: {entry!r} is no voter; write ID@HOST:PORT.")
    return VoterAddress(int(node_id), *host_and_port("controller.quorum.voters", address))


def _protocols(settings: Settings, controller_names: tuple[str, ...]) -> dict[str, str]:
    protocols: dict[str, str] = {}
    for pair in settings.text("listener.security.protocol.map").split(","):
        name, _, protocol = (part.strip().upper() for part in pair.partition(":"))
        if name and protocol not in KNOWN_PROTOCOLS:
            raise OttlaError(
                f"listener.security.protocol.map: {protocol or name!r} is no protocol; "
                f"one of {', '.join(sorted(KNOWN_PROTOCOLS))} is expected."
            )
        protocols[name] = protocol
    if "listener.security.protocol.map" not in settings.static:
        for name in controller_names:  # Kafka maps a controller listener that nobody mapped
            protocols.setdefault(name.upper(), "PLAINTEXT")
    return protocols


def _check_early(
    settings: Settings, bound: tuple[Listener, ...], controller_names: tuple[str, ...]
) -> None:
    """Those that serve before the access rules are read. Here the controllers' always do, for super
    users, and no other: more than that nobody needs, and less is safer."""
    known = {each.name for each in bound} | {name.upper() for name in controller_names}
    for name in settings.names("early.start.listeners"):
        if name.upper() not in known:
            raise OttlaError(
                f"early.start.listeners: {name} is neither among listeners nor among "
                "controller.listener.names."
            )


def _node_id(settings: Settings) -> int:
    for name in ("node.id", "broker.id"):
        if name in settings.static and settings.int(name) >= 0:
            return settings.int(name)
    raise OttlaError("node.id is missing: give the node a number of its own, as node.id=1.")


def _advertised(
    settings: Settings,
    protocols: dict[str, str],
    listeners: tuple[Listener, ...],
    controller_names: tuple[str, ...],
) -> tuple[Listener, ...]:
    entries = settings.names("advertised.listeners")
    if not entries:
        for listener in listeners:
            _refuse_unfinished(listener)
        return listeners
    given = parse_listeners("advertised.listeners", entries, protocols)
    for listener in given:
        if listener.host in ("0.0.0.0", ""):
            raise OttlaError(
                f"advertised.listeners: clients cannot reach {listener.host or 'an empty host'!r}; "
                "name a host or an address."
            )
    known = {listener.name for listener in listeners}
    shown = tuple(each for each in given if each.name not in controller_names)
    for listener in shown:
        if listener.name not in known:
            raise OttlaError(f"advertised.listeners: {listener.name} is not among the listeners.")
    return shown


def _refuse_unfinished(listener: Listener) -> None:
    """Like Kafka: no host stands for the name of this one, but 0.0.0.0 does not."""
    if listener.host == "0.0.0.0":
        raise OttlaError(
            f"listeners: clients cannot reach {listener.name} at 0.0.0.0; name a host that they "
            f"can: advertised.listeners={listener.name}://HOST:{listener.port}."
        )


def _inter_broker(settings: Settings, listeners: tuple[Listener, ...]) -> str:
    name = settings.text("inter.broker.listener.name")
    if name:
        if listeners and all(name != listener.name for listener in listeners):
            raise OttlaError(f"inter.broker.listener.name: {name} is not among the listeners.")
        return name
    protocol = settings.text("security.inter.broker.protocol")
    for listener in listeners:
        if listener.name == protocol:
            return protocol
    return listeners[0].name if listeners else protocol


def _log_dirs(settings: Settings) -> tuple[Path, ...]:
    entries = settings.names("log.dirs") or settings.names("log.dir")
    if len(set(entries)) != len(entries):
        raise OttlaError("log.dirs names a directory twice.")
    directories = tuple(map(Path, entries))
    cordoned = settings.names("cordoned.log.dirs")
    if cordoned != ("*",) and not set(map(Path, cordoned)) <= set(directories):
        raise OttlaError("cordoned.log.dirs names what is not among log.dirs; * alone means all.")
    return directories
