"""A broker's connection around a dispatcher of the test's."""

from collections.abc import Callable
from typing import Any

from ottla.broker.api import Listeners
from ottla.broker.connection import Connection, Outflow
from ottla.broker.context import Peer
from ottla.broker.inflow import Inflow
from ottla.wire.framing import FrameAssembler

FRAME_BYTES_MAX = 1_000_000


def connection(
    dispatcher: Any,
    outflow: Outflow,
    *,
    inflow: Inflow | None = None,
    lost: Callable[[], object] = lambda: None,
) -> Connection:
    share = (inflow or Inflow(FRAME_BYTES_MAX, lambda: 0.0)).share()
    return Connection(
        dispatcher,
        FrameAssembler(memoryview(bytearray(4096)), FRAME_BYTES_MAX, share),
        share,
        outflow,
        lambda host: Peer("PLAINTEXT", Listeners.BROKER, host),
        lambda connection: True,
        lambda connection: lost(),
    )
