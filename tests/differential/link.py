"""One connection of a run: `wire` speaks, a socket carries, and silence has an end."""

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, get_args, get_type_hints

from differential.waiting import readable
from ottla.wire.client import read_reply, request_frame
from ottla.wire.codec import MalformedMessage
from ottla.wire.message import Message
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

SIZE = struct.Struct(">i")
SILENT = "no answer"
UNANSWERED_S = 6.0
IDLE_S_MAX = 20.0
"""Brokers close a connection that nobody has used for a minute."""
CLOSED = "connection closed"
MALFORMED = "malformed answer"

Answer = Message | str
"""The response, or what came instead of one."""


class Outstanding(NamedTuple):
    correlation_id: int
    version: int
    response: type[Message]
    nothing_comes: bool  # Produce with acks=0


class Link:
    """At most one request is outstanding: brokers read the next one only when it is answered."""

    def __init__(self, bootstrap: str, client_id: str) -> None:
        self.bootstrap = bootstrap
        self.client_id = client_id.encode()
        self.correlation_id = 0
        self.outstanding: Outstanding | None = None
        self.received = bytearray()
        self.socket = self._connect()

    def _connect(self) -> socket.socket:
        host, port = self.bootstrap.rsplit(":", 1)
        opened = socket.create_connection((host, int(port)), 10)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return opened

    def close(self) -> None:
        self.socket.close()

    def reopen(self) -> None:
        self.close()
        self.received.clear()
        self.outstanding = None
        self.socket = self._connect()

    def send(self, request: Message, version: int, response: type[Message]) -> None:
        assert self.outstanding is None, "the answer before was not collected"
        self.correlation_id += 1
        frame = request_frame(request, version, self.correlation_id, self.client_id)
        silent = request.API_KEY == 0 and getattr(request, "acks", 1) == 0
        self.outstanding = Outstanding(self.correlation_id, version, response, silent)
        with contextlib.suppress(OSError):  # closed: told when the answer is collected
            self.socket.sendall(SIZE.pack(len(frame)) + frame)

    async def collect(self, seconds: float) -> Answer | None:
        """The outstanding answer; None when it has not come by then, and is still outstanding."""
        asked = self.outstanding
        assert asked is not None
        if asked.nothing_comes:
            self.outstanding = None
            return await self._closed_or_silent()
        try:
            frame = await self._frame(time.monotonic() + seconds)
        except OSError:
            self.reopen()
            return CLOSED
        if frame is None:
            return None
        self.outstanding = None
        try:
            return read_reply(frame, asked.response, asked.version, asked.correlation_id)
        except MalformedMessage as error:
            return f"{MALFORMED}: {error}"

    async def _closed_or_silent(self) -> Answer:
        """The only answer to acks=0 is that the connection is closed when something was wrong. A
        broker reads the next request when it is done with this one: who answers that one has
        nothing to say to this one."""
        try:
            self.send(ApiVersionsRequest(), 0, ApiVersionsResponse)
            if await self._frame(time.monotonic() + UNANSWERED_S) is not None:
                self.outstanding = None
                return SILENT
        except OSError:
            pass
        self.reopen()
        return CLOSED

    async def ask(
        self, request: Message, version: int, response: type[Message], seconds: float
    ) -> Answer:
        self.send(request, version, response)
        answer = await self.collect(seconds)
        if answer is None:
            self.reopen()
            return SILENT
        return answer

    async def _frame(self, deadline: float) -> bytes | None:
        while True:
            if len(self.received) >= 4:
                (size,) = SIZE.unpack_from(self.received)
                if len(self.received) >= 4 + size:
                    frame = bytes(self.received[4 : 4 + size])
                    del self.received[: 4 + size]
                    return frame
            if not await readable(self.socket, deadline):
                return None
            chunk = self.socket.recv(1 << 20)
            if not chunk:
                raise ConnectionResetError
            self.received += chunk


class Links:
    """Connections to one broker that one run after another uses: to open one costs Kafka more than
    most requests."""

    def __init__(self, connect: Callable[[str], Link]) -> None:
        self.connect = connect
        self.lock = threading.Lock()
        self.free: list[tuple[float, Link]] = []

    def take(self, client_id: str) -> Link:
        with self.lock:
            since, link = self.free.pop() if self.free else (0.0, None)
        if link is None or time.monotonic() - since > IDLE_S_MAX:
            return self.connect(client_id)
        link.client_id = client_id.encode()
        return link

    def give_back(self, link: Link) -> None:
        if link.outstanding is not None or link.received:
            link.close()
            return
        with self.lock:
            self.free.append((time.monotonic(), link))


def codes(value: Any) -> list[int]:
    """Every error code in an answer."""
    found: list[int] = []
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, list):
            left += value
        elif isinstance(value, Message):
            own, inner = fields(type(value))
            found += [getattr(value, name) for name in own]
            left += [getattr(value, name) for name in inner]
    return found


@cache
def fields(kind: type[Message]) -> tuple[list[str], list[str]]:
    """Those that hold an error code, and those that hold messages."""
    hints = get_type_hints(kind)
    own = [name for name in kind.__struct_fields__ if name.endswith("error_code")]
    return own, [name for name in kind.__struct_fields__ if holds_messages(hints[name])]


def holds_messages(hint: Any) -> bool:
    is_one = isinstance(hint, type) and issubclass(hint, Message)
    return is_one or any(map(holds_messages, get_args(hint)))


def any_error(answer: Answer) -> bool:
    return any(codes(answer))
