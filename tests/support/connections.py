"""A broker's connection around a dispatcher of the test's."""

from collections.abc import Callable
from typing import Any

from ottla.broker.api import Listeners
from ottla.broker.transport.connection import Connection, UnreadReplies
from ottla.broker.transport.context import Peer
from ottla.broker.transport.request_memory import RequestMemory
from ottla.wire.framing import FrameAssembler

FRAME_BYTES_MAX = 1_000_000


def connection(
    dispatcher: Any,
    unread_replies: UnreadReplies,
    *,
    request_memory: RequestMemory | None = None,
    trusted: RequestMemory | None = None,
    lost: Callable[[], None] = lambda: None,
) -> Connection:
    share = (request_memory or RequestMemory(FRAME_BYTES_MAX, lambda: 0.0)).share(trusted)
    return Connection(
        dispatcher,
        FrameAssembler(memoryview(bytearray(4096)), FRAME_BYTES_MAX, share),
        share,
        unread_replies,
        lambda host: Peer("PLAINTEXT", Listeners.BROKER, host),
        lambda connection: True,
        lambda connection: lost(),
    )
