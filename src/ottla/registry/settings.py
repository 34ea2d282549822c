"""The options of a registry, in Confluent's names, from its own properties file or without one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ottla.errors import OttlaError
from ottla.registry.levels import Level
from ottla.serving.options import (
    Option,
    Said,
    flag,
    items,
    number,
    one_of,
    read_options,
    said_in,
    text,
)

DEFAULT_PORT = 8081
_LEVELS = dict(Level.__members__)
_MANY = 2**31 - 1

TLS = (
    Option("ssl.keystore.location", text, None, "The key and certificate of https."),
    Option("ssl.keystore.password", text, None, "Of that file."),
    Option("ssl.keystore.type", text, "JKS", "JKS, PKCS12 or PEM."),
    Option("ssl.key.password", text, None, "Of the key itself."),
    Option("ssl.keystore.key", text, None, "The key as PEM, instead of a file."),
    Option("ssl.keystore.certificate.chain", text, None, "Its certificates as PEM."),
    Option("ssl.truststore.location", text, None, "Who signs for clients and other registries."),
    Option("ssl.truststore.password", text, None, "Of that file."),
    Option("ssl.truststore.type", text, "JKS", "JKS, PKCS12 or PEM."),
    Option("ssl.truststore.certificates", text, None, "The same as PEM, instead of a file."),
    Option(
        "ssl.client.authentication",
        one_of({"NONE": "none", "REQUESTED": "requested", "REQUIRED": "required"}),
        "none",
        "Whether clients must have a certificate.",
    ),
    Option("ssl.enabled.protocols", text, "TLSv1.2,TLSv1.3", "Versions of TLS."),
    Option("ssl.cipher.suites", text, "", "In Java's names; empty: all good ones."),
    Option(
        "ssl.endpoint.identification.algorithm",
        text,
        "https",
        "Whether other registries must have the name that they are asked by; empty: no.",
    ),
)

TABLE = (
    Option(
        "listeners",
        items,
        (),
        "Where it listens: http://HOST:PORT or https://…; commas between.",
    ),
    Option("host.name", text, None, "Its name for the other registries of the group."),
    Option("host.port", number(1), None, "Its port for the other registries of the group."),
    Option(
        "inter.instance.protocol",
        one_of({"HTTP": "http", "HTTPS": "https"}),
        None,
        "Of the listener that the other registries use; else that of the first.",
        aliases=("schema.registry.inter.instance.protocol",),
    ),
    Option(
        "schema.registry.group.id",
        text,
        "schema-registry",
        "The group in which one of several registries is elected.",
        aliases=("kafkastore.group.id",),
    ),
    Option("kafkastore.bootstrap.servers", text, None, "Brokers of the cluster."),
    Option("kafkastore.topic", text, "_schemas", "The topic that holds everything."),
    Option("kafkastore.topic.replication.factor", number(1), 3, "Of the topic, as it is created."),
    Option("kafkastore.timeout.ms", number(1), 5000, "How long a write may take."),
    Option("kafkastore.init.timeout.ms", number(1), 60_000, "How long the start may take."),
    Option("kafkagroup.session.timeout.ms", number(1), 10_000, "Without a heartbeat, it is gone."),
    Option("kafkagroup.rebalance.timeout.ms", number(1), 10_000, "To be counted anew."),
    Option("kafkagroup.heartbeat.interval.ms", number(1), 3000, "Between two heartbeats."),
    Option(
        "leader.eligibility",
        flag,
        True,
        "Whether it may lead.",
        aliases=("master.eligibility",),
    ),
    Option("leader.read.timeout.ms", number(1), 60_000, "How long the leader may take."),
    Option(
        "schema.compatibility.level",
        one_of(_LEVELS),
        Level.BACKWARD,
        "Where nothing else is set.",
        aliases=("avro.compatibility.level",),
    ),
    Option("mode.mutability", flag, True, "Whether modes may be changed."),
    Option("schema.reject.empty.subject", flag, False, "Refuse the empty subject."),
    Option(
        "size.limit.filter.max.request.body.size",
        number(1),
        1024 * 1024,
        "Bytes of a request's body; more is refused.",
    ),
    Option("size.limit.filter.enabled", flag, True, "The limit holds in any case."),
    Option("schema.search.default.limit", number(1), 1000, "Schemas in one answer."),
    Option("schema.search.max.limit", number(1), 1000, "The most that a client may ask for."),
    Option("subject.search.default.limit", number(1), _MANY, "Subjects in one answer."),
    Option("subject.search.max.limit", number(1), _MANY, "The most that a client may ask for."),
    Option("subject.version.search.default.limit", number(1), _MANY, "Versions in one answer."),
    Option("subject.version.search.max.limit", number(1), _MANY, "The most to be asked for."),
    Option("context.search.default.limit", number(1), _MANY, "Contexts in one answer."),
    Option("context.search.max.limit", number(1), _MANY, "The most that a client may ask for."),
    Option(
        "authentication.method",
        one_of({"NONE": "NONE", "BASIC": "BASIC"}),
        "NONE",
        "BASIC asks every client for a name and a password.",
    ),
    Option("authentication.realm", text, "SchemaRegistry", "What clients are asked to sign in to."),
    Option("authentication.roles", items, ("**",), "Who has one of them may ask; ** is anybody."),
    Option(
        "authentication.users",
        text,
        None,
        "The file of users, one in a line: name: password,role.",
    ),
    *TLS,
)


class Address(NamedTuple):
    scheme: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Settings:
    values: dict[str, Any]
    client: tuple[Said, ...]  # properties of the connection to Kafka
    addresses: tuple[Address, ...]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def seconds(self, name: str) -> float:
        return float(self.values[name]) / 1000

    def limit(self, what: str, asked: int) -> int:
        """How many of something one answer has."""
        if 0 < asked <= self.values[f"{what}.search.max.limit"]:
            return asked
        default: int = self.values[f"{what}.search.default.limit"]
        return default

    @property
    def asks_who(self) -> bool:
        """Whether clients must say who they are."""
        method: str = self.values["authentication.method"]
        certificates: str = self.values["ssl.client.authentication"]
        return method != "NONE" or certificates == "required"

    @property
    def tls(self) -> dict[str, str | None]:
        """In Kafka's names."""
        values = {one.name: self.values[one.name] for one in TLS}
        values["ssl.client.auth"] = values.pop("ssl.client.authentication")
        return values


def read_settings(file: Path | None = None, more: list[Said] | None = None) -> Settings:
    """`more` goes before the file."""
    said = [*said_in(file), *(more or [])]
    values, others = read_options(TABLE, said, passed_on=("kafkastore.",))
    listeners = values["listeners"] or (f"http://127.0.0.1:{DEFAULT_PORT}",)
    client = tuple(
        Said(one.name.removeprefix("kafkastore."), one.value, one.origin) for one in others
    )
    return Settings(values, client, tuple(_address(one) for one in listeners))


def _address(listener: str) -> Address:
    if "://" not in listener:
        listener = f"http://{listener}"
    try:
        found = urlsplit(listener)
        port = found.port
    except ValueError:
        raise OttlaError(
            f"listeners: {listener} is no address like http://127.0.0.1:8081."
        ) from None
    if found.scheme not in ("http", "https"):
        raise OttlaError(f"listeners: {listener}: http or https is expected.")
    return Address(
        found.scheme, found.hostname or "0.0.0.0", DEFAULT_PORT if port is None else port
    )
