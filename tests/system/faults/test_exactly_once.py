"""Consume, transform, produce through transactions while everything is killed again and again.

Two processes copy a topic; the broker and they are killed in turn, and one stands still until
another has taken its name. Whoever reads committed records finds the input: nothing twice, nothing
missing, in order for each key. `make chaos` kills fifty times.
"""

import itertools
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from support.brokers import BrokerProcess, Kind, die_with_parent
from support.confluent import create_topic, read, wait_until
from support.homes import Home

PARTITIONS = 4
KEYS = 20
PATIENCE_S = 90
COPIER = Path(__file__).with_name("copier.py")
SOURCE, TARGET = "source", "target"


class Feeder(threading.Thread):
    """Numbers without end, each key with its own count; a key stays in one partition."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self.done = threading.Event()
        self.sent = 0
        self.producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": 0,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 100,
                "log_level": 0,
            }
        )

    def run(self) -> None:
        for number in itertools.count():
            if self.done.wait(0.002):
                break
            key = number % KEYS
            value = b"%d" % (number // KEYS)
            self.producer.produce(SOURCE, value, key=b"%d" % key, partition=key % PARTITIONS)
            self.producer.poll(0)
            self.sent = number + 1
        assert self.producer.flush(PATIENCE_S) == 0


class Copier:
    """A process under a name that it gives to its successor."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self.command = [sys.executable, str(COPIER), bootstrap, SOURCE, TARGET, name]
        self.start()

    def start(self) -> None:
        self.has_name = False
        self.process = subprocess.Popen(
            self.command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            preexec_fn=die_with_parent,
        )

    def await_name(self) -> None:
        """Until its producer has begun: from then on a twin fences it, before that it the twin."""
        while not self.has_name:
            assert self.process.stdout is not None
            self.has_name = bool(self.process.stdout.readline())
            if not self.has_name:  # it ended; it gives up by itself when its client is stuck
                self.process.wait(PATIENCE_S)
                self.start()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def kill_and_start(self) -> None:
        self.kill()
        self.start()

    def start_if_gone(self) -> None:
        """One that was fenced, or whose client is stuck, is started anew."""
        if self.process.poll() is not None:
            self.start()

    def replaced(self) -> None:
        """It stands still, a twin takes its name, it wakes up as a zombie and is fenced."""
        self.await_name()
        zombie = self.process
        zombie.send_signal(signal.SIGSTOP)
        self.start()
        try:
            self.await_name()
            zombie.send_signal(signal.SIGCONT)
            zombie.wait(PATIENCE_S)
        finally:
            zombie.kill()
            zombie.wait()


class Progress:
    """How far the copiers' group has come."""

    def __init__(self, bootstrap: str, copiers: list[Copier]) -> None:
        self.copiers = copiers
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "copiers",
                "reconnect.backoff.max.ms": 100,
                "log_level": 0,
            }
        )

    def copied(self) -> int:
        places = [TopicPartition(SOURCE, partition) for partition in range(PARTITIONS)]
        for copier in self.copiers:
            copier.start_if_gone()
        try:
            found = self.consumer.committed(places, timeout=5)
        except KafkaException:
            return -1
        return sum(max(place.offset, 0) for place in found)

    def wait(self) -> None:
        """Until every copier's share has most likely moved: some hundreds of records."""
        before = -1
        while before < 0:
            before = self.copied()
        wait_until(lambda: self.copied() >= before + 200, seconds=PATIENCE_S)


@pytest.mark.timeout(1800)
def test_the_copy_equals_the_original_whoever_is_killed(
    home: Home, broker_kind: Kind, pytestconfig: pytest.Config
) -> None:
    broker = BrokerProcess(broker_kind, home)
    copiers: list[Copier] = []
    try:
        broker.start()
        for topic in (SOURCE, TARGET):
            create_topic(broker.bootstrap, topic, PARTITIONS)
        feeder = Feeder(broker.bootstrap)
        feeder.start()
        copiers += [Copier(broker.bootstrap, name) for name in ("one", "two")]
        progress = Progress(broker.bootstrap, copiers)
        for number in range(pytestconfig.getoption("--kills")):
            progress.wait()
            strike(number, broker, copiers)
        feeder.done.set()
        feeder.join()
        wait_until(lambda: progress.copied() == feeder.sent, seconds=PATIENCE_S)
        copy = {key: list(map(int, values)) for key, values in copied(broker, feeder.sent).items()}
    finally:
        for copier in copiers:
            copier.kill()
        broker.discard()
    per_key = {key: len(range(key, feeder.sent, KEYS)) for key in range(KEYS)}
    assert copy == {b"%d" % key: list(range(count)) for key, count in per_key.items()}


def strike(number: int, broker: BrokerProcess, copiers: list[Copier]) -> None:
    """The blows in turn; where each falls is up to what runs just then."""
    victim = copiers[number // 5 % 2]
    match number % 5:
        case 0 | 3:
            broker.kill9()
            broker.start()
        case 1:
            victim.kill_and_start()
        case 2:
            victim.replaced()
        case 4:
            victim.kill()
            broker.kill9()
            broker.start()
    time.sleep(0.01 * (number % 7))


def copied(broker: BrokerProcess, count: int) -> dict[bytes, list[bytes]]:
    """What a reader of committed records finds, by key, and that it is no more than `count`."""
    found: defaultdict[bytes, list[bytes]] = defaultdict(list)
    committed = {"isolation.level": "read_committed"}
    for partition in range(PARTITIONS):
        share = sum(key % PARTITIONS == partition for key in (n % KEYS for n in range(count)))
        messages = read(broker.bootstrap, TARGET, share, partition=partition, config=committed)
        for message in messages:
            key, value = message.key(), message.value()
            assert key is not None
            assert value is not None
            found[key].append(value)
    return found
