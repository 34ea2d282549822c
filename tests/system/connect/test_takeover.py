"""Two workers of one group, each with a Spark of its own: the leading one dies, or is frozen and
wakes up when the other has taken over. Lines flow all the while, once each: from a file to a file,
or to a table. Whoever is frozen with the lock of a file keeps it; databases take theirs away."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import pytest

from ottla.testing.connect import Connect
from support.postgres import Postgres, running_postgres
from system.connect.asking import ask
from system.connect.requests import get, put
from system.connect.running import JSON, STRING, committed, lines_in, make_topics, until

pytestmark = [pytest.mark.java, pytest.mark.long, pytest.mark.timeout(900)]
SESSION_S = 6.0


class Sink(Protocol):
    """Where lines go, and how they travel."""

    source: Mapping[str, str]  # what the source is told besides
    config: Mapping[str, str]

    def lines(self) -> list[str]: ...

    def line(self, value: bytes) -> str:
        """Of a record's value."""


class FileOfLines:
    def __init__(self, file: Path) -> None:
        self.source: Mapping[str, str] = {"value.converter": STRING}
        self.config: Mapping[str, str] = {
            "value.converter": STRING,
            "connector.class": "FileStreamSink",
            "file": str(file),
        }
        self._file = file

    def lines(self) -> list[str]:
        return lines_in(self._file)

    def line(self, value: bytes) -> str:
        return value.decode()


class TableOfLines:
    """Rows without a key: one that is written twice is there twice."""

    def __init__(self, database: Postgres) -> None:
        self.source: Mapping[str, str] = {
            "value.converter": JSON,
            "transforms": "hoist",
            "transforms.hoist.type": "org.apache.kafka.connect.transforms.HoistField$Value",
            "transforms.hoist.field": "line",
        }
        self.config: Mapping[str, str] = {
            "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
            "value.converter": JSON,
            "connection.url": database.jdbc_url,
            "connection.user": database.user,
            "connection.password": database.password,
            "table.name.format": "lines",
        }
        self._database = database
        database.run("CREATE TABLE lines (at serial, line text)")

    def lines(self) -> list[str]:
        return [line for (line,) in self._database.rows("SELECT line FROM lines ORDER BY at")]

    def line(self, value: bytes) -> str:
        return str(json.loads(value)["payload"]["line"])


class Lines:
    """A source and a sink at whoever leads, and a file that grows."""

    def __init__(self, bootstrap: str, folder: Path, sink: Sink) -> None:
        self.bootstrap = bootstrap
        self.topic = f"taken-{uuid4().hex[:8]}"
        self.into, self.sink = folder / "in", sink
        self.written = 0
        self._done = threading.Event()
        self._feeder = threading.Thread(target=self._feed)

    def begin(self, url: str) -> None:
        make_topics(self.bootstrap, **{self.topic: 1})
        keys = {"key.converter": STRING}
        source = {"connector.class": "FileStreamSource", "file": str(self.into)} | keys
        source |= {"topic": self.topic, **self.sink.source}
        reads = {"topics": self.topic, "consumer.override.isolation.level": "read_committed"}
        for name, config in (("lines", source), ("back", {**self.sink.config, **reads, **keys})):
            answer = ask(url, put(f"/connectors/{name}/config", config))
            assert answer.status == 201, answer.body
        self._feeder.start()

    def wait_for_more(self, url: str) -> None:
        after = self.written
        until(
            lambda: any(int(one) > after for one in self.sink.lines()[-1:] if one),
            lambda: ask(url, get("/connectors?expand=status")).body,
        )

    def end(self, url: str) -> None:
        self._done.set()
        self._feeder.join()
        until(
            lambda: len(self.sink.lines()) >= self.written,
            lambda: ask(url, get("/connectors?expand=status")).body,
        )

    def check(self) -> None:
        wanted = [str(number) for number in range(self.written)]
        records = committed(self.bootstrap, self.topic, len(wanted))
        assert [self.sink.line(one.value() or b"") for one in records] == wanted
        assert self.sink.lines() == wanted

    def _feed(self) -> None:
        with self.into.open("a", buffering=1) as into:
            while not self._done.wait(0.02):
                into.write("".join(f"{self.written + at}\n" for at in range(20)))
                self.written += 20


@pytest.fixture
def workers(bootstrap: str) -> Iterator[tuple[Connect, Connect]]:
    own = uuid4().hex[:8]
    settings: dict[str, str | int] = {
        "group.id": f"connect-{own}",
        "session.timeout.ms": int(SESSION_S * 1000),
        "heartbeat.interval.ms": 500,
        **{f"{kind}.storage.topic": f"{kind}-{own}" for kind in ("config", "offset", "status")},
        **{f"{kind}.storage.replication.factor": 1 for kind in ("config", "offset", "status")},
    }
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(Connect(bootstrap, settings=settings, start_within_s=120))
            for _ in range(2)
        )
        yield first, second


@pytest.fixture
def table() -> Iterator[Sink]:
    with running_postgres() as server:
        yield TableOfLines(server.database())


def leader_of(workers: tuple[Connect, Connect]) -> tuple[Connect, Connect]:
    """Who leads, and who does not; told by where the connectors run."""
    status = ask(workers[0].url, get("/connectors/lines/status")).body
    at = status["connector"]["worker_id"]
    first, second = workers
    return (first, second) if at == f"127.0.0.1:{first.port}" else (second, first)


def family(pid: int) -> list[int]:
    """A process and all its descendants: JVM, and the JVM's Python workers."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


@contextmanager
def frozen(pids: list[int]) -> Iterator[None]:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in reversed(pids):
            os.kill(pid, signal.SIGCONT)


def test_a_worker_that_was_killed_is_replaced_within_its_session(
    bootstrap: str, workers: tuple[Connect, Connect], tmp_path: Path
) -> None:
    lines = Lines(bootstrap, tmp_path, FileOfLines(tmp_path / "out"))
    lines.begin(workers[0].url)
    lines.wait_for_more(workers[0].url)
    leader, other = leader_of(workers)
    leader.kill()
    began = time.monotonic()
    until(lambda: leads(other))
    print(f"another leads after {time.monotonic() - began:.1f} s of a session of {SESSION_S:g} s")
    lines.wait_for_more(other.url)
    print(f"lines arrive again after {time.monotonic() - began:.1f} s")
    lines.end(other.url)
    lines.check()


def leads(worker: Connect) -> bool:
    status = ask(worker.url, get("/connectors/lines/status")).body
    return bool(
        status["connector"] == status["connector"] | {"state": "RUNNING"}
        and status["connector"]["worker_id"] == f"127.0.0.1:{worker.port}"
    )


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "driver"])
def test_a_worker_that_was_frozen_writes_nothing_when_it_wakes(
    bootstrap: str, workers: tuple[Connect, Connect], tmp_path: Path, table: Sink, whole: bool
) -> None:
    """Frozen with its JVM, or without: then jobs that run go on, and nobody hears of them."""
    lines = Lines(bootstrap, tmp_path, table)
    lines.begin(workers[0].url)
    lines.wait_for_more(workers[0].url)
    leader, other = leader_of(workers)
    with frozen(family(leader.pid) if whole else [leader.pid]):
        until(lambda: leads(other))
        lines.wait_for_more(other.url)
    lines.wait_for_more(other.url)
    until(lambda: ask(leader.url, get("/health")).status == 200)
    assert leads(other)
    lines.wait_for_more(other.url)
    # It follows, and hands on what it is asked for.
    assert ask(leader.url, put("/connectors/lines/pause")).status == 202
    assert ask(leader.url, put("/connectors/lines/resume")).status == 202
    lines.end(other.url)
    lines.check()
    for name in ("lines", "back"):
        told = ask(leader.url, get(f"/connectors/{name}/status")).body
        assert [told["connector"]["state"], told["tasks"][0]["state"]] == ["RUNNING", "RUNNING"]
