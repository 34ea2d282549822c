"""A node in this process, asked without a socket: for what handlers answer, and when."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvloop

from ottla.broker.accounting import Unlimited
from ottla.broker.api import Listeners
from ottla.broker.dispatch import Dispatcher, Reply
from ottla.broker.transport.context import Peer
from ottla.broker.transport.pending_reply import PendingReply
from ottla.config import Settings
from ottla.config.load import single_node
from ottla.node.node import Node
from ottla.wire.message import Message
from support.frames import frame_of, read_reply
from support.nodes import make_topics


class Asking:
    """Requests straight to the dispatcher, as frames."""

    def __init__(self, node: Node) -> None:
        self.node = node
        assert node.broker is not None
        self.broker = node.broker
        self.dispatcher = Dispatcher(Listeners.BROKER, node.broker.areas, node.cluster, Unlimited())
        self.peer = Peer("PLAINTEXT", Listeners.BROKER, "127.0.0.1")

    async def make_topic(self, *names: str) -> None:
        assert await make_topics(self.node, *names) == {}

    def take(self, request: Message, version: int) -> Reply:
        """What dispatch gives a connection: a reply, or a promise of one."""
        return self.dispatcher.take(frame_of(request, version), self.peer)

    async def ask(self, request: Message, version: int, timeout_s: float = 10) -> Any:
        reply = self.take(request, version)
        if isinstance(reply, PendingReply):
            arrived: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            reply.then(arrived.set_result)
            reply = await asyncio.wait_for(arrived, timeout_s)
        assert isinstance(reply, list)
        return read_reply(request, version, b"".join(reply))


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
