"""Exactly once under fire: broker, driver, JVM, executors and Python workers die as records flow.

The application runs as a user runs it, in processes of its own. Its input is written by an
idempotent producer, so what was acknowledged stands there once; its output, read committed, must be
what plain Python makes of that, each row once, whoever died.
"""

import contextlib
import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import (
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from ottla.pipelines.api.app import App
from ottla.pipelines.engine.decoding import COORDINATES
from ottla.pipelines.lifecycle.brokers import create
from ottla.pipelines.planning.topics import NewTopic
from support.brokers import Kind
from system.pipelines.struck import Struck, feeding, reading

PROGRAM = """
import ottla
from ottla.pipelines import json
app = ottla.App("fire", delivery="exactly_once")
numbers = app.stream("numbers", value=json("n BIGINT"))
numbers.with_columns(square="n * n").to("squares")
numbers.with_columns(bucket="n % 7").group_by("bucket").agg(
    n="count(*)", total="sum(n)"
).to("totals")
"""
JOINED = """
names = app.table("names", value=json("name STRING"))
buckets = numbers.with_columns(bucket="n % 7").peek(lambda row: None)  # a Python worker to kill
named = buckets.key_by("bucket").join(names)
named.group_by("name").agg(n="count(*)", total="sum(n)").to("by-name")
"""
NAMES = ("zero", "one", "two", "three", "four", "five", None)  # the last is a tombstone
KEYS = 50
PARTITIONS = 2
WITHIN_S = 240.0
READ_S = 5.0


class Fire(Struck):
    """Fed for as long as it runs; every strike is followed by more results."""

    def __init__(
        self, kind: Kind, folder: Path, program: str, master: Sequence[str], topics: Sequence[str]
    ) -> None:
        super().__init__(kind, folder, program, master)
        new = [NewTopic(topic, PARTITIONS) for topic in ("numbers", "names", *topics)]
        create(App("fire", bootstrap=self.bootstrap).definition(), new)
        self.readers = {topic: Reader(self.bootstrap, topic) for topic in topics}
        self.sent = 0
        self._refused: list[str] = []  # what the broker did not take of the feeder
        self._stopping = threading.Event()
        self._feeder = threading.Thread(target=self._feed)

    def start(self) -> None:
        super().start()
        if not self._feeder.is_alive():
            self._feeder.start()

    def strike(self, victim: "str | Callable[[], object]") -> None:
        """A process of the application or its broker; or what somebody else does to it."""
        if isinstance(victim, str):
            super().strike(victim)
        else:
            victim()
        self.wait_for_more()

    def wait_for_more(self, rows: int = 100) -> None:
        """Until every output has more rows of records that were sent after now."""
        goal = len(self.readers["squares"].rows) + rows
        after = self.sent
        self._until(
            lambda: (
                len(self.readers["squares"].rows) > goal
                and max(row["n"] for row in self.readers["squares"].rows) > after
            )
        )

    def finish(self, done: Any) -> None:
        """Stop feeding, let the application take all that is there, and stop it cleanly."""
        self._stopping.set()
        self._feeder.join()
        assert not self._refused, self._refused[:5]
        self._until(done)
        self.stop()
        for reader in self.readers.values():
            reader.refresh()

    def close(self) -> None:
        self._stopping.set()
        if self._feeder.is_alive():
            self._feeder.join()
        super().close()

    def _until(self, condition: Any) -> None:
        deadline = time.monotonic() + WITHIN_S
        while True:
            for reader in self.readers.values():
                reader.refresh()
            if condition():
                return
            if time.monotonic() >= deadline:
                read = {topic: len(reader.rows) for topic, reader in self.readers.items()}
                last = {topic: reader.rows[-7:] for topic, reader in self.readers.items()}
                pytest.fail(f"{self.sent} sent, {read} read, at the end {last}\n{self.told}")
            time.sleep(0.1)

    def _feed(self) -> None:
        producer = feeding(self.bootstrap)
        for bucket, name in enumerate(NAMES):
            for value in ("an older name", name):
                row = None if value is None else json.dumps({"name": value})
                producer.produce("names", row, key=str(bucket))
        producer.flush(30)
        while not self._stopping.wait(0.02):
            for _ in range(10):
                row = json.dumps({"n": self.sent})
                key = str(self.sent % KEYS)
                producer.produce("numbers", row, key=key, on_delivery=self._delivered)
                self.sent += 1
            producer.poll(0)
        assert producer.flush(60) == 0

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._refused.append(f"{(message.value() or b'').decode()}: {error}")


class Reader:
    """Everything that is committed in a topic, as far as it was read."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.rows: list[Any] = []
        self.origins: list[tuple[bytes, ...]] = []  # where each row says it comes from
        self._next = dict.fromkeys(range(PARTITIONS), 0)
        self._topic = topic
        self._consumer = reading(bootstrap)

    def refresh(self) -> None:
        """Up to the ends, or as far as a broker that is away lets us. Where rows keep coming no end
        may ever be met, so it also stops after a while."""
        until = time.monotonic() + READ_S
        places = [TopicPartition(self._topic, p, offset) for p, offset in self._next.items()]
        with contextlib.suppress(KafkaException):
            self._consumer.assign(places)
            left = PARTITIONS
            while left and time.monotonic() < until:
                if (message := self._consumer.poll(READ_S)) is None:
                    break
                if message.error():
                    left -= 1
                    continue
                self._next[message.partition() or 0] = (message.offset() or 0) + 1
                self.rows.append(json.loads(message.value() or b""))
                said: dict[str, Any] = dict(message.headers() or [])
                self.origins.append(tuple(said.get(name, b"") for name in COORDINATES))


def newest(rows: list[Any], key: str) -> dict[Any, tuple[int, int]]:
    """The last count and total by key. A count that does not grow was written twice."""
    seen: dict[Any, list[int]] = defaultdict(list)
    for row in rows:
        seen[row[key]].append(row["n"])
    for counts in seen.values():
        assert counts == sorted(set(counts)), "a batch was counted or written twice"
    return {row[key]: (row["n"], row["total"]) for row in rows}


def model(sent: int, group: Any) -> dict[Any, tuple[int, int]]:
    made: dict[Any, tuple[int, int]] = {}
    for number in range(sent):
        if (key := group(number)) is not None:
            count, total = made.get(key, (0, 0))
            made[key] = (count + 1, total + number)
    return made


def under_fire(
    kind: Kind,
    folder: Path,
    victims: "Sequence[str | Callable[[], object]]",
    master: Sequence[str] = (),
    joined: bool = False,
) -> None:
    topics = ["squares", "totals", *(["by-name"] if joined else [])]
    fire = Fire(kind, folder, PROGRAM + (JOINED if joined else ""), master, topics)
    groups = {"totals": ("bucket", lambda n: n % 7), "by-name": ("name", lambda n: NAMES[n % 7])}

    def done() -> bool:
        return len(fire.readers["squares"].rows) >= fire.sent and all(
            newest(fire.readers[topic].rows, groups[topic][0]) == model(fire.sent, groups[topic][1])
            for topic in topics[1:]
        )

    with contextlib.closing(fire):
        fire.start()
        fire.wait_for_more()
        for victim in victims:
            fire.strike(victim)
        fire.finish(done)
        squares = fire.readers["squares"].rows
        assert Counter(row["n"] for row in squares) == Counter(range(fire.sent))
        assert all(row["square"] == row["n"] ** 2 for row in squares)
        for key in range(KEYS):
            mine = [row["n"] for row in squares if row["n"] % KEYS == key]
            assert mine == sorted(mine), "a key's rows are out of order"
        assert done()


@pytest.mark.timeout(300)
def test_results_are_there_once_when_broker_and_driver_were_killed(
    broker_kind: Kind, tmp_path: Path
) -> None:
    under_fire(broker_kind, tmp_path, ["broker", "driver", "broker"])


@pytest.mark.long
@pytest.mark.timeout(900)
def test_results_are_there_once_whatever_is_killed_again_and_again(
    broker_kind: Kind, tmp_path: Path
) -> None:
    victims = ["worker", "broker", "jvm", "broker", "worker", "driver", "broker", "jvm"]
    under_fire(broker_kind, tmp_path, victims, joined=True)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_results_are_there_once_when_executors_of_a_cluster_were_killed(
    broker_kind: Kind, tmp_path: Path
) -> None:
    victims = ["executor", "broker", "executor", "driver", "executor", "broker"]
    under_fire(broker_kind, tmp_path, victims, ["--master", "local-cluster[2,1,1024]"])


@pytest.mark.long
@pytest.mark.timeout(900)
def test_what_real_time_mode_repeats_can_be_told_by_its_headers(
    broker_kind: Kind, tmp_path: Path
) -> None:
    program = PROGRAM.replace('delivery="exactly_once"', 'latency="low"')
    fire = Fire(broker_kind, tmp_path, program, (), ["squares", "totals"])
    squares, totals = fire.readers["squares"], fire.readers["totals"]

    def done() -> bool:
        counts = {row["bucket"]: (row["n"], row["total"]) for row in totals.rows}
        return len(set(squares.origins)) >= fire.sent and counts == model(
            fire.sent, lambda n: n % 7
        )

    with contextlib.closing(fire):
        fire.start()
        fire.wait_for_more()
        for victim in ("driver", "broker", "jvm"):
            fire.strike(victim)
        fire.finish(done)
        assert done()
        first = dict(zip(reversed(squares.origins), reversed(squares.rows), strict=True))
        assert Counter(row["n"] for row in first.values()) == Counter(range(fire.sent))
        # The same origin is the same row: repeats are all that dropping them drops.
        by_origin = zip(squares.origins, squares.rows, strict=True)
        assert all(first[origin] == row for origin, row in by_origin)
