"""usage: python -m bench.load.soak [--minutes 60] [--megabytes 10] [--write FOLDER]

One Ottla node for an hour: 10 MB/s in and out, transactions one after another, groups that come,
commit and go. What grows is a leak, whatever its size: memory and acknowledgements are told for
each minute, as a table and as curves (`soak.md`, `soak.svg`).
"""

import argparse
import datetime
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from bench.load.curves import Curve, drawn
from bench.load.nodes import fresh_node
from bench.processes import cpu_seconds, memory_mb
from bench.report import machine
from support.brokers import BrokerProcess

PARTITIONS = 6
RECORD_BYTES = 1000
TICK_S = 0.01
SETTINGS = {  # an hour's 36 GB need not be kept; groups that are gone may be forgotten
    "log.retention.bytes": str(64 * 1024 * 1024),
    "log.segment.bytes": str(16 * 1024 * 1024),
    "log.retention.check.interval.ms": "5000",
    "log.cleaner.backoff.ms": "5000",
    "offsets.retention.minutes": "2",
    "offsets.retention.check.interval.ms": "10000",
}


class Minute(NamedTuple):
    """What was seen in one step of the soak."""

    minute: float
    memory_mb: float
    cpu_percent: float
    ack_p50_ms: float
    ack_p99_ms: float
    end_to_end_p99_ms: float
    megabytes_in: float
    megabytes_out: float
    transactions: int
    commits: int
    errors: int


class Counts:
    """Filled by the clients' threads, taken by whoever writes the table."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self.acks: list[float] = []
        self.delays: list[float] = []
        self.bytes_in = self.bytes_out = self.transactions = self.commits = self.errors = 0

    def add(self, **what: int) -> None:
        with self._lock:
            for name, count in what.items():
                setattr(self, name, getattr(self, name) + count)

    def take(self) -> "Counts":
        with self._lock:
            taken = Counts()
            taken.__dict__.update({k: v for k, v in self.__dict__.items() if k != "_lock"})
            self._clear()
            return taken


class Soak:
    def __init__(self, broker: BrokerProcess, bytes_per_s: float) -> None:
        self._bootstrap = {"bootstrap.servers": broker.bootstrap}
        self._bytes_per_s = bytes_per_s
        self._over = threading.Event()
        self.counts = Counts()
        works = (self._write, self._read, self._copy, self._come_and_go, self._probe)
        self._threads = [threading.Thread(target=self._again, args=(work,)) for work in works]

    def start(self) -> None:
        admin = AdminClient({**self._bootstrap})
        topics = [NewTopic(name, PARTITIONS, 1) for name in ("flow", "copied", "probe")]
        for made in admin.create_topics(topics).values():
            made.result(60)
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(60)

    def _again(self, work: Callable[[], None]) -> None:
        """A client that failed counts as an error, and another takes its place."""
        while not self._over.is_set():
            try:
                work()
            except (KafkaException, BufferError, AssertionError) as error:
                print(f"{work.__name__}: {error}", file=sys.stderr)
                self.counts.add(errors=1)

    def _write(self) -> None:
        producer = Producer({**self._bootstrap, "linger.ms": 5, "enable.idempotence": True})
        value, began, sent = bytes(RECORD_BYTES), time.perf_counter(), 0
        while not self._over.is_set():
            due = int((time.perf_counter() - began) * self._bytes_per_s / RECORD_BYTES)
            for number in range(sent, due):
                producer.produce("flow", value, b"%d" % (number % 10_000))
            self.counts.add(bytes_in=(due - sent) * RECORD_BYTES)
            sent = due
            producer.poll(TICK_S)
        producer.flush(30)

    def _read(self) -> None:
        consumer = Consumer({**self._bootstrap, "group.id": "reader", "group.protocol": "consumer"})
        consumer.subscribe(["flow"])
        while not self._over.is_set():
            messages = consumer.consume(5000, 0.2)
            self.counts.add(bytes_out=sum(len(message.value() or b"") for message in messages))
        consumer.close()

    def _copy(self) -> None:
        """Transactions one after another, with the offsets of a group in each."""
        name = f"copier-{uuid.uuid4().hex[:6]}"
        producer = Producer({**self._bootstrap, "transactional.id": name, "linger.ms": 0})
        producer.init_transactions(30)
        reader = Consumer({**self._bootstrap, "group.id": name})
        number = 0
        while not self._over.is_set():
            producer.begin_transaction()
            for partition in range(PARTITIONS):
                producer.produce("copied", b"x" * 100, partition=partition)
            places = [TopicPartition("flow", 0, number)]
            producer.send_offsets_to_transaction(places, reader.consumer_group_metadata(), 30)
            producer.flush(30)
            if number % 10 == 9:
                producer.abort_transaction(30)
            else:
                producer.commit_transaction(30)
            number += 1
            self.counts.add(transactions=1)
        reader.close()

    def _come_and_go(self) -> None:
        """A group that nobody has heard of, ten commits, and it is never seen again."""
        while not self._over.is_set():
            config = {**self._bootstrap, "group.id": f"passer-{uuid.uuid4().hex}"}
            consumer = Consumer({**config, "enable.auto.commit": False})
            for number in range(10):
                places = [TopicPartition("flow", n, number) for n in range(PARTITIONS)]
                consumer.commit(offsets=places, asynchronous=False)
                self.counts.add(commits=1)
            consumer.close()

    def _probe(self) -> None:
        """One record at a time: until its acknowledgement, and until a waiting consumer has it."""
        producer = Producer({**self._bootstrap, "linger.ms": 0})
        consumer = Consumer({**self._bootstrap, "group.id": "probe"})
        place = TopicPartition("probe", 0)
        _, place.offset = consumer.get_watermark_offsets(place, timeout=30)
        consumer.assign([place])
        while not self._over.is_set():
            began = time.perf_counter()
            producer.produce("probe", b"x", partition=0)
            producer.flush()
            self.counts.acks.append(time.perf_counter() - began)
            assert consumer.poll(30) is not None, "a record did not come"
            self.counts.delays.append(time.perf_counter() - began)
            self._over.wait(0.02)
        consumer.close()


def percentile(seconds: list[float], share: float) -> float:
    ordered = sorted(seconds) or [0.0]
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] * 1000


def soaked(minutes: float, megabytes: float, step_s: float) -> list[Minute]:
    seen: list[Minute] = []
    with fresh_node("ottla", SETTINGS, warm=False) as broker:
        soak = Soak(broker, megabytes * 1e6)
        soak.start()
        began, spent = time.time(), cpu_seconds(broker.pid)
        try:
            while time.time() - began < minutes * 60:
                time.sleep(step_s)
                before, spent = spent, cpu_seconds(broker.pid)
                counts = soak.counts.take()
                seen.append(
                    Minute(
                        round((time.time() - began) / 60, 2),
                        memory_mb(broker.pid),
                        100 * (spent - before) / step_s,
                        percentile(counts.acks, 0.5),
                        percentile(counts.acks, 0.99),
                        percentile(counts.delays, 0.99),
                        counts.bytes_in / 1e6 / step_s,
                        counts.bytes_out / 1e6 / step_s,
                        counts.transactions,
                        counts.commits,
                        counts.errors,
                    )
                )
                print(seen[-1], file=sys.stderr, flush=True)
        finally:
            soak.stop()
    return seen


def report(seen: list[Minute]) -> str:
    names = [name.replace("_", " ") for name in Minute._fields]
    lines = [
        "# Soak",
        "",
        f"{datetime.date.today().isoformat()}, {machine()}. One node, `make soak`; "
        "the curves are in [soak.svg](soak.svg).",
        "",
        "| " + " | ".join(names) + " |",
        "|" + " ---: |" * len(names),
    ]
    lines += ["| " + " | ".join(f"{value:.4g}" for value in one) + " |" for one in seen]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.load.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--megabytes", type=float, default=10, help="a second, in and out")
    parser.add_argument("--step", type=float, default=60, help="seconds that a line stands for")
    parser.add_argument("--write", type=Path, help="put table and curves into this folder")
    given = parser.parse_args()
    seen = soaked(given.minutes, given.megabytes, given.step)
    text = report(seen)
    print(text)
    if given.write:
        given.write.mkdir(parents=True, exist_ok=True)
        (given.write / "soak.md").write_text(text)
        minutes = [one.minute for one in seen]
        curves = [
            Curve("memory MB", [one.memory_mb for one in seen]),
            Curve("ack p99 ms", [one.ack_p99_ms for one in seen]),
            Curve("end to end p99 ms", [one.end_to_end_p99_ms for one in seen]),
            Curve("CPU %", [one.cpu_percent for one in seen]),
        ]
        (given.write / "soak.svg").write_text(drawn(minutes, curves))
    return any(one.errors for one in seen)


if __name__ == "__main__":
    sys.exit(main())
