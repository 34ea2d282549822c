"""Kafka Streams 4.3.1 with `exactly_once_v2`, killed and started again: its counts are exact."""

import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from support.brokers import BrokerProcess, Kind, die_with_parent
from support.confluent import SECONDS_MAX, create_topic, wait_until
from support.homes import Home
from support.jars import PROJECT, class_path

pytestmark = [pytest.mark.java, pytest.mark.timeout(400)]

SOURCE, TARGET = "lines", "counts"
PARTITIONS = 2
WORDS = ("tea", "coffee", "milk", "water", "juice")
LINES_PER_ROUND = 200
ROUNDS = 3
PATIENCE_S = 60
WORD_COUNT = PROJECT / "tests" / "interop" / "java" / "streams" / "WordCount.java"


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("word-count")
    subprocess.run(["javac", "-cp", class_path(), "-d", folder, WORD_COUNT], check=True)
    return folder


class Counting:
    """The application as a process."""

    def __init__(self, classes: Path, bootstrap: str, folder: Path) -> None:
        options = ["-XX:TieredStopAtLevel=1", "-Xmx256m"]
        self.command = ["java", *options, "-cp", f"{classes}:{class_path()}", "WordCount"]
        self.command += [bootstrap, SOURCE, TARGET, str(folder / "state")]
        self.log = folder / "streams.log"
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=log, preexec_fn=die_with_parent
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Counts:
    """What a reader of committed records has been told, word by word."""

    def __init__(self, bootstrap: str) -> None:
        self.told: defaultdict[str, list[int]] = defaultdict(list)
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "reads-without-committing",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
            }
        )
        self.consumer.assign([TopicPartition(TARGET, n, 0) for n in range(PARTITIONS)])

    def total(self) -> int:
        for message in self.consumer.consume(500, 0.2):
            if message.error() is None:
                self.told[message.key().decode()].append(int(message.value()))
        return sum(map(len, self.told.values()))


def lines(number: int) -> Iterator[str]:
    """Five words a line, a different mixture in each round."""
    for n in range(LINES_PER_ROUND):
        yield " ".join(WORDS[(n + k * number) % len(WORDS)] for k in range(5))


def write(bootstrap: str, number: int) -> Counter[str]:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    written: Counter[str] = Counter()
    for n, line in enumerate(lines(number)):
        producer.produce(SOURCE, line.encode(), partition=n % PARTITIONS)
        written.update(line.split())
    assert producer.flush(SECONDS_MAX) == 0
    return written


def test_a_word_count_that_is_killed_again_and_again_is_exact(
    home: Home, broker_kind: Kind, classes: Path, tmp_path: Path
) -> None:
    broker = BrokerProcess(broker_kind, home)
    counting = None
    expected: Counter[str] = Counter()
    try:
        broker.start()
        for topic in (SOURCE, TARGET):
            create_topic(broker.bootstrap, topic, PARTITIONS)
        counting = Counting(classes, broker.bootstrap, tmp_path)
        counts = Counts(broker.bootstrap)
        for number in range(1, ROUNDS + 1):
            expected += write(broker.bootstrap, number)
            some = expected.total() - LINES_PER_ROUND
            wait_until(lambda some=some: counts.total() >= some, seconds=PATIENCE_S)
            counting.kill()
            if number == ROUNDS - 1:
                broker.kill9()
                broker.start()
            counting.start()
        wait_until(lambda: counts.total() >= expected.total(), seconds=PATIENCE_S)
        assert counts.total() == expected.total()
    except AssertionError:
        print(counting.log.read_text()[-4000:] if counting else broker.tail())
        raise
    finally:
        if counting is not None:
            counting.kill()
        broker.discard()
    assert counts.told == {word: list(range(1, n + 1)) for word, n in expected.items()}
