"""What is measured in time, not in rows: latency, what idle connectors cost, and starts."""

import json
import statistics
import time
import uuid
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from bench.connect_arrivals import Topic
from bench.connect_jobs import Place, lines_file, streaming
from bench.connect_workers import Name, Side, until
from support.postgres import Postgres

WARM_S, MEASURED_S, COMMITS_MAX = 12.0, 15.0, 300
PAUSE_S = 0.03
IDLE_SETTLE_S, IDLE_S = 8.0, 20.0
FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"


def latency_ms(place: Place, side: Side) -> tuple[float, float]:
    """p50 and p99 from a commit of one row to its record, read committed; one at a time."""
    database = place.postgres.database()
    with streaming(place, side, database, 0) as (_, topic):
        commits = Commits(place, database, topic)
        commits.run(WARM_S)
        taken = commits.run(MEASURED_S)
        commits.close()
    topic.delete()
    taken.sort()
    return statistics.median(taken), taken[int(len(taken) * 0.99)]


class Commits:
    def __init__(self, place: Place, database: Postgres, topic: Topic) -> None:
        self._connection = database.connect()
        self._id = 0
        self._consumer = Consumer(
            {
                "bootstrap.servers": place.bootstrap,
                "group.id": uuid.uuid4().hex,
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 100,
                "enable.auto.commit": False,
            }
        )
        self._consumer.assign([TopicPartition(topic.name, 0, 0)])

    def run(self, seconds: float) -> list[float]:
        """In milliseconds."""
        taken: list[float] = []
        end = time.monotonic() + seconds
        while time.monotonic() < end and len(taken) < COMMITS_MAX:
            self._id += 1
            with self._connection.cursor() as cursor:
                cursor.execute("INSERT INTO orders VALUES (%s, 1, 'timed')", (self._id,))
            began = time.perf_counter()
            self._connection.commit()
            self._await(self._id)
            taken.append((time.perf_counter() - began) * 1000)
            time.sleep(PAUSE_S)
        return taken

    def _await(self, number: int) -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            message = self._consumer.poll(1.0)
            if message is None or message.error() is not None:
                continue
            if json.loads(message.value() or b"")["payload"]["after"]["id"] == number:
                return
        raise SystemExit(f"The change of row {number} did not arrive.")

    def close(self) -> None:
        self._consumer.close()
        self._connection.close()


def idle_percent(place: Place, side: Side) -> float:
    """Of a core, by ten connectors that wait for news: files, changes, a table."""
    database = place.postgres.database()
    with streaming(place, side, database, 0) as (_, topic):
        configs = _idle_configs(place, topic.name, database)
        for name, config in configs.items():
            side.put(name, config)
        for name in configs:
            until(lambda name=name: side.state(name) == "RUNNING", f"{name} runs")  # type: ignore[misc]
        time.sleep(IDLE_SETTLE_S)
        before, began = side.cpu_s(), time.monotonic()
        time.sleep(IDLE_S)
        percent = (side.cpu_s() - before) / (time.monotonic() - began) * 100
        for name in configs:
            side.delete(name)
    topic.delete()
    return percent


def _idle_configs(place: Place, topic: str, database: Postgres) -> dict[str, dict[str, str]]:
    """Nine, beside the one that captures changes."""
    own = uuid.uuid4().hex[:6]
    file = lines_file(place.folder, 10)
    sources = {
        f"idle-source-{own}-{at}": {
            "connector.class": FILE_SOURCE,
            "file": str(file),
            "topic": f"idle-{own}-{at}",
            "tasks.max": "1",
        }
        for at in range(4)
    }
    sinks = {
        f"idle-sink-{own}-{at}": {
            "connector.class": FILE_SINK,
            "file": str(Path(place.folder) / f"idle-{own}-{at}.txt"),
            "topics": f"idle-{own}-{at}",
            "tasks.max": "1",
        }
        for at in range(4)
    }
    jdbc = {
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "topics": topic,
        "tasks.max": "1",
        "connection.url": database.jdbc_url,
        "connection.username": database.user,
        "connection.password": database.password,
        "insert.mode": "upsert",
        "primary.key.mode": "record_key",
        "schema.evolution": "basic",
        "collection.name.format": "copied",
    }
    return {**sources, **sinks, f"idle-jdbc-{own}": jdbc}


def first_records(place: Place, name: Name) -> dict[str, float]:
    """Seconds from a worker's start to the first record of each of its two connectors.

    The worker has run before, so its connectors are in Kafka, and caches are filled.
    """
    side = Side.of(name, place.bootstrap)
    database = place.postgres.database()
    file = place.folder / f"start-{uuid.uuid4().hex[:6]}.txt"
    file.write_text("before\n")
    try:
        side.start()
        lines = place.topic(0)
        side.put(
            f"start-{lines.name}",
            {"connector.class": FILE_SOURCE, "file": str(file), "topic": lines.name},
        )
        until(lambda: lines.seen().safe > 0, "the first line arrives")
        with streaming(place, side, database, 0) as (_, changes):
            side.stop()
            with file.open("a") as more:
                more.write("behind\n")
            database.run("INSERT INTO orders VALUES (1, 1, 'second')")
            targets = {"file source": lines, "CDC": changes}
            waiting = {what: (one, one.seen().safe) for what, one in targets.items()}
            found = _firsts(side, waiting)
            until(lambda: side.state(f"start-{lines.name}") == "RUNNING", "it runs")
    finally:
        side.close()
    return found


def _firsts(side: Side, waiting: dict[str, tuple[Topic, int]]) -> dict[str, float]:
    found: dict[str, float] = {}
    began = time.monotonic()
    side.launch()
    while len(found) < len(waiting):
        for what, (topic, before) in waiting.items():
            if what not in found and topic.seen().safe > before:
                found[what] = time.monotonic() - began
        if time.monotonic() - began > 120:
            raise SystemExit(f"{side.name} does not go on within two minutes.")
        time.sleep(0.02)
    return found
