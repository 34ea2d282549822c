"""Talking to another node: frames there, frames back, in order.

`TcpNetwork` is the real side; the simulation has another that delays, drops and cuts. A link
that breaks fails everything that waits on it, and says so at once: a process that died is
noticed by its closed socket, long before any time-out.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from ssl import SSLContext

FRAME_BYTES_MAX = 256 * 1024 * 1024
SCRATCH_BYTES = 16 * 1024

Frame = bytes | bytearray


class LinkLost(OSError):
    """The peer is gone, or was never there."""


class LinkRefused(LinkLost):
    """Nobody listens there: the host said so. The process that should is not there."""


class LinkUntrusted(LinkLost):
    """Somebody is there, but one of us does not believe the other."""


class Link(Protocol):
    """An open connection; requests may overlap, replies come in their order."""

    @property
    def is_open(self) -> bool: ...

    async def exchange(self, frame: bytes) -> Frame:
        """Send a frame (without its size), return the peer's; LinkLost if it does not come."""

    def close(self) -> None: ...


class Network(Protocol):
    async def connect(self, host: str, port: int, lost: Callable[[], None]) -> Link:
        """LinkRefused where nobody listens, LinkLost where nobody is reached. `lost` is called
        once, when the open link ends."""


class TcpNetwork:
    def __init__(
        self, connect_timeout_s: float = 2.0, encryption: "Callable[[], SSLContext] | None" = None
    ) -> None:
        """Encryption is asked for with each link: certificates may be renewed."""
        self._connect_timeout_s = connect_timeout_s
        self._encryption = encryption

    async def connect(self, host: str, port: int, lost: Callable[[], None]) -> Link:
        loop = asyncio.get_running_loop()
        encryption = None if self._encryption is None else self._encryption()
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                _, link = await loop.create_connection(
                    lambda: TcpLink(lost), host, port, ssl=encryption
                )
        except ConnectionRefusedError:
            raise LinkRefused(f"nobody listens at {host}:{port}") from None
        except (OSError, TimeoutError) as error:
            if encryption is not None and (why := _distrust(error)):
                raise LinkUntrusted(f"{host}:{port}: {why}") from None
            raise LinkLost(f"{host}:{port} cannot be reached: {error or 'time-out'}") from None
        return link


def _distrust(error: Exception) -> str | None:
    """What TLS found wrong, if it was TLS."""
    from ssl import SSLCertVerificationError, SSLError

    if isinstance(error, SSLCertVerificationError):
        return f"its certificate is not believed: {error.verify_message}"
    return f"no TLS there: {error.reason}" if isinstance(error, SSLError) else None


class TcpLink(asyncio.BufferedProtocol):
    """One socket. Replies are matched to requests by order alone, as Kafka promises it.

    A large frame is received where it stays: what replicas fetch is not copied on the way.
    """

    def __init__(self, lost: Callable[[], None]) -> None:
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self._waiting: deque[asyncio.Future[Frame]] = deque()
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))
        self._frame: bytearray | None = None  # one that is too large for what came so far
        self._filled = 0  # of the frame if there is one, else of the scratch

    @property
    def is_open(self) -> bool:
        return self._transport is not None

    async def exchange(self, frame: bytes) -> Frame:
        if self._transport is None:
            raise LinkLost("the connection is closed")
        future: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        self._transport.writelines([len(frame).to_bytes(4, "big"), frame])
        return await future

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    # --- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is not a subclass

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._frame is not None:
            return memoryview(self._frame)[self._filled :]
        return self._scratch[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self._filled += nbytes
        if self._frame is None:
            self._cut()
        elif self._filled == len(self._frame):
            frame, self._frame, self._filled = self._frame, None, 0
            self._deliver(frame)

    def _cut(self) -> None:
        """The frames in the scratch; one that has only begun gets room of its own."""
        scratch, end, position = self._scratch, self._filled, 0
        while end - position >= 4:
            size = int.from_bytes(scratch[position : position + 4], "big")
            if size > FRAME_BYTES_MAX:
                self.close()
                return
            begin, after = position + 4, position + 4 + size
            if after > end:
                self._frame, self._filled = bytearray(size), end - begin
                self._frame[: end - begin] = scratch[begin:end]
                return
            self._deliver(bytes(scratch[begin:after]))
            position = after
        scratch[: end - position] = bytes(scratch[position:end])
        self._filled = end - position

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        reason = LinkLost(f"the connection ended: {error or 'closed by the peer'}")
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_exception(reason)
        self._lost()

    def _deliver(self, frame: Frame) -> None:
        if not self._waiting:
            self.close()  # nobody asked
            return
        future = self._waiting.popleft()
        if not future.done():
            future.set_result(frame)


@cache
def own_name() -> str:
    """Of this host; asked once, and only where it is needed: without DNS it can take seconds."""
    return socket.getfqdn()


def own_addresses() -> list[str]:
    """Names of this host, and the addresses that they stand for."""
    names = list(dict.fromkeys((socket.gethostname(), own_name())))
    found: dict[str, None] = dict.fromkeys(names)
    for name in names:
        try:
            told = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        except OSError:
            continue
        found |= dict.fromkeys(str(one[4][0]).partition("%")[0] for one in told)
    return list(found)


def free_ports(count: int) -> list[int]:
    """Ports free a moment ago; all held at once, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
