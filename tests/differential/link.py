"""One connection of a run: `wire` speaks, a blocking socket carries, and silence has an end."""

import contextlib
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

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

    def collect(self, seconds: float) -> Answer | None:
        """The outstanding answer; None when it has not come by then, and is still outstanding."""
        asked = self.outstanding
        assert asked is not None
        if asked.nothing_comes:
            self.outstanding = None
            return self._closed_or_silent()
        try:
            frame = self._frame(time.monotonic() + seconds)
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

    def _closed_or_silent(self) -> Answer:
        """The only answer to acks=0 is that the connection is closed when something was wrong. A
        broker reads the next request when it is done with this one: who answers that one has
        nothing to say to this one."""
        try:
            self.send(ApiVersionsRequest(), 0, ApiVersionsResponse)
            if self._frame(time.monotonic() + UNANSWERED_S) is not None:
                self.outstanding = None
                return SILENT
        except OSError:
            pass
        self.reopen()
        return CLOSED

    def ask(
        self, request: Message, version: int, response: type[Message], seconds: float
    ) -> Answer:
        self.send(request, version, response)
        answer = self.collect(seconds)
        if answer is None:
            self.reopen()
            return SILENT
        return answer

    def _frame(self, deadline: float) -> bytes | None:
        while True:
            if len(self.received) >= 4:
                (size,) = SIZE.unpack_from(self.received)
                if len(self.received) >= 4 + size:
                    frame = bytes(self.received[4 : 4 + size])
                    del self.received[: 4 + size]
                    return frame
            if not self._readable(deadline - time.monotonic()):
                return None
            chunk = self.socket.recv(1 << 20)
            if not chunk:
                raise ConnectionResetError
            self.received += chunk

    def _readable(self, seconds: float) -> bool:
        return bool(select.select([self.socket], [], [], max(seconds, 0))[0])


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


def codes(value: Any) -> Iterator[int]:
    """Every error code in an answer."""
    if isinstance(value, Message):
        for name, is_code in fields(type(value)):
            inside = getattr(value, name)
            if is_code:
                yield inside
            elif isinstance(inside, list | Message):
                yield from codes(inside)
    elif isinstance(value, list) and value and isinstance(value[0], Message):
        for each in value:
            yield from codes(each)


@cache
def fields(kind: type[Message]) -> tuple[tuple[str, bool], ...]:
    """And whether they hold an error code."""
    return tuple((name, name.endswith("error_code")) for name in kind.__struct_fields__)


def any_error(answer: Answer) -> bool:
    return any(codes(answer))
