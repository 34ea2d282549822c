"""Connections to other members: one request at a time on each, over Kafka's wire.

Two to each address, because a Fetch may wait at the leader for news, and a Vote may not.
"""

import asyncio
import logging
from collections.abc import Callable
from itertools import count

from ottla.errors import KafkaError
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
from ottla.wire.codec import MalformedMessage, decode, encode
from ottla.wire.framing import SIZE
from ottla.wire.message import Message
from ottla.wire.messages.api_versions import ApiVersionsRequest

logger = logging.getLogger(__name__)

CLIENT_ID = "ottla-quorum"
ANSWER_BYTES_MAX = 64 << 20


class PeerClosed(Exception):
    """The other side closed the connection while it owed an answer, or before."""


class Connection:
    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._busy = asyncio.Lock()
        self._numbers = count()

    async def ask(self, request: Message, timeout: float) -> Message:
        """Send and wait; OSError, TimeoutError or PeerClosed where no answer comes."""
        async with asyncio.timeout(timeout), self._busy:
            try:
                return await self._ask(request)
            except BaseException:
                self.close()  # an answer that comes late must not be taken for another's
                raise

    async def _ask(self, request: Message) -> Message:
        if self._streams is None or self._streams[0].at_eof():
            self.close()
            self._streams = await asyncio.open_connection(self.host, self.port)
        reader, writer = self._streams
        version, kind = CALLS[type(request)]
        number = next(self._numbers) & 0x7FFFFFFF
        writer.write(frame(request, version, number))
        try:
            (size,) = SIZE.unpack(await reader.readexactly(4))
            if not 4 <= size <= ANSWER_BYTES_MAX:
                raise PeerClosed(f"an answer of {size} bytes")
            answer = await reader.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionResetError, BrokenPipeError) as error:
            raise PeerClosed(f"{self.host}:{self.port} closed the connection") from error
        if int.from_bytes(answer[:4], "big") != number:
            raise PeerClosed("an answer to another question")
        tagged = version >= kind.FLEXIBLE_SINCE and not isinstance(request, ApiVersionsRequest)
        return decode(kind, version, answer, 5 if tagged else 4)[0]

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def frame(request: Message, version: int, number: int) -> bytes:
    """A request with its header, and its size in front."""
    client_id = CLIENT_ID.encode()
    head = b"".join(
        (
            request.API_KEY.to_bytes(2, "big"),
            version.to_bytes(2, "big"),
            number.to_bytes(4, "big"),
            len(client_id).to_bytes(2, "big"),
            client_id,
            b"\x00" if version >= request.FLEXIBLE_SINCE else b"",
        )
    )
    body = encode(request, version)
    return SIZE.pack(len(head) + len(body)) + head + body


class Peers:
    """Sends what the machine wants sent, and tells it what became of it."""

    def __init__(self, config: QuorumConfig, tell: Callable[[Event], None]) -> None:
        self._config = config
        self._tell = tell
        self._connections: dict[tuple[str, int, bool], Connection] = {}
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
            connection = self._connections[place] = Connection(*send.address)
        try:
            message = await connection.ask(outgoing(send.request, self._config), send.timeout)
            self._tell(Answered(send.number, response(send.request, message)))
        except ConnectionRefusedError:
            self._tell(Failed(send.number, refused=True))
        except PeerClosed:
            self._tell(Failed(send.number))
            if send.node is not None:
                self._tell(Disconnected(send.node))
        except (OSError, TimeoutError, KafkaError, MalformedMessage) as error:
            logger.debug("%s to %s:%d failed: %r", send.request, *send.address, error)
            self._tell(Failed(send.number))
