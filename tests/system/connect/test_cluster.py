"""Connectors on a cluster of Spark's: any executor may be given a task, and executors die."""

import os
import signal
from pathlib import Path

import pytest

from ottla.testing.connect import Connect
from system.connect.asking import ask
from system.connect.requests import get
from system.connect.running import lines_in, until
from system.connect.test_takeover import FileOfLines, Lines, family

pytestmark = [pytest.mark.java, pytest.mark.long, pytest.mark.timeout(900)]
MASTER = "local-cluster[2,1,1024]"


def executors(worker: Connect) -> list[int]:
    return [pid for pid in family(worker.pid) if b"CoarseGrainedExecutorBackend" in said_by(pid)]


def said_by(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_lines_are_there_once_whichever_executor_wrote_them_and_died(
    bootstrap: str, tmp_path: Path
) -> None:
    settings: dict[str, str | int] = {
        "group.id": "on-a-cluster",
        **{f"{kind}.storage.topic": f"cluster-{kind}" for kind in ("config", "offset", "status")},
        **{f"{kind}.storage.replication.factor": 1 for kind in ("config", "offset", "status")},
    }
    with Connect(bootstrap, settings=settings, master=MASTER, start_within_s=240) as worker:
        lines = Lines(bootstrap, tmp_path, FileOfLines(tmp_path / "out"))
        lines.begin(worker.url)
        for _ in range(10):  # each in another batch, and on whichever executor
            lines.wait_for_more(worker.url)
        assert len(executors(worker)) == 2
        os.kill(executors(worker)[0], signal.SIGKILL)
        lines.wait_for_more(worker.url)
        until(lambda: len(executors(worker)) == 2)
        lines.wait_for_more(worker.url)
        lines.end(worker.url)
        for name in ("lines", "back"):
            status = ask(worker.url, get(f"/connectors/{name}/status")).body
            assert status["tasks"][0]["state"] == "RUNNING", status
    lines.check()
    assert lines_in(tmp_path / "out")
