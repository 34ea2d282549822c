"""Certificates and their authority are replaced under clients that go on: none sees an error.

Clients that were made before the new authority was believed are replaced before its certificates
are shown, as the command says; all others work on, and new ones come all the time.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from typer.testing import CliRunner

from ottla.cli.app import app
from ottla.client.connection import read_connection
from ottla.client.files import LIBRDKAFKA
from support.confluent import wait_until
from support.supervised import running

SECONDS_MAX, NODES, TOPIC, PARTITIONS = 60, (1, 2, 3), "t", 3
READ = "has new certificates"


class Worker(threading.Thread):
    """A client at work until it is told to stop; whatever librdkafka complained about."""

    def __init__(self, home: Path) -> None:
        super().__init__(daemon=True)
        self.complaints: list[str] = []
        self.done = threading.Event()
        self.count = 0
        self._file = home / "secure" / "clients" / "admin" / LIBRDKAFKA

    def config(self, **options: Any) -> dict[str, Any]:
        """By the client file as it is now."""
        said = read_connection(file=self._file, environ={})
        return {
            "bootstrap.servers": said.bootstrap,
            **said.librdkafka(),
            "error_cb": lambda error: self.complaints.append(f"{type(self).__name__}: {error}"),
            "log_level": 0,
            **options,
        }

    def delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is None:
            self.count += 1
        else:
            self.complaints.append(str(error))

    def await_progress(self) -> None:
        known = self.count
        wait_until(lambda: self.count > known or bool(self.complaints), SECONDS_MAX)


class Writer(Worker):
    def run(self) -> None:
        producer = Producer(self.config(**{"enable.idempotence": True, "linger.ms": 1}))
        while not self.done.wait(0.01):
            producer.produce(TOPIC, b"w", on_delivery=self.delivered)
            producer.poll(0)
        if producer.flush(SECONDS_MAX):
            self.complaints.append("records were not acknowledged")


class Reader(Worker):
    def run(self) -> None:
        consumer = Consumer(self.config(**{"group.id": self.name, "auto.offset.reset": "latest"}))
        consumer.subscribe([TOPIC])
        while not self.done.is_set():
            message = consumer.poll(0.2)
            if message is None:
                continue
            if message.error() is not None:
                self.complaints.append(str(message.error()))
            self.count += 1
        consumer.close()


class Newcomers(Worker):
    """One after the other: each connects anew to bootstrap and leader, writes, and goes."""

    def run(self) -> None:
        while not self.done.wait(0.1):
            producer = Producer(self.config())
            producer.produce(TOPIC, b"n", on_delivery=self.delivered)
            if producer.flush(SECONDS_MAX):
                self.complaints.append("a newcomer's record was not acknowledged")


@contextmanager
def at_work(*workers: Worker) -> Iterator[None]:
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.await_progress()
    yield
    for worker in workers:
        worker.await_progress()
    for worker in workers:
        worker.done.set()
    for worker in workers:
        worker.join(SECONDS_MAX)
        assert not worker.complaints


def rotate(home: Path, *options: str) -> str:
    """Until every node has read what is new, for its three listeners and its two kinds of links."""
    before = {node: log(home, node).count(READ) for node in NODES}
    ran = CliRunner().invoke(app, ["secure", "rotate", str(home), *options], prog_name="ottla")
    assert ran.exit_code == 0, ran.output
    wait_until(
        lambda: all(log(home, node).count(READ) >= before[node] + 5 for node in NODES), SECONDS_MAX
    )
    return ran.output


def log(home: Path, node: int) -> str:
    return (home / f"node{node}" / "node.log").read_text()


def rotated_under_load(home: Path, seconds: float) -> int:
    """Rounds until the time is over; what clients did meanwhile."""
    work, end, rounds = 0, time.monotonic() + seconds, 0
    while rounds == 0 or time.monotonic() < end:
        rounds += 1
        with ExitStack() as to_the_end:
            with at_work(Writer(home), Reader(home), newcomers := Newcomers(home)):
                rotate(home)
                assert "Step 1 of 3" in rotate(home, "--ca")
                late = (Writer(home), Reader(home), Newcomers(home))
                to_the_end.enter_context(at_work(*late))
            assert "Step 2 of 3" in rotate(home, "--ca")
            assert "Step 3 of 3" in rotate(home, "--ca")
        work += newcomers.count + sum(worker.count for worker in late)
    return work


def run_cluster(home: Path, seconds: float) -> None:
    with running("cluster", str(home), "--secure", "--nodes", "3"):
        admin = AdminClient(Worker(home).config())
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 3)])[TOPIC].result(SECONDS_MAX)
        print(rotated_under_load(home, seconds), "records while certificates were replaced")
        for node in NODES:
            assert "no TLS" not in log(home, node)
            assert "not believed" not in log(home, node)


@pytest.mark.timeout(180)
def test_no_client_sees_an_error_when_certificates_and_authority_are_replaced(
    tmp_path: Path,
) -> None:
    run_cluster(tmp_path / "c", 0)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_no_client_sees_an_error_for_minutes_of_replacements(tmp_path: Path) -> None:
    run_cluster(tmp_path / "c", 300)
