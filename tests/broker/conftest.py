"""A node in this process, asked without a socket: for what handlers answer, and when."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from struct import pack
from typing import Any

import pytest
import uvloop

from ottla.broker.api import Listeners, apis, load
from ottla.broker.dispatch import Dispatcher, Reply
from ottla.broker.topics_on_demand import create_on_demand
from ottla.broker.transport.context import Peer
from ottla.broker.transport.pending_reply import PendingReply
from ottla.config import Settings
from ottla.config.load import single_node
from ottla.node.node import Node
from ottla.wire.codec import decode, encode
from ottla.wire.message import Message


class Asking:
    """Requests straight to the dispatcher, as frames."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.broker = node.broker
        self._dispatcher = Dispatcher(node.broker, Listeners.BROKER)
        self.peer = Peer("PLAINTEXT", Listeners.BROKER, "127.0.0.1")

    async def make_topic(self, *names: str) -> None:
        assert await create_on_demand(names, self.broker) == {}

    def take(self, request: Message, version: int) -> Reply:
        """What dispatch gives a connection: a reply, or a promise of one."""
        tags = b"\0" if version >= request.FLEXIBLE_SINCE else b""
        header = pack(">hhih", request.API_KEY, version, 1, -1) + tags
        return self._dispatcher.take(memoryview(header + encode(request, version)), self.peer)

    async def ask(self, request: Message, version: int, timeout_s: float = 10) -> Any:
        reply = self.take(request, version)
        if isinstance(reply, PendingReply):
            arrived: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            reply.then(arrived.set_result)
            reply = await asyncio.wait_for(arrived, timeout_s)
        assert isinstance(reply, list)
        return read_reply(request, version, b"".join(reply))


def read_reply(request: Message, version: int, frame: bytes) -> Message:
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    response = load(apis(Listeners.BROKER)[request.API_KEY]).response
    tagged = version >= response.FLEXIBLE_SINCE and request.API_KEY != 18
    message, end = decode(response, version, frame, 9 if tagged else 8)
    assert end == len(frame)
    return message


Serving = Callable[..., AbstractAsyncContextManager[Asking]]


@pytest.fixture
def serving(tmp_path: Path) -> Serving:
    """`async with serving(log_flush_interval_messages="1") as asking: …`"""

    @asynccontextmanager
    async def serve(**options: str) -> AsyncIterator[Asking]:
        static = single_node(("127.0.0.1", 0), tmp_path / "data")
        static |= {name.replace("_", "."): value for name, value in options.items()}
        node = Node(Settings(static))
        await node.start()
        try:
            yield Asking(node)
        finally:
            await node.stop()

    return serve


@pytest.fixture
def run() -> Callable[[Coroutine[Any, Any, None]], None]:
    return uvloop.run
