"""The listeners of a node: sockets opened and closed, connections counted and swept.

What is said on a connection is `broker.transport.connection`'s affair.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from ottla.broker.api import Listeners
from ottla.broker.transport.addresses import Addresses, addresses_of
from ottla.broker.transport.connection import Connection, UnreadReplies
from ottla.broker.transport.context import Peer
from ottla.broker.transport.request_memory import STRANGERS_BYTES_MAX, RequestMemory, room_for
from ottla.config import Settings
from ottla.errors import OttlaError
from ottla.ports.rare_log import RareLog
from ottla.security.connection_rates import (
    UNLIMITED,
    Admission,
    ConnectionRates,
)
from ottla.security.rates import SampleWindow
from ottla.wire.framing import FrameAssembler

if TYPE_CHECKING:
    from ssl import SSLContext

    from ottla.broker.dispatch import Dispatcher
    from ottla.broker.transport.authentication import Authentication
    from ottla.broker.transport.handshakes import TlsDoor

log = logging.getLogger(__name__)

SCRATCH_BYTES = 256 * 1024
SWEEP_S = 5.0
BACKLOG = 1024
AUTHENTICATION_S_MAX = 10.0
HELD_S_MAX = 30.0
"""Clients give up before: whoever would be held longer by a rate of connections is refused."""
CREATION_RATE = "max.connection.creation.rate"

EVERY_FAMILY = ("", "::")
"""All interfaces, of IPv4 as well: so it is in Java, where `::` is not for IPv6 alone."""


class SharedByListeners(Struct, frozen=True, eq=False, kw_only=True):
    """What the listeners of one node have in common: its memory, its patience, its counts."""

    now: Callable[[], float]
    settings: Callable[[], Settings]  # those in force
    request_memory: RequestMemory
    strangers_memory: RequestMemory  # before it is known who they are
    unread_replies: UnreadReplies
    addresses: Addresses
    connection_rates: ConnectionRates

    @classmethod
    def of(cls, settings: Callable[[], Settings], now: Callable[[], float]) -> "SharedByListeners":
        room = room_for(settings().int("queued.max.request.bytes"))
        window = SampleWindow(
            settings().int("quota.window.num"), settings().int("quota.window.size.seconds")
        )
        return cls(
            now=now,
            settings=settings,
            request_memory=RequestMemory(room, now),
            strangers_memory=RequestMemory(STRANGERS_BYTES_MAX, now),
            unread_replies=UnreadReplies(now),
            addresses=Addresses(),
            connection_rates=ConnectionRates(window, addresses_of),
        )


class Server:
    """One listener."""

    def __init__(self, shared: SharedByListeners, name: str, kind: Listeners) -> None:
        settings = shared.settings()
        self._shared = shared
        self.name = name
        self.kind = kind
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))
        self._frame_bytes_max = settings.int("socket.request.max.bytes")
        self._idle_s_max = settings.int("connections.max.idle.ms") / 1000
        self._connections_max = settings.int("max.connections")
        self._connections: set[Connection] = set()
        self._server: asyncio.Server | None = None
        self._door: TlsDoor | None = None  # in its place, behind TLS
        self._sweeper: asyncio.TimerHandle | None = None
        self._complain = partial(RareLog(log, shared.now).warn, "TLS")

    async def bind(self, host: str, port: int, tls: "SSLContext | None" = None) -> int:
        """Take the port; the system chooses one for 0. Nobody is answered before `serve`."""
        try:
            return await self._bind(None if host in EVERY_FAMILY else host, port, tls)
        except OSError as error:
            raise OttlaError(
                f"Listener {self.name} cannot use {host}:{port}: {error.strerror or error}. "
                "Is another broker running? Choose another port with --listen."
            ) from None

    async def _bind(self, host: str | None, port: int, tls: "SSLContext | None") -> int:
        if tls is not None:
            from ottla.broker.transport.handshakes import TlsDoor

            self._door = TlsDoor(self._accept, tls, self._may_come, self._shared.now)
            return await self._door.bind(host, port)
        self._server = await asyncio.get_running_loop().create_server(
            self._accept, host, port, backlog=BACKLOG, reuse_address=True, start_serving=False
        )
        return int(self._server.sockets[0].getsockname()[1])

    def _may_come(self, host: str, unfinished: int, unfinished_of_host: int) -> Admission | None:
        """Before its handshake: held or refused as it would be after it, but for less."""
        admission = self._admission(host)
        if admission.wait_ms / 1000 > HELD_S_MAX:
            self._complain_of(host, "too many come at once")
            return None
        if len(self._connections) + unfinished >= self._connections_max:
            self._complain_of(host, "max.connections is reached")
            return None
        settings = self._shared.settings()
        if not self._shared.addresses.has_room(self.kind, host, settings, unfinished_of_host):
            self._complain_of(host, "max.connections.per.ip is reached")
            return None
        if not admission.is_served:
            log.info("held %s: its address opens too many", host)
        return admission

    def _complain_of(self, host: str, why: str) -> None:
        log.warning("refused %s: %s", host, why)

    async def serve(
        self,
        dispatcher: "Dispatcher",
        authenticate: "Callable[[], Authentication] | None" = None,
        principal_of: Callable[[bytes], str] | None = None,
    ) -> None:
        """From now on, with what the dispatcher has; on a SASL listener, once it is known who
        asks."""
        self._dispatcher = dispatcher
        self._authenticate = authenticate
        self._principal_of = principal_of  # from a client's certificate
        if self._door is not None:
            self._door.open(BACKLOG)
        else:
            assert self._server is not None
            await self._server.start_serving()
        self._sweeper = asyncio.get_running_loop().call_later(SWEEP_S, self._sweep)

    async def close(self) -> None:
        """No new connections, and an end to the ones there are."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        for connection in list(self._connections):
            connection.close()
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._door is not None:
            self._door.close()
            self._door = None

    def _accept(self) -> Connection:
        memory = self._shared.request_memory
        if self._authenticate is None:
            share = memory.share()
        else:
            share = self._shared.strangers_memory.share(trusted=memory)
        return Connection(
            self._dispatcher,
            FrameAssembler(self._scratch, self._frame_bytes_max, share),
            share,
            self._shared.unread_replies,
            self._peer,
            self._opened,
            self._closed,
        )

    def _peer(self, client_host: str) -> Peer:
        peer = Peer(self.name, self.kind, client_host)
        peer.complain = self._complain
        if self._authenticate is not None:
            peer.authentication, peer.awaits_authentication = self._authenticate(), True
        return peer

    def _admission(self, host: str) -> Admission:
        """By the rates that hold now; a listener between brokers has only its own."""
        settings = self._shared.settings()
        broker_limit = listener_limit = settings.int(CREATION_RATE)
        own = settings.static.get(f"listener.name.{self.name.lower()}.{CREATION_RATE}")
        if own is not None:
            listener_limit = int(own)
        topology = settings.topology
        if self.name == topology.inter_broker and len(topology.listeners) > 1:
            broker_limit = UNLIMITED
        return self._shared.connection_rates.admit(
            self.name,
            host,
            int(self._shared.now() * 1000),
            listener_limit=listener_limit,
            broker_limit=broker_limit,
        )

    def _hold(self, connection: Connection) -> Admission | None:
        """As the rates of connections have it; None: it is closed at once."""
        host = connection.peer.client_host
        admission = self._admission(host)
        held_s = admission.wait_ms / 1000
        if held_s > HELD_S_MAX:
            self._complain_of(host, "too many come at once")
            return None
        if held_s:
            connection.peer.mute(held_s)
        if not admission.is_served:
            connection.peer.mute(held_s + SWEEP_S)  # it is closed before it is heard
            log.info("held %s: its address opens too many", host)
            asyncio.get_running_loop().call_later(held_s, connection.abort)
        return admission

    def _opened(self, connection: Connection) -> bool:
        """False: it is closed at once."""
        if self._door is None:  # else the rates were asked there
            admission = self._hold(connection)
            if admission is None or not admission.is_served:
                return admission is not None
        if len(self._connections) >= self._connections_max:
            self._complain_of(connection.peer.client_host, "max.connections is reached")
            return False
        host = connection.peer.client_host
        if not self._shared.addresses.let_in(self.kind, host, self._shared.settings()):
            self._complain_of(host, "max.connections.per.ip is reached")
            return False
        certificate = connection.peer.certificate
        if certificate is not None and self._principal_of is not None:
            try:
                connection.peer.principal = self._principal_of(certificate)
            except ValueError as error:
                log.warning("refused %s: %s", host, error)
                self._shared.addresses.gone(self.kind, host)
                return False
        self._connections.add(connection)
        connection.active_at = self._shared.now()
        if self._authenticate is not None:
            asyncio.get_running_loop().call_later(
                AUTHENTICATION_S_MAX, self._end_unless_known, connection
            )
        return True

    def _end_unless_known(self, connection: Connection) -> None:
        authentication = connection.peer.authentication
        if connection in self._connections and authentication and not authentication.sasl.user:
            log.warning("closed %s: it did not say who it is", connection.peer.client_host)
            connection.abort()

    def _closed(self, connection: Connection) -> None:
        if connection not in self._connections:  # it was refused
            return
        self._connections.remove(connection)
        self._shared.addresses.gone(self.kind, connection.peer.client_host)
        for end in connection.peer.when_closed.values():
            end()

    def _sweep(self) -> None:
        """Close who was silent for connections.max.idle.ms; free what the quiet do not need."""
        now = self._shared.now()
        self._shared.request_memory.sweep()
        for connection in list(self._connections):
            authentication = connection.peer.authentication
            if authentication is not None and authentication.is_revoked:
                log.info("closed %s: its credentials changed", connection.peer.principal)
                connection.close()
                continue
            if connection.was_active:
                connection.was_active = False
                connection.active_at = now
                continue
            connection.forget_buffer()
            if now - connection.active_at > self._idle_s_max and not connection.is_awaiting:
                connection.abort()  # what it was sent may wait for a reader that never comes
        self._sweeper = asyncio.get_running_loop().call_later(SWEEP_S, self._sweep)
