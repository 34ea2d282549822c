"""An application as a user runs it, in processes of its own, and a broker: each can be killed.

And the clients that feed such an application and read its results."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

from confluent_kafka import Consumer, Producer

from support.brokers import BrokerProcess, Kind
from support.homes import Home

SOURCE = Path(__file__).parents[3] / "src"
WORKS_WITHIN_S = 240.0
PROCESSES = {
    "jvm": "SparkSubmit",
    "worker": "-m ottla.pipelines.runtime.daemon",
    "executor": "CoarseGrainedExecutorBackend",
}


class Struck:
    """`ottla run` of a program on a broker of its own."""

    def __init__(self, kind: Kind, folder: Path, program: str, master: Sequence[str] = ()) -> None:
        self.broker = BrokerProcess(kind, Home(path=folder / "node"))
        self.broker.start()
        self.folder = folder
        (folder / "program.py").write_text(program)
        self._master = master
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return self.broker.bootstrap

    @property
    def told(self) -> str:
        """The end of what the application said."""
        return (self.folder / "run.log").read_text()[-2000:]

    def start(self) -> None:
        command = [sys.executable, "-m", "ottla", "run", "--no-ui", *self._master]
        environment = os.environ | {
            "PYTHONPATH": str(SOURCE),
            "OTTLA_BOOTSTRAP": self.bootstrap,
            "OTTLA_STATE": str(self.folder / "state"),
        }
        with (self.folder / "run.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, str(self.folder / "program.py")],
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def strike(self, victim: str) -> None:
        """Kill it in the midst of work, and start it again if nobody else does."""
        assert self._process is not None
        if victim == "broker":
            self.broker.kill9()
            self.broker.start()
        elif victim == "driver":
            self._restart()
        else:
            for pid in self._await(victim):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if victim == "jvm":  # the driver is nothing without it
                self._restart()

    def await_work(self) -> None:
        """Until it has ended a batch since it was started.

        A JVM whose driver was killed lives a little longer, and may end one that is not meant.
        """
        deadline = time.monotonic() + WORKS_WITHIN_S
        began: float | None = None
        while began is None or not any(
            path.stat().st_mtime > began for path in self.folder.glob("state/**/commits/*")
        ):
            assert time.monotonic() < deadline, f"it does nothing:\n{self.told}"
            time.sleep(0.1)
            if began is None and self._those("jvm"):
                began = time.time()

    def _await(self, victim: str) -> list[int]:
        """Processes of a kind, as soon as there are any: stages do not begin all at once."""
        deadline = time.monotonic() + WORKS_WITHIN_S
        while not (found := self._those(victim)):
            assert time.monotonic() < deadline, f"no {victim} to kill:\n{self.told}"
            time.sleep(0.1)
        return found

    def _those(self, victim: str) -> list[int]:
        assert self._process is not None
        return [pid for pid, command in below(self._process.pid) if PROCESSES[victim] in command]

    def change(self, program: str) -> None:
        """Stop it, and start another program in its place."""
        self.stop()
        (self.folder / "program.py").write_text(program)
        self.start()

    def stop(self) -> None:
        """A clean stop, which must succeed."""
        assert self._process is not None
        self._process.terminate()
        assert self._process.wait(60) == 0, self.told

    def close(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self.broker.discard()

    def _restart(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait(30)
        self.start()


def reading(bootstrap: str) -> Consumer:
    """Sees what is committed and where it ends; waits but little for a broker to be back."""
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": uuid.uuid4().hex,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }
    )


def feeding(bootstrap: str) -> Producer:
    """What it has sent stands there once, whoever was killed."""
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": 5,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }
    )


def below(pid: int) -> Iterator[tuple[int, str]]:
    """Every process below this one, with its command."""
    listed = subprocess.run(
        ["ps", "-ewwo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    family = {pid}
    for _ in range(6):
        family |= {int(row[0]) for row in rows if int(row[1]) in family}
    for row in rows:
        if int(row[0]) in family and int(row[0]) != pid:
            yield int(row[0]), row[2]
