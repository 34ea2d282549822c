"""Exactly once under fire: driver and JVM are killed with -9 as lines flow from file to file.

The file grows all the time, a source writes its lines to a topic, a sink those to another file.
Read committed, the topic has each line once, in its order; so has the file.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from uuid import uuid4

import pytest

from ottla.connect.connectors.file_sink import marker_of
from system.connect import running as program
from system.connect.running import committed, lines_in, make_topics, until

HERE = Path(program.__file__)
PATHS = os.pathsep.join([str(HERE.parents[2]), str(HERE.parents[3] / "src")])


class Fire:
    def __init__(self, bootstrap: str, folder: Path) -> None:
        self.topic = f"fire-{uuid4()}"
        make_topics(bootstrap, **{self.topic: 1})
        self.into, self.out = folder / "in", folder / "out"
        self._bootstrap = bootstrap
        self._folder = folder
        plans = [
            {
                "name": f"source-{self.topic}",
                "connector.class": "FileStreamSource",
                "file": str(self.into),
                "topic": self.topic,
            },
            {
                "name": f"sink-{self.topic}",
                "connector.class": "FileStreamSink",
                "file": str(self.out),
                "topics": self.topic,
                "consumer.override.isolation.level": "read_committed",
            },
        ]
        (folder / "plans.json").write_text(json.dumps(plans))
        self._process: subprocess.Popen[bytes] | None = None
        self.written = 0
        self._stopping = threading.Event()
        self._feeder = threading.Thread(target=self._feed)

    def __enter__(self) -> "Fire":
        self.start()
        self._feeder.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._feeder.join()
        assert self._process is not None
        for pid in jvms_of(self._process.pid):
            os.kill(pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()

    def start(self) -> None:
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, HERE, self._bootstrap, self._folder / "plans.json"],
                env=os.environ | {"PYTHONPATH": PATHS},
                stdout=log,
                stderr=log,
            )

    def strike(self, victim: str) -> None:
        """In the midst of work; a JVM is replaced by the driver, a driver by us."""
        assert self._process is not None
        jvms = jvms_of(self._process.pid)
        if victim == "jvm":
            for pid in jvms:
                os.kill(pid, signal.SIGKILL)
        else:
            self._process.kill()
            self._process.wait()
            for pid in jvms:  # it ends by itself, but need not be waited for
                os.kill(pid, signal.SIGKILL)
            self.start()

    def wait_for_more(self) -> None:
        """Until a line has come through that was written after now."""
        after = self.written
        until(lambda: any(int(one) > after for one in self.lines()[-1:]), self.told)

    def lines(self) -> list[str]:
        """Up to the marker: what is behind it may be cut again."""
        if not marker_of(self.out).exists():
            return []
        length = json.loads(marker_of(self.out).read_text())["length"]
        return self.out.read_bytes()[:length].decode().split()

    def finish(self) -> None:
        self._stopping.set()
        self._feeder.join()
        until(lambda: len(self.lines()) >= self.written, self.told)
        assert self._process is not None
        self._process.terminate()
        assert self._process.wait(120) == 0, self.told()

    def told(self) -> str:
        return (self._folder / "log").read_text()[-3000:]

    def _feed(self) -> None:
        with self.into.open("a", buffering=1) as into:
            while not self._stopping.wait(0.01):
                into.write("".join(f"{self.written + at}\n" for at in range(20)))
                self.written += 20


def jvms_of(parent: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = status.read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if name == "java" and int(rest.split()[1]) == parent:
            found.append(int(status.parent.name))
    return found


def under_fire(bootstrap: str, folder: Path, victims: list[str]) -> None:
    with Fire(bootstrap, folder) as fire:
        fire.wait_for_more()
        for victim in victims:
            fire.strike(victim)
            fire.wait_for_more()
            time.sleep(0.3)  # somewhere in the next batches
        fire.finish()
        wanted = [str(number) for number in range(fire.written)]
        records = committed(bootstrap, fire.topic, fire.written)
    assert [(one.value() or b"").decode() for one in records] == wanted
    assert lines_in(fire.out) == wanted


@pytest.mark.long
@pytest.mark.timeout(900)
def test_lines_are_there_once_when_jvm_and_driver_were_killed(
    bootstrap: str, tmp_path: Path
) -> None:
    under_fire(bootstrap, tmp_path, ["jvm", "driver"])


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_lines_are_there_once_when_they_were_killed_again_and_again(
    bootstrap: str, tmp_path: Path
) -> None:
    under_fire(bootstrap, tmp_path, ["driver", "jvm", "jvm", "driver", "driver", "jvm"])
