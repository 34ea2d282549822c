"""Apache Kafka and Ottla as processes that a test starts, stops and kills."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from support.class_data import brief_java
from support.homes import CLUSTER_ID, Home, Quorum
from support.jars import PROJECT, class_path
from support.wire import answers

Kind = Literal["kafka", "ottla"]

START_SECONDS_MAX = 60  # Kafka waits out the 9 s session of a killed incarnation
STOP_SECONDS_MAX = 30
PR_SET_PDEATHSIG = 1
OTTLA = ("-m", "ottla")


class BrokerProcess:
    """One node running (or not) on a home. Kafka and Ottla may take turns on the same home."""

    def __init__(
        self,
        kind: Kind,
        home: Home,
        java: tuple[str, ...] | None = None,
        inside: tuple[str, ...] = (),
        program: tuple[str, ...] = OTTLA,
    ) -> None:
        """`inside` is a command that runs another, in a network of its own for example;
        `program` is what Python runs as Ottla."""
        self.kind = kind
        self.home = home
        self.java = java
        self.inside = inside
        self.program = program
        self.log = home.path / f"{kind}.log"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return self.home.bootstrap

    @property
    def pid(self) -> int:
        assert self.process is not None, "the broker was not started"
        return self.process.pid

    def start(self) -> float:
        """Start and wait until it answers Metadata; the seconds that took."""
        began = self.launch()
        self.wait_until_serving(began + START_SECONDS_MAX)
        return time.perf_counter() - began

    def launch(self) -> float:
        """Start without waiting; when that was. It dies with the thread that calls this."""
        file = self.home.write_properties()
        if self.kind == "kafka" and not self.home.formatted:
            format_with_kafka(self.home, file)
        began = time.perf_counter()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(file),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": f"{PROJECT / 'src'}:{PROJECT / 'tests'}"},
                cwd=self.home.path,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        return began

    def command(self, file: Path) -> list[str]:
        if self.kind == "kafka":
            java = self.java or brief_java()
            return [*self.inside, *java, "-cp", class_path(), "kafka.Kafka", str(file)]
        return [*self.inside, sys.executable, *self.program, "start", str(file)]

    def wait_until_serving(self, deadline: float) -> None:
        assert self.process is not None
        while not self.serves():
            if self.process.poll() is not None:
                raise AssertionError(f"{self.kind} ended at its start:\n{self.tail()}")
            if time.perf_counter() > deadline:
                self.kill9()
                raise AssertionError(f"{self.kind} does not serve:\n{self.tail()}")
            time.sleep(0.005)

    def serves(self) -> bool:
        return answers(self.bootstrap)

    def stop(self) -> float:
        """A clean stop; the seconds that took."""
        began = time.perf_counter()
        self.terminate()
        self.wait_until_stopped()
        return time.perf_counter() - began

    def terminate(self) -> None:
        assert self.process is not None
        self.process.terminate()

    def wait_until_stopped(self, seconds_max: float = STOP_SECONDS_MAX) -> None:
        assert self.process is not None
        self.process.wait(seconds_max)

    def kill9(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def discard(self) -> None:
        """Whatever is left of the process and its children goes; for the end of a test."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-3000:]


@contextlib.contextmanager
def running(kind: Kind, home: Home, program: tuple[str, ...] = OTTLA) -> Iterator[BrokerProcess]:
    """A broker that serves inside the block and is stopped cleanly at its end."""
    broker = BrokerProcess(kind, home, program=program)
    try:
        broker.start()
        yield broker
        broker.stop()
    finally:
        broker.discard()


def format_with_kafka(home: Home, file: Path) -> None:
    standalone = ["--standalone"] if home.quorum is Quorum.STANDALONE else []
    storage_tool = [*brief_java(), "-cp", class_path(), "kafka.tools.StorageTool", "format"]
    command = [*storage_tool, "-t", CLUSTER_ID, "-c", str(file), *standalone]
    subprocess.run(command, check=True, capture_output=True)


def die_with_parent() -> None:
    """A broker does not outlive a test run that was killed (Linux; elsewhere it may)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
