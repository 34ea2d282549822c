"""Kafka Streams counting words as processes, and what a reader of its output is told."""

import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from support.brokers import die_with_parent
from support.confluent import SECONDS_MAX
from support.jars import PROJECT, class_path

APPLICATION = "word-count"
SOURCE, TARGET = "lines", "counts"
PARTITIONS = 2
WORDS = ("tea", "coffee", "milk", "water", "juice")
LINES_PER_ROUND = 200
WORD_COUNT = PROJECT / "tests" / "system" / "interop" / "java" / "streams" / "WordCount.java"


def compile_into(folder: Path) -> Path:
    subprocess.run(["javac", "-cp", class_path(), "-d", folder, WORD_COUNT], check=True)
    return folder


class Counting:
    """The application, or one instance of it, as a process."""

    def __init__(
        self, classes: Path, bootstrap: str, folder: Path, protocol: str = "classic"
    ) -> None:
        folder.mkdir(exist_ok=True)
        options = ["-XX:TieredStopAtLevel=1", "-Xmx256m"]
        self.command = ["java", *options, "-cp", f"{classes}:{class_path()}", "WordCount"]
        self.command += [bootstrap, SOURCE, TARGET, str(folder / "state"), protocol]
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
                key, value = message.key(), message.value()
                assert key is not None
                assert value is not None
                self.told[key.decode()].append(int(value))
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
