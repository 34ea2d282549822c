"""The options of a worker, in Connect's names: its distributed file, its standalone one, or none.

Names that Connect does not know are passed over with a warning, as Connect does: they may be for a
plugin, or for a client. What is for Kafka's clients stands in the same file, plain or after
`producer.`, `consumer.` or `admin.`.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ottla.client.connection import Connection, read_connection
from ottla.client.properties import JAVA_ALONE, Property
from ottla.errors import OttlaError
from ottla.serving.options import Option, Said, flag, items, number, one_of, said_in, text

DEFAULT_PORT = 8083
CLIENTS = ("producer.", "consumer.", "admin.")
_JSON = "org.apache.kafka.connect.json.JsonConverter"
_SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
_log = logging.getLogger(__name__)


def _replicas(value: str) -> int:
    found: int = number(-1)(value)
    if found == 0:
        raise ValueError("at least 1 is expected, or -1 for the brokers' default")
    return found


TABLE = (
    Option("bootstrap.servers", text, None, "Brokers of the cluster."),
    Option("group.id", text, "connect-cluster", "The workers that share these topics."),
    Option("config.storage.topic", text, "connect-configs", "Holds what was asked for."),
    Option("config.storage.replication.factor", _replicas, 3, "As it is created."),
    Option("offset.storage.topic", text, "connect-offsets", "Holds what sources have read."),
    Option("offset.storage.partitions", number(1), 25, "As it is created."),
    Option("offset.storage.replication.factor", _replicas, 3, "As it is created."),
    Option("status.storage.topic", text, "connect-status", "Holds how everything is."),
    Option("status.storage.partitions", number(1), 5, "As it is created."),
    Option("status.storage.replication.factor", _replicas, 3, "As it is created."),
    Option(
        "offset.storage.file.filename", text, None, "Of a standalone file; offsets are in Kafka."
    ),
    Option("key.converter", text, _JSON, "Where a connector names no other."),
    Option("value.converter", text, _JSON, "Where a connector names no other."),
    Option("header.converter", text, _SIMPLE, "Where a connector names no other."),
    Option("listeners", items, (), "Where it listens: http://HOST:PORT or https://…."),
    Option(
        "admin.listeners", items, None, "Where /admin is; empty: nowhere; unsaid: with the rest."
    ),
    Option("rest.advertised.host.name", text, None, "Its name for the other workers."),
    Option("rest.advertised.port", number(1), None, "Its port for the other workers."),
    Option(
        "rest.advertised.listener",
        one_of({"HTTP": "http", "HTTPS": "https"}),
        None,
        "Of the listener that the other workers use.",
    ),
    Option("session.timeout.ms", number(1), 10_000, "Without a heartbeat, a worker is gone."),
    Option("heartbeat.interval.ms", number(1), 3000, "Between two heartbeats."),
    Option("rebalance.timeout.ms", number(1), 60_000, "To be counted anew."),
    Option("offset.flush.interval.ms", number(1), 60_000, "Offsets are written with the records."),
    Option("offset.flush.timeout.ms", number(1), 5000, "Offsets are written with the records."),
    Option("plugin.path", items, (), "Folders with drivers of databases."),
    Option("config.providers", items, (), "Where ${…} in a connector's configuration comes from."),
    Option(
        "connector.client.config.override.policy",
        text,
        "All",
        "What connectors may say to Kafka's clients: All, None, Principal.",
    ),
    Option(
        "exactly.once.source.support",
        one_of({"DISABLED": "disabled", "PREPARING": "preparing", "ENABLED": "enabled"}),
        "disabled",
        "Sources are exactly once in any case.",
    ),
    Option("topic.creation.enable", flag, True, "Whether sources may create topics."),
    Option("topic.tracking.enable", flag, True, "Whether used topics are written down."),
    Option("topic.tracking.allow.reset", flag, True, "Whether they may be forgotten."),
    Option("authentication.users", text, None, "A file of those who may ask: name: password."),
    Option("ssl.client.authentication", text, "none", "Whether clients need a certificate."),
)

_WITHOUT_MEANING = frozenset(
    [
        "access.control.allow.methods",
        "access.control.allow.origin",
        "connect.protocol",
        "connections.max.idle.ms",
        "inter.worker.key.generation.algorithm",
        "inter.worker.key.size",
        "inter.worker.key.ttl.ms",
        "inter.worker.signature.algorithm",
        "inter.worker.verification.algorithms",
        "internal.key.converter",
        "internal.value.converter",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "plugin.discovery",
        "response.http.headers.config",
        "rest.extension.classes",
        "scheduled.rebalance.max.delay.ms",
        "task.shutdown.graceful.timeout.ms",
        "worker.sync.timeout.ms",
        "worker.unsync.backoff.ms",
    ]
)
"""Connect's own names that change nothing here."""

_OF_CONNECTION = (
    *("security.protocol", "sasl.", "ssl.", "client.", "metadata.", "reconnect.", "retry."),
    *("request.timeout.ms", "send.buffer.bytes", "receive.buffer.bytes", "socket."),
)
_OF_WORKER = ("config.providers.", "listeners.https.", "admin.listeners.https.", "topic.creation.")
_STORAGE = ("config.storage.", "offset.storage.", "status.storage.")
_CONVERTERS = ("key.converter.", "value.converter.", "header.converter.")


class Address(NamedTuple):
    scheme: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Settings:
    values: Mapping[str, Any]
    said: Mapping[str, str]  # as the file has it
    origins: Mapping[str, str]
    addresses: tuple[Address, ...]
    admin: tuple[Address, ...] | None  # None: with the rest

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def seconds(self, name: str) -> float:
        return float(self.values[name]) / 1000

    def below(self, prefix: str) -> dict[str, str]:
        """What was said after the prefix."""
        return {
            name.removeprefix(prefix): value
            for name, value in self.said.items()
            if name.startswith(prefix)
        }

    @property
    def for_runs(self) -> dict[str, str]:
        """What runs are told of the worker: its file, with the defaults of what they need."""
        defaults = {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name in ("key.converter", "value.converter", "header.converter")
            for value in (self.values[name],)
        }
        return {**defaults, **self.said}

    def topic_settings(self, storage: str) -> dict[str, str]:
        """Of a topic as it is created: what stands after `config.storage.` and is no option."""
        known = {one.name for one in TABLE}
        return {
            name: value
            for name, value in self.below(f"{storage}.storage.").items()
            if f"{storage}.storage.{name}" not in known
        }

    @property
    def tls(self) -> dict[str, str | None]:
        """Of https: what stands after `listeners.https.`, else plain."""
        own = {name: value for name, value in self.said.items() if name.startswith("ssl.")}
        of_listeners = self.below("listeners.https.")
        found: dict[str, str | None] = {**own, **of_listeners}
        found["ssl.client.auth"] = (
            found.pop("ssl.client.authentication", None) or found.get("ssl.client.auth") or "none"
        )
        return found

    def connection(self) -> Connection:
        """To Kafka, as the worker itself needs it."""
        said = [
            Property(name, value, self.origins[name])
            for name, value in self.said.items()
            if name.startswith(_OF_CONNECTION)
            and name not in JAVA_ALONE
            and name != "ssl.client.authentication"
        ]
        return read_connection(self.values["bootstrap.servers"], options=said).of_librdkafka()


def read_settings(file: Path | None = None, more: Sequence[Said] = ()) -> Settings:
    """`more` goes before the file. OttlaError for a value that cannot be."""
    said = [*said_in(file), *more]
    known = {one.name: one for one in TABLE}
    values: dict[str, Any] = {one.name: one.default for one in TABLE}
    for one in said:
        option = known.get(one.name)
        if option is not None:
            values[one.name] = _parsed(option, one)
        elif not _is_known(one.name):
            _log.warning("%s: %s is no option of a worker; it is passed over", one.origin, one.name)
    admin = values["admin.listeners"]
    return Settings(
        values,
        {one.name: one.value for one in said},
        {one.name: one.origin for one in said},
        tuple(
            _address(one) for one in values["listeners"] or (f"http://127.0.0.1:{DEFAULT_PORT}",)
        ),
        None if admin is None else tuple(_address(one) for one in admin),
    )


def _parsed(option: Option, said: Said) -> Any:
    try:
        return option.parse(said.value.strip())
    except ValueError as error:
        raise OttlaError(f"{said.origin}: {said.name}={said.value}: {error}.") from None


def _is_known(name: str) -> bool:
    return name in _WITHOUT_MEANING or name.startswith(
        (*_OF_CONNECTION, *_OF_WORKER, *_STORAGE, *_CONVERTERS, *CLIENTS)
    )


def _address(listener: str) -> Address:
    if "://" not in listener:
        listener = f"http://{listener}"
    try:
        found = urlsplit(listener)
        port = found.port
    except ValueError:
        raise OttlaError(
            f"listeners: {listener} is no address like http://127.0.0.1:{DEFAULT_PORT}."
        ) from None
    scheme = found.scheme.lower()
    if scheme not in ("http", "https"):
        raise OttlaError(f"listeners: {listener}: http or https is expected.")
    return Address(scheme, found.hostname or "0.0.0.0", DEFAULT_PORT if port is None else port)
