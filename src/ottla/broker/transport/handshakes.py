"""The door of a TLS listener: connections are taken here, and counted before their handshake ends.

An event loop's own server tells of a connection once its handshake is done: whoever never ends one
is seen by nobody, and a flood of them has the whole loop. Here there are at most so many unfinished
ones, of which those make room for new ones that have had their time (an honest handshake takes
milliseconds), and together they get a third of the loop: else newcomers wait in the system's queue.
"""

import asyncio
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from ottla.ports.clock import own_cpu_s

log = logging.getLogger(__name__)

UNFINISHED_MAX = 2000
PATIENCE_S = 2.0
"""For so long an unfinished one keeps its place though others wait."""
HANDSHAKE_S_MAX = 10.0
SHARE = 1 / 3
BURST_S = 0.05
"""So much at once is no flood: a cluster's clients that come back after a restart."""
TAKEN_AT_ONCE = 16
MayCome = Callable[[str, int, int], bool]
"""Of an address: how many of all, and of it, are unfinished."""


class HandshakeBudget:
    """How long the loop may leave handshakes alone; pure."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._debt_s = 0.0
        self._settled = now()

    def spend(self, seconds: float) -> None:
        self._debt_s = self._owed_s() + seconds
        self._settled = self._now()

    def wait_s(self) -> float:
        """Until the next may begin."""
        return max(0.0, self._owed_s() - BURST_S) / SHARE

    def _owed_s(self) -> float:
        return max(0.0, self._debt_s - (self._now() - self._settled) * SHARE)


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
        self._budget = HandshakeBudget(now)
        self._sockets: list[socket.socket] = []
        self._unfinished: dict[asyncio.Task[None], Begun] = {}  # in the order in which they came
        self._by_address: Counter[str] = Counter()
        self._pause: asyncio.TimerHandle | None = None
        self._is_open = False
        encryption.sslobject_class = self._timed(encryption.sslobject_class or ssl.SSLObject)

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
        if self._pause is not None:
            self._pause.cancel()
        for task in list(self._unfinished):
            task.cancel()
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
        began = own_cpu_s()
        for _ in range(TAKEN_AT_ONCE):
            wait_s = max(self._budget.wait_s(), self._room_s())
            if wait_s:
                self._rest(wait_s)
                break
            try:
                accepted, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                break
            except OSError as error:  # no descriptors are left
                log.error("no connection can be taken: %s", error)
                self._rest(1.0)
                break
            self._begin(accepted, str(address[0]))
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

    def _begin(self, accepted: socket.socket, host: str) -> None:
        if not self._may_come(host, len(self._unfinished), self._by_address[host]):
            accepted.close()
            return
        if len(self._unfinished) >= UNFINISHED_MAX:
            oldest = next(iter(self._unfinished))
            self._end(oldest)
            oldest.cancel()
        accepted.setblocking(False)
        task = asyncio.get_running_loop().create_task(self._shake_hands(accepted))
        self._unfinished[task] = Begun(host, self._now())
        self._by_address[host] += 1
        task.add_done_callback(self._end)

    async def _shake_hands(self, accepted: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                self._make,
                accepted,
                ssl=self._encryption,
                ssl_handshake_timeout=HANDSHAKE_S_MAX,
            )
        except (OSError, asyncio.CancelledError):
            accepted.close()  # what was wrong, the handshake has told

    def _end(self, task: "asyncio.Task[None]") -> None:
        begun = self._unfinished.pop(task, None)
        if begun is not None:
            self._by_address[begun.host] -= 1
            if not self._by_address[begun.host]:
                del self._by_address[begun.host]

    def _timed(self, kind: type[ssl.SSLObject]) -> type[ssl.SSLObject]:
        def do_handshake(handshake: ssl.SSLObject) -> None:
            began = own_cpu_s()
            try:
                kind.do_handshake(handshake)
            finally:
                self._budget.spend(own_cpu_s() - began)

        return type("TimedHandshake", (kind,), {"do_handshake": do_handshake})
