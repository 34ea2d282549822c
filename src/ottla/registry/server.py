"""One registry, from its settings to its end."""

import asyncio
import contextlib
import gc
import logging
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from ottla.client.connection import Connection, read_connection
from ottla.client.properties import Property
from ottla.errors import OttlaError
from ottla.ports.network import own_name
from ottla.registry.leadership import PROTOCOL, PROTOCOL_TYPE, Identity, RegistryLeadership
from ottla.registry.protection import Protection
from ottla.registry.rest.application import Routes
from ottla.registry.service import Memory, Service
from ottla.registry.settings import Address, Settings
from ottla.serving.election import Election, Group
from ottla.serving.http import listen, serving
from ottla.serving.topic import StateTopic
from ottla.serving.topic_state import TopicState

_log = logging.getLogger(__name__)
_ANY_HOST = ("0.0.0.0", "::", "")


@dataclass(frozen=True, slots=True)
class Running:
    service: Service
    urls: tuple[str, ...]


def connection_of(settings: Settings) -> Connection:
    """Confluent's registry writes the protocol before each address."""
    said = [Property(one.name, one.value, one.origin) for one in settings.client]
    places = (settings["kafkastore.bootstrap.servers"] or "").split(",")
    for place in places:
        protocol = place.partition("://")[0] if "://" in place else "PLAINTEXT"
        if protocol != "PLAINTEXT":
            said.append(Property("security.protocol", protocol, "kafkastore.bootstrap.servers"))
    bootstrap = ",".join(one.partition("://")[2] or one for one in places)
    return read_connection(bootstrap or None, options=said).of_librdkafka()


@contextlib.asynccontextmanager
async def running(settings: Settings, connection: Connection) -> AsyncIterator[Running]:
    """Serves when the block begins; has left the group and answered everybody when it ends."""
    with contextlib.ExitStack() as sockets:
        protection = Protection(settings)
        listeners = [
            sockets.enter_context(listen(one.host, one.port)) for one in settings.addresses
        ]
        addresses = [
            one._replace(port=listener.getsockname()[1])
            for one, listener in zip(settings.addresses, listeners, strict=True)
        ]
        memory = Memory(settings["schema.compatibility.level"].value)
        topic = TopicState(
            connection,
            StateTopic(
                settings["kafkastore.topic"],
                replicas=settings["kafkastore.topic.replication.factor"],
            ),
            memory.apply,
            memory.reset,
            timeout_s=settings.seconds("kafkastore.timeout.ms"),
            init_timeout_s=settings.seconds("kafkastore.init.timeout.ms"),
        )
        async with topic:
            gc.freeze()  # what a start has made, and what was loaded, stays
            gc.enable()
            leadership = RegistryLeadership(topic, _identity(settings, addresses))
            service = Service(settings, memory, topic, leadership)
            application = Routes(service, protection.towards_leader()).application(protection.users)
            plain, encrypted = (
                [at for at, one in zip(listeners, addresses, strict=True) if one.scheme == scheme]
                for scheme in ("http", "https")
            )
            async with (
                serving(application, plain),
                serving(application, encrypted, protection.of_listeners()),
                Election(connection, _group(settings), leadership),
            ):
                urls = tuple(f"{one.scheme}://{_shown(one.host)}:{one.port}" for one in addresses)
                yield Running(service, urls)


def _identity(settings: Settings, addresses: Sequence[Address]) -> Identity:
    scheme = settings["inter.instance.protocol"] or addresses[0].scheme
    of_scheme = [one for one in addresses if one.scheme == scheme]
    if not of_scheme:
        raise OttlaError(f"inter.instance.protocol={scheme}: no listener has it.")
    host = own_name() if of_scheme[0].host in _ANY_HOST else of_scheme[0].host
    return Identity(
        settings["host.name"] or host,
        settings["host.port"] or of_scheme[0].port,
        settings["leader.eligibility"],
        scheme,
    )


def _group(settings: Settings) -> Group:
    return Group(
        settings["schema.registry.group.id"],
        PROTOCOL_TYPE,
        PROTOCOL,
        session_s=settings.seconds("kafkagroup.session.timeout.ms"),
        rebalance_s=settings.seconds("kafkagroup.rebalance.timeout.ms"),
        heartbeat_s=settings.seconds("kafkagroup.heartbeat.interval.ms"),
    )


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


async def serve_until_stopped(settings: Settings, say: Callable[[str], None]) -> None:
    """SIGTERM and SIGINT stop it."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    connection = connection_of(settings)
    async with running(settings, connection) as registry:
        topic = settings["kafkastore.topic"]
        say(
            f"Schema registry at {', '.join(registry.urls)}, "
            f"kept in topic {topic} at {connection.bootstrap}."
        )
        for url in registry.urls:
            if not _is_loopback(url) and not settings.asks_who:
                _log.warning("%s is open to whoever reaches it: no authentication", url)
            elif not _is_loopback(url) and url.startswith("http:"):
                _log.warning("%s: passwords and schemas pass without encryption", url)
        await stop.wait()
