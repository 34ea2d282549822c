"""The process around a node: event loop, signals, the line that says it is ready."""

import asyncio
import signal

import uvloop

from ottla.config import Settings
from ottla.node.node import Node
from ottla.node.process import freeze, log_to_stderr, tune


def run(settings: Settings) -> None:
    tune()
    log_to_stderr()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(settings))


async def serve(settings: Settings) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    node = Node(settings)
    await node.start()
    freeze()
    if node.advertised:
        first = node.advertised[0]
        print(f"ready {first.host}:{first.port}", flush=True)
    await stopped.wait()
    await node.stop()
