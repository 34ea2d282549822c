"""Changes on their way while database, broker, JVM and worker are killed: once each, in order."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import psycopg2
import pytest

from ottla.testing.connect import Connect
from support.brokers import BrokerProcess, Kind, running
from support.cdc import config
from support.homes import Home
from support.postgres import Postgres, running_postgres
from system.connect.asking import ask, until
from system.connect.requests import get, put
from system.connect.running import committed
from system.connect.test_runs_under_fire import jvms_of

pytestmark = [pytest.mark.java, pytest.mark.long, pytest.mark.timeout(1200)]


class Rows:
    """Written one transaction after the other; what was refused is written again."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres
        self.count = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> "Rows":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        self._done.set()
        self._thread.join()

    def _write(self) -> None:
        """A row's number is the last one that is there, and one more: none is left out."""
        while not self._done.wait(0.02):
            try:
                self._postgres.run(
                    "INSERT INTO orders SELECT (SELECT coalesce(max(id), 0) FROM orders) + n, 'new'"
                    " FROM generate_series(1, 3) n"
                )
                ((self.count,),) = self._postgres.rows("SELECT max(id) FROM orders")
            except psycopg2.Error:
                time.sleep(0.1)


@pytest.fixture
def own_broker(broker_kind: Kind, tmp_path: Path) -> Iterator[BrokerProcess]:
    with running(broker_kind, Home(path=tmp_path / "broker")) as process:
        yield process


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


def test_changes_are_there_once_whatever_is_killed(
    own_broker: BrokerProcess, own_postgres: Postgres
) -> None:
    prefix = f"fire{uuid4().hex[:6]}"
    topic = f"{prefix}.public.orders"
    own_postgres.run("CREATE TABLE orders (id int PRIMARY KEY, item text)")
    settings: dict[str, str | int] = {
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 500,
        **{f"{kind}.storage.replication.factor": 1 for kind in ("config", "offset", "status")},
    }
    keys = config(own_postgres, name="changes", topic_prefix=prefix, slot_name=prefix)
    keys |= {"retriable.restart.connector.wait.ms": "1000"}
    with Connect(own_broker.bootstrap, settings=settings, start_within_s=180) as worker:

        def database() -> None:
            own_postgres.kill()
            own_postgres.start()

        def broker() -> None:
            own_broker.kill9()
            own_broker.start()

        def jvm() -> None:
            for pid in jvms_of(worker.pid):
                os.kill(pid, signal.SIGKILL)

        def whole_worker() -> None:
            worker.kill()
            worker.start()

        with Rows(own_postgres) as rows:
            assert ask(worker.url, put("/connectors/changes/config", keys)).status == 201
            until(worker.url, "changes/0", "RUNNING")
            strikes: list[Callable[[], None]] = [
                *(database, broker, jvm, whole_worker, database, broker)
            ]
            for strike in [*strikes, lambda: None]:
                arrives(worker, own_broker.bootstrap, topic, rows.count + 1)
                strike()
            rows.end()
        wanted = [one for (one,) in own_postgres.rows("SELECT id FROM orders ORDER BY id")]
        arrives(worker, own_broker.bootstrap, topic, wanted[-1])
    found = ids_in(own_broker.bootstrap, topic)
    assert found == wanted
    print(f"{len(found)} changes, once each and in order, after {len(strikes)} kills")


def ids_in(bootstrap: str, topic: str) -> list[int]:
    return [
        json.loads(one.value() or b"")["payload"]["after"]["id"]
        for one in committed(bootstrap, topic, 0)
    ]


def arrives(worker: Connect, bootstrap: str, topic: str, number: int) -> None:
    deadline = time.monotonic() + 120
    while max(ids_in(bootstrap, topic), default=0) < number:
        if time.monotonic() > deadline:
            told = ask(worker.url, get("/connectors/changes/status")).body
            raise AssertionError(f"{number} does not arrive: {json.dumps(told)[:3000]}")
        time.sleep(0.3)
