"""How a cluster is reached: its address and client properties, and the clients made of them.

One `Connection` makes every client of a cluster: librdkafka's three, the wire client, and the
properties of Spark's, so all of them go to the same place in the same way. librdkafka judges the
properties; what it refuses is told with the file and line that it came from.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ottla.client import kerberos_properties as kerberos
from ottla.client.properties import CONFIG_VARIABLE, Property, to_java, to_librdkafka
from ottla.client.wire_client import WireClient
from ottla.config.properties import read_properties
from ottla.errors import OttlaError
from ottla.ports.network import Network, TcpNetwork

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaException, Producer
    from confluent_kafka.admin import AdminClient

C = TypeVar("C")

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
BOOTSTRAP_VARIABLE = "OTTLA_BOOTSTRAP"
DEFAULTS: Mapping[str, Any] = {
    "client.id": "ottla",
    "log_level": 0,  # what goes wrong is told once, in a sentence
    "socket.connection.setup.timeout.ms": 5000,
}
_ADDRESSES = ("bootstrap.servers", "metadata.broker.list")
_SECURITY = ("security.", "sasl.", "ssl.", "enable.ssl.")
_WITHOUT_KERBEROS = "No provider for SASL mechanism GSSAPI"
_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Connection:
    """`options` of the builders give way to the properties; `fixed` ones do not."""

    bootstrap: str = DEFAULT_BOOTSTRAP
    properties: tuple[Property, ...] = ()

    def producer(
        self, options: Mapping[str, Any] = _NOTHING, *, fixed: Mapping[str, Any] = _NOTHING
    ) -> "Producer":
        from confluent_kafka import Producer

        return self._made(Producer, options, fixed)

    def consumer(
        self, options: Mapping[str, Any] = _NOTHING, *, fixed: Mapping[str, Any] = _NOTHING
    ) -> "Consumer":
        from confluent_kafka import Consumer

        return self._made(Consumer, options, fixed)

    def admin(self, options: Mapping[str, Any] = _NOTHING) -> "AdminClient":
        """Hold on to it: one that is let go never answers."""
        from confluent_kafka.admin import AdminClient

        return self._made(AdminClient, options, _NOTHING)

    def wire(self) -> WireClient:
        """OttlaError for a property that says how to connect and that it cannot honour."""
        kept = self.librdkafka()
        if kept.get("broker.address.family", "ANY").upper() != "ANY":
            name = "broker.address.family"
            raise OttlaError(f"{self._said(name)}{name} cannot be honoured by what is asked here.")
        client_id = kept.get("client.id", DEFAULTS["client.id"])
        return WireClient(self.bootstrap, client_id=client_id, network=self._network(kept))

    def _network(self, kept: Mapping[str, str]) -> Network:
        if kept.get("security.protocol", "PLAINTEXT").upper() == "PLAINTEXT":
            return TcpNetwork()
        from ottla.security.client_links import client_network

        return client_network(kept, to_java(kept, _pem))

    def librdkafka(self) -> dict[str, str]:
        """The properties in librdkafka's names, without the address."""
        kept = to_librdkafka(self.properties)
        return {name: value for name, value in kept.items() if name not in _ADDRESSES}

    def java(self, options: Mapping[str, str] = _NOTHING) -> dict[str, str]:
        """Address and properties in Java's names, for Spark's clients; `options` give way."""
        return {
            "bootstrap.servers": self.bootstrap,
            **options,
            **to_java(self.librdkafka(), _pem),
        }

    def override(self, bootstrap: str | None, said: Iterable[Property]) -> "Connection":
        """This one, but for what was said elsewhere."""
        more = tuple(said)
        address = bootstrap or _address(more) or self.bootstrap
        return Connection(address, (*self.properties, *more)).check()

    def elsewhere(self, bootstrap: str, said: Iterable[Property] = ()) -> "Connection":
        """The same clients at another cluster, which has its own ways to know and be known."""
        kept = (one for one in self.properties if not one.name.startswith(_SECURITY))
        return Connection(bootstrap, (*kept, *said)).check()

    def check(self) -> "Connection":
        """Itself, once librdkafka has taken its properties; connects to nobody."""
        from confluent_kafka import Producer

        if self.properties:
            kept = self.librdkafka()
            if kerberos.is_meant(kept):
                kept = kept | {"security.protocol": "PLAINTEXT"}  # said when it is needed
            self._judged(Producer, {**DEFAULTS, **kept})
        return self

    def of_librdkafka(self) -> "Connection":
        """Itself, if librdkafka can do all it says: services learn that at their start."""
        from confluent_kafka import Producer

        self._judged(Producer, {**DEFAULTS, **self.librdkafka()})
        return self

    def _made(
        self, make: Callable[[Any], C], options: Mapping[str, Any], fixed: Mapping[str, Any]
    ) -> C:
        address = {"bootstrap.servers": self.bootstrap}
        return self._judged(make, {**DEFAULTS, **options, **self.librdkafka(), **fixed, **address})

    def _judged(self, make: Callable[[Any], C], settings: dict[str, Any]) -> C:
        from confluent_kafka import KafkaException

        try:
            return make(settings)
        except KafkaException as error:
            if _WITHOUT_KERBEROS in str(error):
                raise OttlaError(
                    f"{self._said('security.protocol')}librdkafka, as pip brings it, is built "
                    "without GSSAPI: it does not speak Kerberos. Commands that go "
                    "over the wire do: ottla user, acl, quota, tenant, token and cluster."
                ) from None
            raise OttlaError(self._refused(error)) from None

    def _refused(self, error: "KafkaException") -> str:
        """librdkafka's reason, after the place where the property that it names was said."""
        told: str = error.args[0].str()
        reason = re.sub(r"^Failed to create \w+: ", "", told).rstrip(".")
        if reason.startswith("No such configuration property"):
            name = reason.partition('"')[2].rstrip('"')
            return f"{self._said(name)}{name} is no property of Kafka's clients."
        named = [one.name for one in self.properties if one.name in reason]
        named += [name for name in self.librdkafka() if name in reason]
        named += [one.name for one in self.properties if self._is_refused(one)]
        return f"{self._said(named[0]) if named else ''}{reason}."

    def _is_refused(self, one: Property) -> bool:
        """By itself: librdkafka names some properties otherwise than those who say them."""
        from confluent_kafka import KafkaException, Producer

        try:
            Producer({**DEFAULTS, **to_librdkafka(_with_kinds(one, self.properties))})
        except KafkaException:
            return True
        return False

    def _said(self, name: str) -> str:
        """Where a property was said, in whichever names."""
        for one in reversed(self.properties):
            if name == one.name or name in to_librdkafka(_with_kinds(one, self.properties)):
                return f"{one.origin}: "
        return ""


def _with_kinds(one: Property, among: Iterable[Property]) -> list[Property]:
    """What a store's location means depends on its type."""
    return [*(other for other in among if other.name.endswith(".type")), one]


def read_connection(
    bootstrap: str | None = None,
    *,
    file: str | os.PathLike[str] | None = None,
    options: Iterable[Property] = (),
    environ: Mapping[str, str] = os.environ,
) -> Connection:
    """What was said, then what the environment says; OttlaError for what no client understands.

    `options` go before the file. A file that was named replaces the environment's, and the address
    in it goes before the environment's: who names a file means the cluster in it.
    """
    said = [*properties_in(file), *options]
    general = properties_in(environ.get(CONFIG_VARIABLE) or None) if file is None else []
    address = (
        bootstrap
        or _address(said)
        or environ.get(BOOTSTRAP_VARIABLE)
        or _address(general)
        or DEFAULT_BOOTSTRAP
    )
    return Connection(address, (*general, *said)).check()


ClientProperties = Mapping[str, str] | str | os.PathLike[str]
"""Properties themselves, or the file that has them."""


def given_connection(bootstrap: str | None, client: ClientProperties, origin: str) -> Connection:
    """As Python code says it; `origin` is the line of that code."""
    if isinstance(client, Mapping):
        return read_connection(bootstrap, options=properties_of(client, origin))
    return read_connection(bootstrap, file=client)


def given_properties(client: ClientProperties, origin: str) -> list[Property]:
    return properties_of(client, origin) if isinstance(client, Mapping) else properties_in(client)


def properties_of(pairs: Mapping[str, object], origin: str) -> list[Property]:
    return [Property(name, _text(value), origin) for name, value in pairs.items()]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def properties_in(file: str | os.PathLike[str] | None) -> list[Property]:
    """Of a file as Java's clients read it; none of no file."""
    if file is None:
        return []
    return [
        Property(entry.name, entry.value, f"{os.fspath(file)}, line {entry.line}")
        for entry in read_properties(Path(file))
    ]


def _address(said: Iterable[Property]) -> str | None:
    named = [one.value for one in said if one.name in _ADDRESSES]
    return named[-1] if named else None


def _pem(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError as error:
        raise OttlaError(f"{path} cannot be read: {error.strerror}.") from None
