"""TCP between simulated hosts: bytes in order or not at all, connections that break or hang.

What a real network does to packets a program sees as this: delay, a connection that is reset, one
that hangs while a link is cut and goes on when it is mended. So links are cut here, in one
direction or both. Requests are repeated and overtake each other because those who ask try again,
over other connections.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from random import Random
from typing import TYPE_CHECKING, Any

from ottla.simulation.engine.hosts import PROCESS, Process

if TYPE_CHECKING:
    from ottla.simulation.engine.host_loop import HostLoop

RETRANSMIT_S = 0.2
CONNECT_AGAIN_S = 1.0  # after a first packet that was lost, as Linux does it
DELAY_S = 0.0005
SLOW_FACTOR = 100.0


class Listening:
    """What asyncio calls a server."""

    def __init__(self, connector: "Connector", port: int, factory: Callable[[], Any]) -> None:
        self.port = port
        self.factory = factory
        self.process = PROCESS.get()
        self.context = copy_context()
        self.serving = False
        self._connector = connector

    @property
    def sockets(self) -> list["Listening"]:
        return [self]

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    async def start_serving(self) -> None:
        self.serving = True

    def close(self) -> None:
        self._connector.listeners.pop(self.port, None)


class Connector:
    def __init__(self, loop: "HostLoop", rng: Random) -> None:
        self.cut: set[tuple[int, ...]] = set()
        """Hosts: (from, to); or (from, to, port) for connections to one port alone."""
        self.slow: float = 0.0  # the chance of a delay that is a hundred times longer
        self.listeners: dict[int, Listening] = {}
        self.hosts: dict[int, Any] = {}  # port → host, for ports that nobody listens on just now
        self._loop = loop
        self._rng = rng
        self._ends: list[Wire] = []

    def delay(self) -> float:
        delay = DELAY_S * (0.2 + self._rng.random())
        return delay * SLOW_FACTOR if self._rng.random() < self.slow else delay

    def bind(self, factory: Callable[[], Any], port: int) -> Listening:
        listening = self.listeners[port] = Listening(self, port, factory)
        self.hosts[port] = listening.process.host
        return listening

    def is_cut(self, source: Process, target: Process, port: int) -> bool:
        cut = self.cut
        if not cut:
            return False
        here, there = source.host.id, target.host.id
        return (here, there) in cut or (here, there, port) in cut

    async def connect(self, factory: Callable[[], Any], port: int) -> tuple["Wire", Any]:
        process, host = PROCESS.get(), self.hosts[port]
        while True:
            await asyncio.sleep(2 * self.delay())
            here, there = process.host.id, host.id
            ways = {(here, there), (there, here), (here, there, port), (there, here, port)}
            if host.up and not ways & self.cut:
                break
            await asyncio.sleep(CONNECT_AGAIN_S)
        listening = self.listeners.get(port)
        if listening is None or not listening.serving or not listening.process.alive:
            raise ConnectionRefusedError(111, f"nobody listens on {port}")
        near = Wire(self._loop, self, port, copy_context())
        far = Wire(self._loop, self, port, listening.context)
        near.peer, far.peer = far, near
        self._ends = [end for end in self._ends if not end.over]
        self._ends += [near, far]
        protocol = factory()
        near.protocol = protocol
        self._loop.call_soon(far.accepted, listening.factory, context=far.context)
        protocol.connection_made(near)
        return near, protocol

    def died(self, process: Process, *, silently: bool) -> None:
        """The kernel closes what the process had open; a host without power says nothing."""
        for port in [port for port, each in self.listeners.items() if each.process is process]:
            del self.listeners[port]
        for end in self._ends:
            if end.process is process and not end.over:
                end.over = True
                if not silently:
                    end.peer.broken_later()


class Wire(asyncio.Transport):
    """One end of a connection."""

    peer: "Wire"
    protocol: Any

    def __init__(self, loop: "HostLoop", connector: Connector, port: int, context: Context) -> None:
        super().__init__()
        self.port = port
        self.context = context
        self.process: Process = context.get(PROCESS, PROCESS.get())
        self.over = False
        self._loop = loop
        self._connector = connector
        self._arriving: deque[tuple[float, bytes | None]] = deque()  # None: the other side closed
        self._pumping = False
        self._reading = True
        self._lost = False
        self.protocol = None

    def accepted(self, factory: Callable[[], Any]) -> None:
        self.protocol = factory()
        self.protocol.connection_made(self)
        self._pump_at(self._loop.now)

    # --- what protocols call

    def write(self, data: Any) -> None:
        if not self.over:
            self._send(bytes(data))

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def close(self) -> None:
        if self.over:
            return
        self._send(None)
        self.over = True
        self._loop.call_soon(self._lose, None, context=self.context)

    def abort(self) -> None:
        self.close()

    def is_closing(self) -> bool:
        return self.over

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True
        self._pump_at(self._loop.now)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 0) if name == "peername" else default

    # --- on the way

    def _send(self, data: bytes | None) -> None:
        peer = self.peer
        if peer.over:
            if peer.process.host.up and not peer.process.alive:
                self.broken_later()  # the kernel there does not know the connection
            return
        due = self._loop.now + self._connector.delay()
        if peer._arriving:
            due = max(due, peer._arriving[-1][0])
        peer._arriving.append((due, data))
        peer._pump_at(due)

    def _pump_at(self, moment: float) -> None:
        if not self._pumping and not self._lost:
            self._pumping = True
            self._loop.call_at(moment, self._pump, context=self.context)

    def _pump(self) -> None:
        self._pumping = False
        if self._lost or self.protocol is None or not self._reading or not self._arriving:
            return
        if self._connector.is_cut(self.peer.process, self.process, self.port):
            self._pump_at(self._loop.now + RETRANSMIT_S)
            return
        due, data = self._arriving[0]
        if due > self._loop.now:
            self._pump_at(due)
            return
        self._arriving.popleft()
        if self._arriving:
            self._pump_at(self._arriving[0][0])
        if data is None:
            self.over = True
            self.protocol.eof_received()
            self._lose(None)
        elif not self.over:
            self._deliver(data)

    def _deliver(self, data: bytes) -> None:
        protocol = self.protocol
        if not isinstance(protocol, asyncio.BufferedProtocol):
            protocol.data_received(data)
            return
        while data:
            room = protocol.get_buffer(len(data))
            part, data = data[: len(room)], data[len(room) :]  # type: ignore[arg-type]
            room[: len(part)] = part  # type: ignore[index]
            protocol.buffer_updated(len(part))

    def broken_later(self) -> None:
        """Reset by the other side's kernel, as soon as that word gets here."""
        self._loop.call_later(self._connector.delay(), self._reset, context=self.context)

    def _reset(self) -> None:
        if self._connector.is_cut(self.peer.process, self.process, self.port):
            self._loop.call_later(RETRANSMIT_S, self._reset, context=self.context)
        elif not self._lost:
            self.over = True
            self._lose(ConnectionResetError("reset by the other side"))

    def _lose(self, error: Exception | None) -> None:
        if not self._lost:
            self._lost = True
            if self.protocol is not None:
                self.protocol.connection_lost(error)
