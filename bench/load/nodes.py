"""A fresh node for one load, and the clients that run against it as processes of their own."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.reach import Reach
from bench.rounds import java, run, warm_up
from support.brokers import BrokerProcess, Kind
from support.homes import Home

CLIENT_SECONDS_MAX = 300


@contextmanager
def fresh_node(
    kind: Kind, settings: Mapping[str, str] | None = None, *, warm: bool = True
) -> Iterator[BrokerProcess]:
    """Stopped and removed at the end of the block."""
    folder = Path(tempfile.mkdtemp(prefix="ottla-load-"))
    broker = BrokerProcess(kind, Home(path=folder, settings=settings or {}), java=java("1g"))
    try:
        broker.start()
        for load in warm_up() if warm else ():
            run(load, kind, Reach(broker.bootstrap), [broker.pid])
        yield broker
    finally:
        broker.discard()
        shutil.rmtree(folder, ignore_errors=True)


class Client:
    """`bench.load.client` at work. It ends by itself, or when `end` tells it that it is enough."""

    def __init__(self, work: str, broker: BrokerProcess, topic: str, **options: float) -> None:
        command = [sys.executable, "-m", "bench.load.client", work, broker.bootstrap, topic]
        command += [f"--{name}={value}" for name, value in options.items()]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def await_ready(self) -> None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line == "ready\n", f"a client did not get ready: {line!r}"

    def end(self) -> Any:
        """What it measured."""
        answer, _ = self._process.communicate("enough\n", timeout=CLIENT_SECONDS_MAX)
        return json.loads(answer)

    def await_end(self) -> Any:
        assert self._process.stdout is not None
        answer = self._process.stdout.read()
        self._process.wait(CLIENT_SECONDS_MAX)
        return json.loads(answer)

    def discard(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()


@contextmanager
def client(work: str, broker: BrokerProcess, topic: str, **options: float) -> Iterator[Client]:
    one = Client(work, broker, topic, **options)
    try:
        one.await_ready()
        yield one
    finally:
        one.discard()
