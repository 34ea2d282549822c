"""Connections to other members: one request at a time on each, over Kafka's wire.

Two to each address, because a Fetch may wait at the leader for news, and a Vote may not.
"""

import asyncio
import logging
from collections.abc import Callable

from ottla.errors import KafkaError
from ottla.ports.network import Link, LinkLost, LinkRefused, Network
from ottla.quorum.config import QuorumConfig
from ottla.quorum.events import (
    Answered,
    Disconnected,
    Event,
    Failed,
    Fetch,
    FetchSnapshot,
    Send,
)
from ottla.quorum.requests import CALLS, outgoing
from ottla.quorum.responses import response
from ottla.wire.client import Client
from ottla.wire.codec import MalformedMessage
from ottla.wire.message import Message

logger = logging.getLogger(__name__)

CLIENT_ID = "ottla-quorum"


class PeerClosed(Exception):
    """The other side closed the connection while it owed an answer, or before."""


class PeerConnection:
    def __init__(self, network: Network, host: str, port: int) -> None:
        self._network = network
        self._host = host
        self._port = port
        self._open: tuple[Link, Client] | None = None
        self._busy = asyncio.Lock()

    async def ask(self, request: Message, timeout: float) -> Message:
        """Send and wait; LinkLost, TimeoutError or PeerClosed where no answer comes."""
        async with asyncio.timeout(timeout), self._busy:
            try:
                client = await self._client()
                version, kind = CALLS[type(request)]
                try:
                    return await client.ask(request, version, kind)
                except LinkLost as error:
                    raise PeerClosed(f"{self._host}:{self._port}: {error}") from error
            except BaseException:
                self.close()  # an answer that comes late must not be taken for another's
                raise

    async def _client(self) -> Client:
        if self._open is None or not self._open[0].is_open:
            link = await self._network.connect(self._host, self._port, lambda: None)
            self._open = link, Client(link, CLIENT_ID)
        return self._open[1]

    def close(self) -> None:
        if self._open is not None:
            self._open[0].close()
            self._open = None


class QuorumPeers:
    """Sends what the machine wants sent, and tells it what became of it."""

    def __init__(
        self, config: QuorumConfig, network: Network, tell: Callable[[Event], None]
    ) -> None:
        self._config = config
        self._network = network
        self._tell = tell
        self._connections: dict[tuple[str, int, bool], PeerConnection] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def send(self, send: Send) -> None:
        task = asyncio.get_running_loop().create_task(self._send(send))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in self._connections.values():
            connection.close()

    async def _send(self, send: Send) -> None:
        may_wait = isinstance(send.request, Fetch | FetchSnapshot)
        place = (*send.address, may_wait)
        connection = self._connections.get(place)
        if connection is None:
            connection = self._connections[place] = PeerConnection(self._network, *send.address)
        try:
            message = await connection.ask(outgoing(send.request, self._config), send.timeout)
            self._tell(Answered(send.number, response(send.request, message)))
        except LinkRefused:
            self._tell(Failed(send.number, refused=True))
        except PeerClosed:
            self._tell(Failed(send.number))
            if send.node is not None:
                self._tell(Disconnected(send.node))
        except (LinkLost, TimeoutError, KafkaError, MalformedMessage) as error:
            logger.debug("%s to %s:%d failed: %r", send.request, *send.address, error)
            self._tell(Failed(send.number))
