"""From a `server.properties`, `--set` and the command line to `Settings`, and back to a file.

An unknown name is a warning, as it is for Apache Kafka, and so is an option without effect here; a
bad value is an error that names file, line and option.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from ottla.config.options import BROKER_OPTIONS
from ottla.config.properties import PropertyEntry, read_properties, render_properties
from ottla.config.settings import Settings
from ottla.config.topology import EVERYWHERE, Listener, host_and_port, show_address
from ottla.errors import OttlaError

_NOT_HONOURED = {
    "remote.log.storage.system.enable": "there is no tiered storage, and what is in it would lack",
}
"""A node that took these for nothing would be less safe than its file says."""
_POLICIES = ("create.topic.policy.class.name", "alter.config.policy.class.name")
_CLASSES = frozenset(
    (
        "client.quota.callback.class",
        "principal.builder.class",
        "sasl.client.callback.handler.class",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
        "sasl.server.callback.handler.class",
        "security.providers",
        "ssl.engine.factory.class",
    )
)
"""Java classes that would decide who somebody is."""
_OAUTH = "org.apache.kafka.common.security.oauthbearer."
_BUILT_IN = {
    "sasl.server.callback.handler.class": (
        f"{_OAUTH}OAuthBearerValidatorCallbackHandler",
        f"{_OAUTH}secured.OAuthBearerValidatorCallbackHandler",
    ),
    "sasl.login.callback.handler.class": (
        f"{_OAUTH}OAuthBearerLoginCallbackHandler",
        f"{_OAUTH}secured.OAuthBearerLoginCallbackHandler",
    ),
}
"""Kafka's own, which need not be loaded: what they do is done here."""
DEFAULT_LISTEN = ("127.0.0.1", 9092)
SINGLE_NODE: Mapping[str, str] = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}
"""What a node on its own needs beyond Kafka's defaults, as in Kafka's own sample file."""

_PREFIXES = ("listener.name.", "rsm.config.", "rlmm.config.", "config.providers.")
_OF_THE_AUTHORIZER = ("super.users", "allow.everyone.if.no.acl.found")
"""Kafka's authorizer reads them; the broker itself does not know them."""
OUR_OWN = ("ottla.audit.file", "ottla.audit.topic", "ottla.require.encrypted.log.dirs")
"""Options that Kafka does not have, and does not mind: it warns of names that it does not know."""
_OPT_OUTS = tuple(f"sasl.oauthbearer.allow.unverified.{claim}" for claim in ("issuer", "audience"))
"""Options of Kafka that 4.3 does not have yet."""
_KNOWN_BESIDES = frozenset((*_OF_THE_AUTHORIZER, *OUR_OWN, *_OPT_OUTS))


class Loaded(NamedTuple):
    settings: Settings
    warnings: tuple[str, ...]


def load(
    path: Path | None = None,
    *,
    listen: tuple[str, int] | None = None,
    advertise: str | None = None,
    data: Path | None = None,
    assignments: Iterable[str] = (),
) -> Loaded:
    """The settings of a node: a file or the defaults of a single node, then the command line, where
    `--set` has the last word.

    `advertise` is the host that clients are told where the one to `listen` on cannot be reached.
    """
    overrides, more = _checked("--set", map(_assignment, assignments))
    if "listeners" in overrides:  # says more than `--listen` does
        listen = advertise = None
    warnings: list[str] = []
    if path is None:
        listen = listen or DEFAULT_LISTEN
        given = single_node(listen, data or user_data_directory())
        told = advertise or listen[0]
        if told not in EVERYWHERE and "listeners" not in overrides:
            given["advertised.listeners"] = str(Listener("PLAINTEXT", told, listen[1]))
    else:
        given, warnings = _checked(str(path), _resolved(read_properties(path)))
        if listen is not None:
            given |= _listening(given | overrides, listen, advertise)
        if data is not None:
            given["log.dirs"] = str(data)
    given |= overrides
    _name_the_node_twice(given)
    return Loaded(Settings(given), (*warnings, *more, *_without_effect(given)))


def _resolved(entries: list[PropertyEntry]) -> list[PropertyEntry]:
    """With what stands elsewhere; most files name no such place, and a start need not load how."""
    if not any(entry.name == "config.providers" for entry in entries):
        return entries
    from ottla.config.providers import resolve

    return resolve(entries)


def single_node(
    listen: tuple[str, int], data: Path, controller: tuple[str, int] = ("127.0.0.1", 0)
) -> dict[str, str]:
    """Options of a node that is broker and controller; controller port 0 means any free one."""
    return {
        **SINGLE_NODE,
        "listeners": f"{Listener('PLAINTEXT', *listen)},{Listener('CONTROLLER', *controller)}",
        "log.dirs": str(data),
    }


def user_data_directory() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "ottla"


def parse_listen(text: str) -> tuple[str, int]:
    """`HOST:PORT`, `:PORT` or `PORT`."""
    host, port = host_and_port("--listen", text if ":" in text else f"127.0.0.1:{text}")
    return host, port


def render_single_node(settings: Settings) -> str:
    """The file that goes into a directory Ottla formatted by itself, so that Kafka can take over.

    Ports must be settled by now: Kafka has to find the controller where the file says it is.
    """
    topology = settings.topology
    options = {
        name: value
        for name, value in settings.static.items()
        if name in BROKER_OPTIONS and name != "broker.id"
    }
    if not topology.voters and not topology.bootstrap_controllers:
        controller = topology.controller_listeners[0]
        host = "localhost" if controller.host in EVERYWHERE else controller.host
        options["controller.quorum.bootstrap.servers"] = show_address(host, controller.port)
    return render_properties(
        {
            name: value
            for name, value in options.items()
            if name in BROKER_OPTIONS and name != "broker.id"
        },
        about="Written when this directory was formatted; Apache Kafka accepts it as it is.",
    )


def _checked(origin: str, entries: Iterable[PropertyEntry]) -> tuple[dict[str, str], list[str]]:
    values: dict[str, str] = {}
    warnings: list[str] = []
    for name, value, number in entries:
        where = f"{origin}, line {number}: {name}" if number else f"{origin} {name}"
        option = BROKER_OPTIONS.get(name)
        _refuse_foreign_class(where, name, value)
        if option is None:
            if not name.startswith(_PREFIXES) and name not in _KNOWN_BESIDES:
                warnings.append(f"{where} is not an option and is ignored.")
        else:
            if name in _POLICIES and value.strip() and ":" not in value:
                raise OttlaError(
                    f"{where} cannot be honoured: policies in Java cannot be asked, and nothing "
                    "would be refused. Name a class in Python as module:Class."
                )
            try:
                if option.parse(value) and name in _NOT_HONOURED:
                    raise OttlaError(f"{where} cannot be honoured: {_NOT_HONOURED[name]}.")
            except ValueError as error:
                shown = "the value" if option.sensitive else repr(value)
                raise OttlaError(f"{where} cannot be {shown}: {error}.") from None
        values[name] = value
    return values, warnings


def _refuse_foreign_class(where: str, name: str, value: str) -> None:
    """For all listeners, or for one of them."""
    base = name
    if name.startswith("listener.name."):
        base = next((one for one in _CLASSES if name.endswith(f".{one}")), name)
    allowed = (
        ("", BROKER_OPTIONS[base].default, *_BUILT_IN.get(base, ())) if base in _CLASSES else ()
    )
    if base in _CLASSES and value.strip() not in allowed:
        raise OttlaError(f"{where} cannot be honoured: classes in Java cannot be loaded here.")


def _without_effect(given: Mapping[str, str]) -> list[str]:
    """One warning for all: whoever tuned them should know that it does not count here."""
    names = sorted(
        name
        for name, value in given.items()
        if (option := BROKER_OPTIONS.get(name)) is not None
        and option.ignored
        and option.parse(value) != option.read(option.default)
    )
    return [f"Options that have no effect here are set: {', '.join(names)}."] if names else []


def _name_the_node_twice(given: dict[str, str]) -> None:
    """`node.id` and its old name `broker.id` answer for each other, in DescribeConfigs too."""
    for name, other in (("node.id", "broker.id"), ("broker.id", "node.id")):
        if name in given:
            given.setdefault(other, given[name])


def _assignment(text: str) -> PropertyEntry:
    name, separator, value = text.partition("=")
    if not separator or not name.strip():
        raise OttlaError(f"--set {text!r}: write name=value.")
    return PropertyEntry(name.strip(), value.strip(), 0)


def _listening(
    given: Mapping[str, str], listen: tuple[str, int], advertise: str | None
) -> dict[str, str]:
    """`--listen` moves the clients' listener of a file and leaves the controllers' alone."""
    controllers = {name.strip() for name in given.get("controller.listener.names", "").split(",")}
    entries = [entry.strip() for entry in given.get("listeners", "").split(",") if entry.strip()]
    kept = [entry for entry in entries if entry.partition("://")[0] in controllers]
    names = [entry.partition("://")[0] for entry in entries if entry not in kept]
    host, port = listen
    name = names[0] if names else "PLAINTEXT"
    moved, told = Listener(name, host, port), Listener(name, advertise or host, port)
    return {"listeners": ",".join([str(moved), *kept]), "advertised.listeners": str(told)}
