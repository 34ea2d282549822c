"""The demo's customers in a table of SQLite, whose changes a connector brings into the topic.

A worker of Connect runs in this process, on the Spark that the demo has: its REST can be asked
while the demo runs. Orders do not wait for it for long: if it is slow, the rows of the beginning
are produced straight. Where what it needs is missing, all of them are.
"""

import asyncio
import json
import sqlite3
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from ottla.client.connect import ConnectClient
from ottla.client.connection import Connection
from ottla.pipelines.lifecycle.showcase import CUSTOMERS, Customers, ProducedCustomers

ARRIVE_WITHIN_S = 15.0
SERVE_WITHIN_S = 30.0
_SMT = "org.apache.kafka.connect.transforms."
_TABLE = """
CREATE TABLE customers (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    country TEXT NOT NULL,
    changed_at TIMESTAMP NOT NULL
)"""
_UPSERT = """
INSERT INTO customers (id, name, country, changed_at) VALUES (?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET country = excluded.country, changed_at = excluded.changed_at"""


def customers_in_a_table(connection: Connection, folder: Path) -> Customers:
    """Or straight in their topic, where connectors cannot be run."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as missing:
        print(f"{missing.name} is missing (ottla[connect]): customers come without a database.")
        return ProducedCustomers(connection)
    return TableOfCustomers(connection, folder / "shop.db")


def connector(file: Path) -> dict[str, str]:
    """As anybody would write it down."""
    return {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
        "connection.url": f"jdbc:sqlite:{file}",
        "table.whitelist": "customers",
        "mode": "timestamp+incrementing",
        "timestamp.column.name": "changed_at",
        "incrementing.column.name": "number",
        "topic.prefix": "",
        "poll.interval.ms": "250",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "transforms": "key,id",
        "transforms.key.type": f"{_SMT}ValueToKey",
        "transforms.key.fields": "id",
        "transforms.id.type": f"{_SMT}ExtractField$Key",
        "transforms.id.field": "id",
    }


class TableOfCustomers:
    """Called by the demo's threads; what arrives in the topic is watched by one of its own."""

    def __init__(self, connection: Connection, file: Path) -> None:
        self._connection = connection
        self._file = file
        self._writing = threading.Lock()
        self._database = sqlite3.connect(file, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode = WAL")  # readers do not hold writers up
        self._database.execute(_TABLE)
        self._expected: set[str] = set()
        self._worker = _Worker(connection)
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._count = 0
        self._newest = ""
        self._trouble: str | None = None

    def put(self, key: str, name: str, country: str) -> None:
        now = datetime.now(UTC).replace(tzinfo=None).isoformat(" ", "milliseconds")
        with self._writing, self._database:
            self._database.execute(_UPSERT, (key, name, country, now))
        self._expected.add(key)

    def begin(self, arrived: Callable[[], None]) -> None:
        for work in (lambda: self._watch(arrived), self._start):
            self._threads.append(threading.Thread(target=work, daemon=True))
            self._threads[-1].start()

    def news(self) -> str | None:
        if not self._count:
            return self._trouble
        return (
            f"{self._count:,} rows of the table customers have arrived by jdbc-source, "
            f"the newest: {self._newest} · {self._worker.url}"
        )

    def close(self) -> None:
        self._stopping.set()
        self._worker.stop()
        for thread in self._threads:
            thread.join(10)
        self._database.close()

    def _start(self) -> None:
        config = {"name": "customers", **connector(self._file)}
        try:
            self._worker.start()
            ConnectClient(self._worker.url).put("customers", config)
        except Exception as error:  # the demo goes on without it
            self._trouble = f"The connector of the table customers cannot be run: {error}"

    def _watch(self, arrived: Callable[[], None]) -> None:
        """What comes into the topic, as everybody sees it."""
        consumer = self._connection.consumer(
            {
                "group.id": "customers-window",
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 10,
            }
        )
        consumer.subscribe([CUSTOMERS])
        missing: set[str] | None = set(self._expected)
        deadline = time.monotonic() + ARRIVE_WITHIN_S
        while not self._stopping.is_set():
            message = consumer.poll(0.2)
            if message is not None and not message.error():
                key = (message.key() or b"").decode()
                self._take(json.loads(message.value() or b"{}"))
                if missing is not None:
                    missing.discard(key)
            if missing is not None and (not missing or time.monotonic() > deadline):
                if missing:
                    self._produce_straight()
                missing = None
                arrived()
        consumer.close()

    def _take(self, row: dict[str, object]) -> None:
        if "changed_at" in row:  # what was produced straight has no such field
            self._count += 1
            age_ms = time.time() * 1000 - float(str(row["changed_at"]))
            self._newest = f"{row['name']} in {row['country']}, {age_ms:,.0f} ms after its change"

    def _produce_straight(self) -> None:
        straight = ProducedCustomers(self._connection)
        with self._writing:
            rows = self._database.execute("SELECT id, name, country FROM customers").fetchall()
        for row in rows:
            straight.put(*row)
        straight.close()


class _Worker:
    """Connect's, on a loop of its own, with runs on the Spark of this process."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._serving = threading.Event()
        self._stop: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.url = ""

    def start(self) -> None:
        """Returns when it serves."""
        self._thread.start()
        if not self._serving.wait(SERVE_WITHIN_S) or not self.url:
            raise TimeoutError("the worker does not serve")

    def stop(self) -> None:
        if self._loop is not None and self._stop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(30)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:
            self._serving.set()

    async def _serve(self) -> None:
        from ottla.connect.runs.spark_runner import SparkRunner
        from ottla.connect.server import running
        from ottla.connect.settings import read_settings
        from ottla.serving.options import Said

        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        said = {**self._connection.java(), "listeners": "http://127.0.0.1:0"}
        said |= {f"{one}.storage.replication.factor": "1" for one in ("config", "offset", "status")}
        settings = read_settings(None, [Said(*one, "the demo") for one in said.items()])
        async with running(settings, SparkRunner()) as connect:
            assert connect.worker.leadership is not None
            await connect.worker.leadership.settled(SERVE_WITHIN_S)
            (self.url,) = connect.urls
            self._serving.set()
            await self._stop.wait()
