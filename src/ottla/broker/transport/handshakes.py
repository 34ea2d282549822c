"""The door of a TLS listener: connections are taken here, and counted before their handshake ends.

An event loop's own server tells of a connection once its handshake is done: whoever never ends one
is seen by nobody, and a flood of them has the whole loop. Here there are at most so many unfinished
ones, of which those make room for new ones that have had their time (an honest handshake takes
milliseconds). One step of one handshake is taken in a turn of the loop, so others wait for no more
than that, and together handshakes get a third of the loop and what it has to spare: else newcomers
wait in the system's queue.
"""

import asyncio
import logging
import socket
import ssl
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ottla.broker.transport.encryption import EncryptedConnection
from ottla.ports.clock import own_cpu_s
from ottla.security.connection_rates import Admission

log = logging.getLogger(__name__)

SCRATCH_BYTES = 256 * 1024
UNFINISHED_MAX = 2000
PATIENCE_S = 2.0
"""For so long an unfinished one keeps its place though others wait."""
HANDSHAKE_S_MAX = 10.0
SWEEP_S = 0.5
APART_S = 0.004
"""Between two that are closed because their time is over. They may have come all together, and come
again as soon as they are closed: each costs those who are served little, all at once cost much."""
SHARE = 1 / 3
REST_S = 0.005
"""Then it is looked again, whether the loop had nothing to do."""
BURST_S = 0.05
"""So much at once is no flood: a cluster's clients that come back after a restart."""
MayCome = Callable[[str, int, int], Admission | None]
"""Of an address: how many of all, and of it, are unfinished; None: it is closed at once."""


class HandshakeBudget:
    """How long the loop may leave handshakes alone; pure.

    They may take a third of its time, and besides what it has nothing to do in: a cluster's clients
    that all come back are let in as fast as can be."""

    def __init__(self, now: Callable[[], float], used_s: Callable[[], float]) -> None:
        """`used_s` is the processor's time that the loop has taken, whatever for."""
        self._now = now
        self._used_s = used_s
        self._debt_s = 0.0
        self._settled, self._used_before_s = now(), used_s()

    def spend(self, seconds: float) -> None:
        self._settle()
        self._debt_s += seconds

    def wait_s(self) -> float:
        """Until the next may begin, if others have the loop all the time."""
        self._settle()
        return max(0.0, self._debt_s - BURST_S) / SHARE

    def _settle(self) -> None:
        now, used_s = self._now(), self._used_s()
        passed_s = now - self._settled
        idle_s = max(0.0, passed_s - (used_s - self._used_before_s))
        self._settled, self._used_before_s = now, used_s
        self._debt_s = max(0.0, self._debt_s - passed_s * SHARE - idle_s)


def time_left_s(age_s: float, unfinished: int) -> float:
    """Of the oldest of so many: they go one after the other, the last when its time is over."""
    return HANDSHAKE_S_MAX - (unfinished - 1) * APART_S - age_s


class HandshakeTurns:
    """One step of one handshake in a turn of the loop: who is served comes in between."""

    def __init__(self, budget: HandshakeBudget) -> None:
        self._budget = budget
        self._due: deque[EncryptedConnection] = deque()
        self._next: asyncio.Handle | None = None

    def await_turn(self, connection: EncryptedConnection) -> None:
        self._due.append(connection)
        if self._next is None:
            self._plan()

    def close(self) -> None:
        self._due.clear()
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _plan(self) -> None:
        loop, wait_s = asyncio.get_running_loop(), min(self._budget.wait_s(), REST_S)
        self._next = loop.call_later(wait_s, self._take) if wait_s else loop.call_soon(self._take)

    def _take(self) -> None:
        self._next = None
        if self._budget.wait_s():
            self._plan()
            return
        began = own_cpu_s()
        connection = self._due.popleft()
        try:
            connection.shake_hands()
        except Exception:  # whatever becomes of one, the others have their turns
            log.exception("closed a connection")
            connection.abort()
        self._budget.spend(own_cpu_s() - began)
        if self._due:
            self._plan()


async def arrive(connection: EncryptedConnection, accepted: socket.socket) -> None:
    await asyncio.get_running_loop().connect_accepted_socket(lambda: connection, accepted)


class Begun(NamedTuple):
    host: str
    since: float


class TlsDoor:
    """Listening sockets of one address; nobody is answered before `open`."""

    def __init__(
        self,
        make: Callable[[], asyncio.BaseProtocol],
        encryption: ssl.SSLContext,
        may_come: MayCome,
        now: Callable[[], float],
    ) -> None:
        self._make = make
        self._encryption = encryption
        self._may_come = may_come
        self._now = now
        self._budget = HandshakeBudget(now, own_cpu_s)
        self._turns = HandshakeTurns(self._budget)
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))
        self._sockets: list[socket.socket] = []
        self._unfinished: OrderedDict[EncryptedConnection, Begun] = OrderedDict()  # as they came
        self._arriving: set[asyncio.Task[None]] = set()
        self._held: dict[socket.socket, asyncio.TimerHandle] = {}  # by a rate of connections
        self._by_address: Counter[str] = Counter()
        self._pause: asyncio.TimerHandle | None = None
        self._sweeper: asyncio.TimerHandle | None = None
        self._is_open = False

    async def bind(self, host: str | None, port: int) -> int:
        """OSError where that is not to be had."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        try:
            for family, kind, protocol, _, address in dict.fromkeys(found):
                try:
                    one = socket.socket(family, kind, protocol)
                except OSError:  # a host without IPv6
                    continue
                self._sockets.append(one)
                one.setblocking(False)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                one.bind(address)
        except OSError:
            self.close()
            raise
        return int(self._sockets[0].getsockname()[1])

    def open(self, backlog: int) -> None:
        self._is_open = True
        for one in self._sockets:
            one.listen(backlog)
        self._listen()

    def close(self) -> None:
        self._deafen()
        self._is_open = False
        for timer in (self._pause, self._sweeper):
            if timer is not None:
                timer.cancel()
        self._turns.close()
        for task in self._arriving:
            task.cancel()
        for held, release in self._held.items():
            release.cancel()
            held.close()
        self._held.clear()
        for connection in list(self._unfinished):
            connection.abort()
        for one in self._sockets:
            one.close()
        self._sockets.clear()

    def _listen(self) -> None:
        self._pause = None
        loop = asyncio.get_running_loop()
        for one in self._sockets:
            loop.add_reader(one, self._take, one)

    def _deafen(self) -> None:
        if self._is_open and self._pause is None:
            loop = asyncio.get_running_loop()
            for one in self._sockets:
                loop.remove_reader(one)

    def _take(self, listening: socket.socket) -> None:
        """One connection: the next turn of the loop has the next."""
        began = own_cpu_s()
        wait_s = max(min(self._budget.wait_s(), REST_S), self._room_s())
        if wait_s:
            self._rest(wait_s)
            return
        try:
            accepted, address = listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:  # no descriptors are left
            log.error("no connection can be taken: %s", error)
            self._rest(1.0)
            return
        self._receive(accepted, str(address[0]))
        self._budget.spend(own_cpu_s() - began)

    def _room_s(self) -> float:
        """Until there is room for one more."""
        if len(self._unfinished) < UNFINISHED_MAX:
            return 0.0
        oldest = next(iter(self._unfinished.values()))
        return max(0.0, oldest.since + PATIENCE_S - self._now())

    def _rest(self, seconds: float) -> None:
        self._deafen()
        self._pause = asyncio.get_running_loop().call_later(seconds, self._listen)

    def _receive(self, accepted: socket.socket, host: str) -> None:
        admission = self._may_come(host, len(self._unfinished), self._by_address[host])
        if admission is None:
            accepted.close()
        elif admission.wait_ms:
            self._held[accepted] = asyncio.get_running_loop().call_later(
                admission.wait_ms / 1000, self._release, accepted, host, admission.is_served
            )
        else:
            self._begin(accepted, host)

    def _release(self, held: socket.socket, host: str, is_served: bool) -> None:
        del self._held[held]
        if is_served:
            self._begin(held, host)
        else:
            held.close()

    def _begin(self, accepted: socket.socket, host: str) -> None:
        if len(self._unfinished) >= UNFINISHED_MAX:
            oldest = next(iter(self._unfinished))
            self._end(oldest)
            oldest.abort()
        accepted.setblocking(False)
        connection = EncryptedConnection(
            self._make, self._encryption, self._scratch, self._turns.await_turn, self._end
        )
        self._unfinished[connection] = Begun(host, self._now())
        self._by_address[host] += 1
        if self._sweeper is None:
            self._sweep()
        task = asyncio.get_running_loop().create_task(arrive(connection, accepted))
        self._arriving.add(task)
        task.add_done_callback(partial(self._arrived, connection, accepted))

    def _arrived(
        self, connection: EncryptedConnection, accepted: socket.socket, task: asyncio.Task[None]
    ) -> None:
        self._arriving.discard(task)
        if task.cancelled() or task.exception() is not None:  # perhaps before it began
            accepted.close()
            self._end(connection)

    def _sweep(self) -> None:
        """Close the oldest if its time is over; called again when that may be so of the next."""
        self._sweeper = None
        oldest = next(iter(self._unfinished), None)
        if oldest is None:
            return
        age_s = self._now() - self._unfinished[oldest].since
        left_s = time_left_s(age_s, len(self._unfinished))
        if left_s <= 0:
            self._end(oldest)
            oldest.abort()
        wait_s = min(max(APART_S, left_s), SWEEP_S)  # the more come, the less is left
        self._sweeper = asyncio.get_running_loop().call_later(wait_s, self._sweep)

    def _end(self, connection: EncryptedConnection) -> None:
        """Of its handshake, however."""
        begun = self._unfinished.pop(connection, None)
        if begun is not None:
            self._by_address[begun.host] -= 1
            if not self._by_address[begun.host]:
                del self._by_address[begun.host]
