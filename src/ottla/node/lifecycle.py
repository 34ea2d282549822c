"""The process around a node: event loop, signals, the line that says it is ready."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

import uvloop

from ottla.config import Settings
from ottla.errors import OttlaError
from ottla.node.node import Node
from ottla.node.process import freeze, log_to_stderr, tune


def run(settings: Settings) -> None:
    tune()
    log_to_stderr(settings.topology.node_id)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(settings))


async def serve(settings: Settings) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    node = Node(settings)
    if not await done_before(node.start(), stopped):
        return  # nothing was served yet; the next start recovers what was opened
    freeze()
    if node.advertised:
        first = node.advertised[0]
        print(f"ready {first.host}:{first.port}", flush=True)
    await stopped_or_failed(stopped, node.quorum.failure)
    await node.stop()


async def stopped_or_failed(stopped: asyncio.Event, failure: "asyncio.Future[None]") -> None:
    """Without its metadata log a node can only do harm: then it ends as if it had been killed."""
    ends: list[asyncio.Future[Any]] = [asyncio.ensure_future(stopped.wait()), failure]
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    if failure.done():
        if isinstance(failure.exception(), OttlaError):
            failure.result()
        raise OttlaError(f"The metadata log failed, see above: {failure.exception()}")


async def done_before(starting: Coroutine[None, None, None], stopped: asyncio.Event) -> bool:
    """A node that waits for a majority may wait for long, and can be told to stop meanwhile."""
    loop = asyncio.get_running_loop()
    start, stop = loop.create_task(starting), loop.create_task(stopped.wait())
    await asyncio.wait([start, stop], return_when=asyncio.FIRST_COMPLETED)
    if start.done():
        stop.cancel()
        start.result()
        return True
    start.cancel()
    return False
