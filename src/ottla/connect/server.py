"""One worker, from its settings to its end."""

import asyncio
import contextlib
import gc
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ottla.config.properties import read_properties
from ottla.connect import records
from ottla.connect.leadership import PROTOCOL, PROTOCOL_TYPE, WorkerLeadership
from ottla.connect.protection import Protection
from ottla.connect.rest.application import Routes
from ottla.connect.rest.validating import Validating
from ottla.connect.runs.run import Runner
from ottla.connect.settings import Address, Settings
from ottla.connect.worker import Worker
from ottla.errors import ErrorCode, OttlaError
from ottla.ports.network import own_name
from ottla.serving.election import Election, Group
from ottla.serving.errors import RestError
from ottla.serving.http import Application, listen, serving

_log = logging.getLogger(__name__)
_ANY_HOST = ("0.0.0.0", "::", "")
_MARGIN_S = 2.0  # for the coordinator to notice that a session is over


@dataclass(frozen=True, slots=True)
class Running:
    worker: Worker
    urls: tuple[str, ...]
    ended: "asyncio.Future[str]"  # with a sentence, when it cannot go on


@contextlib.asynccontextmanager
async def running(
    settings: Settings, runner: Runner, *, soon: bool = False
) -> AsyncIterator[Running]:
    """Serves when the block begins; runs have ended, and the group is left, when it ends.

    `soon`: there will be connectors, even if there are none yet.
    """
    connection = settings.connection()
    protection = Protection(settings)
    with contextlib.ExitStack() as sockets:
        listeners = [
            sockets.enter_context(listen(one.host, one.port)) for one in settings.addresses
        ]
        admin = [sockets.enter_context(listen(one.host, one.port)) for one in settings.admin or ()]
        addresses = [
            one._replace(port=listener.getsockname()[1])
            for one, listener in zip(settings.addresses, listeners, strict=True)
        ]
        own = _advertised(settings, addresses)
        ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        worker = Worker(settings, connection, runner, f"{own.host}:{own.port}")
        leadership = WorkerLeadership(
            settings["config.storage.topic"],
            f"{own.scheme}://{_shown(own.host)}:{own.port}",
            worker,
            settings.seconds("session.timeout.ms"),
            lambda why: _refused(settings, why, leadership, ended),
        )
        worker.leadership = leadership
        worker.generation = lambda: leadership.generation
        async with worker.store, _prepared(worker, soon):
            collect()
            routes = Routes(worker, leadership, protection.towards_leader)
            application = routes.application(protection.users, admin=settings.admin is None)
            only_admin = routes.admin_application(protection.users)
            async with (
                _served(application, listeners, addresses, protection),
                _served(only_admin, admin, settings.admin or (), protection),
                Election(connection, _group(settings), leadership),
            ):
                urls = tuple(f"{one.scheme}://{_shown(one.host)}:{one.port}" for one in addresses)
                try:
                    yield Running(worker, urls, ended)
                finally:
                    await worker.stop()


def collect() -> None:
    """As often as Python does by itself: py4j's objects are cycles, and until they are collected
    Spark's JVM keeps what they stand for, which is every plan of every job."""
    gc.freeze()  # what a start has made, and what was loaded, stays
    gc.enable()


@contextlib.asynccontextmanager
async def _prepared(worker: Worker, soon: bool) -> AsyncIterator[None]:
    """Where there are connectors, what they run on starts while the group is joined; so whoever
    follows can take over at once."""
    if soon or any(map(worker.state.is_started, worker.state.configs.connectors)):
        worker.prepare()
    try:
        yield
    finally:
        await worker.prepared()


@contextlib.asynccontextmanager
async def _served(
    application: Application,
    listeners: Sequence[socket.socket],
    addresses: Sequence[Address],
    by: Protection,
) -> AsyncIterator[None]:
    plain, encrypted = (
        [at for at, one in zip(listeners, addresses, strict=True) if one.scheme == scheme]
        for scheme in ("http", "https")
    )
    async with (
        serving(application, plain),
        serving(application, encrypted, by.of_listeners),
    ):
        yield


def _refused(
    settings: Settings, why: ErrorCode, leadership: WorkerLeadership, ended: "asyncio.Future[str]"
) -> None:
    """A worker of Connect that died is a member until its session ends: so long it is waited."""
    group = settings["group.id"]
    if why is not ErrorCode.INCONSISTENT_GROUP_PROTOCOL:
        _end(ended, f"Group {group} does not let this worker in: {why.name}.")
        return
    wait_s = settings.seconds("session.timeout.ms") + _MARGIN_S
    _log.warning(
        "group %s has members of another kind, as a worker of Kafka Connect is: waiting %g s for "
        "the end of its session",
        group,
        wait_s,
    )
    sentence = (
        f"Group {group} is in use by workers of Kafka Connect: stop them first, or name another "
        "group.id with topics of its own."
    )

    def still_refused() -> None:
        if not leadership.joined.is_set():
            _end(ended, sentence)

    leadership.joined.clear()
    asyncio.get_running_loop().call_later(wait_s, still_refused)


def _end(ended: "asyncio.Future[str]", sentence: str) -> None:
    if not ended.done():
        ended.set_result(sentence)


def _advertised(settings: Settings, addresses: Sequence[Address]) -> Address:
    scheme = settings["rest.advertised.listener"] or addresses[0].scheme
    of_scheme = [one for one in addresses if one.scheme == scheme]
    if not of_scheme:
        raise OttlaError(f"rest.advertised.listener={scheme}: no listener has it.")
    host = own_name() if of_scheme[0].host in _ANY_HOST else of_scheme[0].host
    return Address(
        scheme,
        settings["rest.advertised.host.name"] or host,
        settings["rest.advertised.port"] or of_scheme[0].port,
    )


def _group(settings: Settings) -> Group:
    return Group(
        settings["group.id"],
        PROTOCOL_TYPE,
        PROTOCOL,
        session_s=settings.seconds("session.timeout.ms"),
        rebalance_s=settings.seconds("rebalance.timeout.ms"),
        heartbeat_s=settings.seconds("heartbeat.interval.ms"),
    )


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


async def serve_until_stopped(
    settings: Settings,
    runner: Runner,
    connectors: Sequence[Path],
    say: Callable[[str], None],
) -> None:
    """SIGTERM and SIGINT stop it. OttlaError with the sentence when it cannot go on."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    configs = [read_connector(file) for file in connectors]
    async with running(settings, runner, soon=bool(configs)) as connect:
        topic = settings["config.storage.topic"]
        said = settings.connection().bootstrap
        say(f"Connect at {', '.join(connect.urls)}, kept in topic {topic} at {said}.")
        for url in connect.urls:
            if not _is_loopback(url) and settings["authentication.users"] is None:
                _log.warning("%s is open to whoever reaches it: no authentication", url)
        await _until(connect, stop, _begun_with(connect.worker, configs))
        if connect.ended.done():
            raise OttlaError(connect.ended.result())


async def _until(connect: Running, stop: asyncio.Event, first: Coroutine[Any, Any, None]) -> None:
    """Until it is stopped, or cannot go on; what is done `first` may fail."""
    stopping = asyncio.create_task(stop.wait())
    beginning = asyncio.create_task(first)
    try:
        ends: set[asyncio.Future[Any]] = {stopping, connect.ended}
        await asyncio.wait({*ends, beginning}, return_when=asyncio.FIRST_COMPLETED)
        if beginning.done():
            beginning.result()
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        beginning.cancel()


def read_connector(file: Path) -> dict[str, str]:
    """A connector's own file, JSON or properties; OttlaError where it has no name."""
    try:
        if file.suffix == ".json":
            found = msgspec.json.decode(file.read_bytes())
            config = found.get("config", found) if isinstance(found, Mapping) else {}
            if isinstance(found, Mapping) and "config" in found and "name" in found:
                config = {"name": found["name"], **config}
            said = {str(name): str(value) for name, value in config.items()}
        else:
            said = {entry.name: entry.value for entry in read_properties(file)}
    except (OSError, ValueError) as error:
        raise OttlaError(f"{file} cannot be read: {error}.") from None
    if not said.get("name"):
        raise OttlaError(f"{file} says no name=….")
    return said


async def _begun_with(worker: Worker, configs: Sequence[Mapping[str, str]]) -> None:
    """The connectors that were named on the command line, as soon as somebody leads."""
    if not configs:
        return
    assert worker.leadership is not None
    while await worker.leadership.settled(60.0) is None:
        continue
    if not worker.leadership.leads:
        _log.warning("another worker leads: the connector files are left to it")
        return
    validating = Validating(worker)
    for config in configs:
        try:
            await validating.check(config)
        except RestError as error:
            raise OttlaError(f"{config['name']}: {error}") from None
        if worker.state.config(config["name"]) != config:
            await worker.write_configs([records.connector(config["name"], config)])
