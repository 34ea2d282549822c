"""Long replies over real sockets: a thread sends them, the loop has what a client leaves over."""

import asyncio
import socket
import struct
from collections.abc import Callable, Coroutine
from typing import Any

import uvloop

from ottla.broker.transport.connection import PIECE_BYTES, Connection, UnreadReplies
from ottla.broker.transport.context import Peer
from ottla.broker.transport.pending_reply import Body, PendingReply
from ottla.ports.clock import SYSTEM_CLOCK
from support.connections import connection

FETCH, METADATA = 1, 3


class Dispatcher:
    """Answers a Fetch when told, others at once."""

    def __init__(self) -> None:
        self.fetch: asyncio.Future[PendingReply] = asyncio.get_running_loop().create_future()

    def take(self, frame: memoryview, peer: Peer) -> Body | PendingReply:
        if frame[1] != FETCH:
            return [b"short"]
        later = PendingReply()
        self.fetch.set_result(later)
        return later


class Served:
    """A connection over real sockets: on one side the broker's, on the other a plain client."""

    def __init__(self) -> None:
        self.dispatcher = Dispatcher()
        self.unread_replies = UnreadReplies(SYSTEM_CLOCK.monotonic)
        self.lost = asyncio.Event()
        self.client = socket.socket()

    def _accept(self) -> Connection:
        self.connection = connection(self.dispatcher, self.unread_replies, lost=self.lost.set)
        return self.connection

    async def __aenter__(self) -> "Served":
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._accept, "127.0.0.1", 0)
        self.client.setblocking(False)
        await loop.sock_connect(self.client, self._server.sockets[0].getsockname())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.client.close()
        await self.lost.wait()
        self._server.close()

    async def fetch(self, body: Body, then: int | None = None) -> None:
        """Ask, for something else behind it maybe, and have the answer given."""
        requests = [FETCH] if then is None else [FETCH, then]
        stream = b"".join(struct.pack(">ih", 2, request) for request in requests)
        await asyncio.get_running_loop().sock_sendall(self.client, stream)
        (await self.dispatcher.fetch).deliver(body)

    async def read(self, size: int) -> bytes:
        loop, parts = asyncio.get_running_loop(), b""
        while len(parts) < size and (part := await loop.sock_recv(self.client, 1 << 20)):
            parts += part
        return parts


LONG: Body = [b"begin", b"", bytes(range(256)) * 4096 * 12, b"x" * PIECE_BYTES, b"end"]


def on_both_loops(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), 30))
    uvloop.run(asyncio.wait_for(scenario(), 30))


def test_a_long_reply_reaches_its_client_whole_and_what_follows_comes_behind_it() -> None:
    async def scenario() -> None:
        async with Served() as served:
            await served.fetch(LONG, then=METADATA)
            whole = b"".join(LONG) + b"short"
            assert await served.read(len(whole)) == whole

    on_both_loops(scenario)


def test_a_client_that_pauses_amid_a_long_reply_gets_the_rest_from_the_loop() -> None:
    async def scenario() -> None:
        async with Served() as served:
            await served.fetch(LONG)
            while not served.unread_replies.stalled_bytes:  # the thread gave up, and the loop waits
                await asyncio.sleep(0.01)
            whole = b"".join(LONG)
            assert await served.read(len(whole)) == whole
            assert served.unread_replies.stalled_bytes == 0

    on_both_loops(scenario)


def test_a_connection_that_is_to_be_closed_while_a_thread_sends_is_closed_behind_the_reply() -> (
    None
):
    async def scenario() -> None:
        async with Served() as served:
            await served.fetch(LONG)
            served.connection.close()
            whole = b"".join(LONG)
            assert await served.read(len(whole) + 1) == whole

    on_both_loops(scenario)


def test_a_client_that_leaves_amid_a_long_reply_leaves_nothing_behind() -> None:
    async def scenario() -> None:
        async with Served() as served:
            await served.fetch(LONG)
            served.client.close()
            await served.lost.wait()
            assert served.unread_replies.stalled_bytes == 0

    on_both_loops(scenario)
