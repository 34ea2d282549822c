"""Connectors without a worker: plans as it would make them, run here or in a process of their own.

As a program it runs what is written in the plan file until it is told to stop, or is killed.
"""

import json
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaException, Message, TopicPartition
from confluent_kafka.admin import NewTopic

from ottla.client.connection import Connection
from ottla.connect.runs.run import Run, RunEvent, Runner, RunPlan
from ottla.connect.runs.spark_runner import SparkRunner

STRING = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
OFFSETS = "connect-offsets"
WITHIN_S = 240.0


def plan_of(bootstrap: str, config: dict[str, str], tasks: int = 1) -> RunPlan:
    return RunPlan(
        name=config["name"],
        config=config,
        resolved=config,
        tasks=tasks,
        group_id="connect-cluster",
        offsets_topic=OFFSETS,
        own_offsets_topic=config.get("offsets.storage.topic"),
        connection=Connection(bootstrap),
        worker={"key.converter": STRING, "value.converter": STRING},
    )


def make_topics(bootstrap: str, **partitions: int) -> None:
    admin = Connection(bootstrap).admin()
    wanted = [NewTopic(topic, count, 1) for topic, count in partitions.items()]
    wanted.append(NewTopic(OFFSETS, 25, 1, config={"cleanup.policy": "compact"}))
    for made in admin.create_topics(wanted).values():
        try:
            made.result()
        except KafkaException as error:
            if error.args[0].name() != "TOPIC_ALREADY_EXISTS":
                raise


@contextmanager
def running(
    runner: Runner, bootstrap: str, config: dict[str, str], tasks: int = 1
) -> Iterator["queue.Queue[RunEvent]"]:
    events: queue.Queue[RunEvent] = queue.Queue()
    run = runner.run(plan_of(bootstrap, config, tasks), events.put)
    try:
        yield events
    finally:
        run.stop()


def committed(bootstrap: str, topic: str, count: int, partitions: int = 1) -> list[Message]:
    """That many records, read committed; and none behind them."""
    consumer = Connection(bootstrap).consumer(
        {"group.id": "reader", "isolation.level": "read_committed", "enable.partition.eof": True}
    )
    consumer.assign([TopicPartition(topic, at, 0) for at in range(partitions)])
    found: list[Message] = []
    ended: set[int | None] = set()
    end = time.monotonic() + WITHIN_S
    try:
        while len(found) < count or len(ended) < partitions:
            assert time.monotonic() < end, f"{len(found)} of {count} records in {topic}"
            message = consumer.poll(0.5)
            if message is None:
                continue
            if message.error() is None:
                found.append(message)
                ended.discard(message.partition())
            else:
                ended.add(message.partition())
    finally:
        consumer.close()
    return found


def until(condition: Callable[[], bool], told: Callable[[], object] = lambda: "") -> None:
    end = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < end, told()
        time.sleep(0.02)


def lines_in(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def main(bootstrap: str, plans: str) -> None:
    runner = SparkRunner()
    report: Callable[[RunEvent], None] = lambda event: print(event, flush=True)  # noqa: E731
    runs: list[Run] = [
        runner.run(plan_of(bootstrap, config), report)
        for config in json.loads(Path(plans).read_text())
    ]
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    stopped.wait()
    for run in runs:
        run.stop()
    runner.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
