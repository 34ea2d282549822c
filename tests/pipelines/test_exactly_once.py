"""Exactly once under fire: driver, JVM and Python workers are killed while records flow."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from ottla.pipelines.app import App
from ottla.pipelines.topics import NewTopic, create

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
SOURCE = Path(__file__).parents[2] / "src"
PROGRAM = """
import ottla
from ottla.pipelines import json
app = ottla.App("{name}", delivery="exactly_once")
numbers = app.stream("{name}-in", value=json("n BIGINT"))
numbers.with_columns(square="n * n").to("{name}-squares")
numbers.with_columns(bucket="n % 7").group_by("bucket").agg(
    n="count(*)", total="sum(n)"
).to("{name}-totals")
"""
STARTED_WITHIN_S = 240


class Application:
    """The program as a user runs it, in a process that can be killed."""

    def __init__(self, name: str, bootstrap: str, folder: Path) -> None:
        self.name = name
        self.file = folder / "program.py"
        self.file.write_text(PROGRAM.format(name=name))
        self.environment = os.environ | {
            "PYTHONPATH": str(SOURCE),
            "OTTLA_BOOTSTRAP": bootstrap,
            "OTTLA_STATE": str(folder / "state"),
        }
        self.log = folder / "run.log"

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "ottla", "run", "--no-ui", *arguments, str(self.file)]
        with self.log.open("ab") as log:
            return subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)


def children(pid: int) -> Iterator[tuple[int, str]]:
    """Every process below this one, with its command."""
    listed = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    below = {pid}
    for _ in range(5):
        below |= {int(row[0]) for row in rows if int(row[1]) in below}
    for row in rows:
        if int(row[0]) in below and int(row[0]) != pid:
            yield int(row[0]), row[2]


def read_all(bootstrap: str, topic: str, partitions: int) -> list[Any]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": uuid.uuid4().hex,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    found, open_partitions = [], partitions
    while open_partitions:
        message = consumer.poll(30)
        assert message is not None
        if message.error():
            open_partitions -= 1
            continue
        found.append(json.loads(message.value() or b""))
    consumer.close()
    return found


def feed(bootstrap: str, topic: str, until: threading.Event, sent: list[int]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
    number = 0
    while not until.wait(0.01):
        for _ in range(10):
            producer.produce(topic, json.dumps({"n": number}), key=str(number))
            number += 1
        producer.poll(0)
    assert producer.flush(60) == 0
    sent.append(number)


def wait_for_output(bootstrap: str, topic: str, more_than: int) -> int:
    """Until the output has grown: proof that the application works at this moment."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": uuid.uuid4().hex})
    deadline = time.monotonic() + STARTED_WITHIN_S
    while time.monotonic() < deadline:
        with contextlib.suppress(KafkaException):  # a topic that was made just now
            ends = [
                consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=10)[1]
                for number in range(2)
            ]
            if sum(ends) > more_than:
                consumer.close()
                return sum(ends)
        time.sleep(0.2)
    raise AssertionError(f"{topic} did not grow beyond {more_than} records")


def test_every_result_is_there_once_whatever_was_killed(driven: str, tmp_path: Path) -> None:
    name = f"fire-{uuid.uuid4().hex[:6]}"
    topics = [NewTopic(f"{name}-{part}", 2) for part in ("in", "squares", "totals")]
    create(App(name, bootstrap=driven).definition(), topics)
    program = Application(name, driven, tmp_path)
    until, sent = threading.Event(), []  # type: ignore[var-annotated]
    feeder = threading.Thread(target=feed, args=(driven, f"{name}-in", until, sent))
    feeder.start()
    grown = 0
    running: list[subprocess.Popen[bytes]] = []
    try:
        for victim in ("worker", "java", "driver"):
            process = program.start()
            running.append(process)
            grown = wait_for_output(driven, f"{name}-squares", grown)
            below = list(children(process.pid))
            if victim == "worker":
                for pid, command in below:
                    if "daemon" in command:
                        os.kill(pid, signal.SIGKILL)
                grown = wait_for_output(driven, f"{name}-squares", grown + 500)
            if victim == "java":
                os.kill(next(pid for pid, command in below if "java" in command), signal.SIGKILL)
            process.kill()
            process.wait(30)
    finally:
        until.set()
        feeder.join()
        for process in running:
            process.kill()
    last = program.start("--until-done")
    assert last.wait(STARTED_WITHIN_S) == 0, program.log.read_text()[-2000:]
    squares = read_all(driven, f"{name}-squares", 2)
    assert Counter(row["n"] for row in squares) == Counter(range(sent[0]))
    assert all(row["square"] == row["n"] ** 2 for row in squares)
    totals = {row["bucket"]: row for row in read_all(driven, f"{name}-totals", 2)}
    for bucket in range(7):
        mine = [number for number in range(sent[0]) if number % 7 == bucket]
        assert (totals[bucket]["n"], totals[bucket]["total"]) == (len(mine), sum(mine))
