"""Five million records through an application whose driver, JVM and broker are killed meanwhile.

What it writes is compared with plain Python: each row of a stream once and in order, every total to
the last digit.
"""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import KafkaException, TopicPartition

from ottla.pipelines.api.app import App
from ottla.pipelines.lifecycle.brokers import create
from ottla.pipelines.planning.topics import NewTopic
from support.brokers import Kind as BrokerKind
from system.pipelines.struck import Struck, feeding, reading

RECORDS = 5_000_000
VICTIMS = ("driver", "broker", "jvm", "broker", "driver")  # one for each part of the records
KEYS = 997
PARTITIONS = 3
WITHIN_S = 400.0
PROGRAM = """
import ottla
from ottla.pipelines import json
app = ottla.App("millions", delivery="exactly_once", parallelism=2)
numbers = app.stream("numbers", value=json("n BIGINT NOT NULL, amount DECIMAL(10,2)"))
numbers.filter("n % 10 = 3").select("n").to("threes")
numbers.group_by_key().agg(n="count(*)", total="sum(amount)").to("totals")
"""


def cents(n: int) -> int:
    return n * 7919 % 1_000_003


def feed(bootstrap: str, numbers: range) -> None:
    producer = feeding(bootstrap)
    for n in numbers:
        whole, part = divmod(cents(n), 100)
        value = f'{{"n": {n}, "amount": {whole}.{part:02}}}'
        while True:
            try:
                producer.produce("numbers", value, key=f"k{n % KEYS}", partition=n % PARTITIONS)
                break
            except BufferError:  # the broker has been killed, or is slower
                producer.poll(0.2)
    assert producer.flush(120) == 0


class Results:
    """What is committed in the topics written; each time only what is new is read."""

    def __init__(self, bootstrap: str) -> None:
        self._consumer = reading(bootstrap)
        self._next: dict[tuple[str, int], int] = {}
        self.threes: dict[int, list[int]] = {}  # by partition
        self.totals: dict[str, tuple[int, Decimal]] = {}

    def renew(self) -> None:
        for partition, _, value in self._new("threes"):
            self.threes.setdefault(partition, []).append(int(json.loads(value)["n"]))
        for _, key, value in self._new("totals"):
            fields = json.loads(value, parse_float=Decimal)
            self.totals[key.decode()] = (fields["n"], fields["total"])

    def _new(self, topic: str) -> Iterator[tuple[int, bytes, bytes]]:
        known = self._consumer.list_topics(topic, timeout=10).topics[topic].partitions
        self._consumer.assign(
            [TopicPartition(topic, number, self._next.get((topic, number), 0)) for number in known]
        )
        left = len(known)
        while left:
            message = self._consumer.poll(10)
            if message is None:
                raise TimeoutError(topic)
            if message.error():
                left -= 1
                continue
            partition, offset = message.partition() or 0, message.offset() or 0
            self._next[topic, partition] = offset + 1
            yield partition, message.key() or b"", message.value() or b""

    def close(self) -> None:
        self._consumer.close()


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_five_million_records_are_counted_once_whoever_is_killed(
    broker_kind: BrokerKind, tmp_path: Path
) -> None:
    application = Struck(broker_kind, tmp_path, PROGRAM)
    chance = Random(5)
    with contextlib.ExitStack() as closing:
        closing.callback(application.close)
        new = NewTopic("numbers", PARTITIONS, {"retention.ms": "-1"})
        create(App("millions", bootstrap=application.bootstrap).definition(), [new])
        application.start()
        size = RECORDS // len(VICTIMS)
        for part, victim in enumerate(VICTIMS):
            numbers = range(part * size, (part + 1) * size)
            fed = threading.Thread(target=feed, args=(application.bootstrap, numbers))
            fed.start()
            application.await_work()
            time.sleep(chance.uniform(0, 3))  # anywhere in a batch
            application.strike(victim)
            fed.join()
        results = Results(application.bootstrap)
        closing.callback(results.close)
        expected = totals()
        deadline = time.monotonic() + WITHIN_S
        while results.totals != expected or sum(map(len, results.threes.values())) < RECORDS // 10:
            assert time.monotonic() < deadline, application.told
            with contextlib.suppress(KafkaException, KeyError, TimeoutError):
                results.renew()
            time.sleep(1)
        application.stop()
        results.renew()
    assert results.totals == expected
    found = sorted(n for partition in results.threes.values() for n in partition)
    assert found == list(range(3, RECORDS, 10))
    for partition in results.threes.values():
        for source in range(PARTITIONS):  # a partition read is a task, and that keeps its order
            mine = [n for n in partition if n % PARTITIONS == source]
            assert mine == sorted(mine)


def totals() -> dict[str, tuple[int, Decimal]]:
    counts = [0] * KEYS
    sums = [0] * KEYS
    for n in range(RECORDS):
        counts[n % KEYS] += 1
        sums[n % KEYS] += cents(n)
    return {f"k{key}": (counts[key], Decimal(sums[key]).scaleb(-2)) for key in range(KEYS)}
