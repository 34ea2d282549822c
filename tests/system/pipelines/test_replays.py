"""A batch that is replayed: what was committed of it stays away, what was not is written."""

import json
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from ottla.pipelines import App
from ottla.pipelines.lifecycle.brokers import create
from ottla.pipelines.planning.topics import NewTopic
from ottla.pipelines.runtime import sessions

ROWS = 5
BATCH = 1 << 40  # Java gets smaller numbers as an Integer


class Batch:
    """A topic of two partitions, and the sink that a query would use to write what is in it."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.query = uuid.uuid4().hex
        self.source, self.target = f"{self.query}-in", f"{self.query}-out"
        new = [NewTopic(self.source, 2, {}), NewTopic(self.target, 1, {})]
        create(App("replays", bootstrap=bootstrap).definition(), new)
        producer = Producer({"bootstrap.servers": bootstrap})
        for partition in (0, 1):
            for n in range(ROWS):
                producer.produce(self.source, f"{partition}-{n}", partition=partition)
        assert producer.flush(30) == 0
        self.spark = sessions.session()
        self.spark.conf.set("spark.sql.sources.useV1SourceList", "")  # read as streams do
        self.spark.sparkContext.setLocalProperty("sql.streaming.queryId", self.query)

    def frame(self, *partitions: int) -> Any:
        """These partitions, in tasks of that order."""
        reader = self.spark.read.format("kafka").option("kafka.bootstrap.servers", self.bootstrap)
        places = {str(each): 0 for each in partitions}
        ends = {str(each): ROWS for each in partitions}
        read = (
            reader.option("assign", json.dumps({self.source: list(partitions)}))
            .option("startingOffsets", json.dumps({self.source: places}))
            .option("endingOffsets", json.dumps({self.source: ends}))
            .load()
        )
        return read.selectExpr(
            f"'{self.target}' AS topic",
            "key",
            "value",
            "cast(NULL AS array<struct<key: string, value: binary>>) AS headers",
            "cast(NULL AS int) AS partition",
            "unix_millis(timestamp) AS time",
        )

    def write(self, frame: Any) -> None:
        jvm: Any = self.spark._jvm
        sink = jvm.ottla.ExactlyOnceSink({"bootstrap.servers": self.bootstrap}, self.source)
        sink.call(frame._jdf, BATCH)

    def transaction_timeout_ms(self, partition: int) -> int:
        """What the broker was told about the transactions of what reads this partition."""
        jvm: Any = self.spark._jvm
        name = f"{self.query}.{self.source}-{partition}"
        kafka = jvm.org.apache.kafka.clients.admin
        with closing(kafka.Admin.create({"bootstrap.servers": self.bootstrap})) as admin:
            described = admin.describeTransactions([name]).description(name).get()
            return int(described.transactionTimeoutMs())

    def written(self) -> Counter[str]:
        settings = {"bootstrap.servers": self.bootstrap, "group.id": self.query}
        with closing(Consumer({**settings, "enable.partition.eof": True})) as consumer:
            consumer.assign([TopicPartition(self.target, 0, 0)])
            found: Counter[str] = Counter()
            while (message := consumer.poll(30)) is not None and not message.error():
                found[(message.value() or b"").decode()] += 1
            return found


@pytest.fixture
def batch(driven: str) -> Iterator[Batch]:
    made = Batch(driven)
    yield made
    made.spark.conf.unset("spark.sql.sources.useV1SourceList")
    made.spark.sparkContext.setLocalProperty("sql.streaming.queryId", None)  # type: ignore[arg-type]


def first_rows(frame: Any) -> list[str]:
    """By task."""
    parts = frame.rdd.mapPartitions(lambda rows: [next(rows).value.decode()]).collect()
    return [str(part) for part in parts]


def once(*partitions: int) -> Counter[str]:
    return Counter(f"{partition}-{n}" for partition in partitions for n in range(ROWS))


def test_the_tasks_of_a_replay_may_come_in_another_order(batch: Batch) -> None:
    """Spark reads ranges in the order of the offset log, not in that of the first time."""
    assert first_rows(batch.frame(0, 1)) == ["0-0", "1-0"]
    assert first_rows(batch.frame(1, 0)) == ["1-0", "0-0"]
    batch.write(batch.frame(0))  # all that was committed before the kill
    assert batch.written() == once(0)
    batch.write(batch.frame(1, 0))
    assert batch.written() == once(0, 1)
    batch.write(batch.frame(0, 1))
    assert batch.written() == once(0, 1)


def test_a_topic_that_is_read_twice_is_written_twice(batch: Batch) -> None:
    batch.write(batch.frame(0, 1).union(batch.frame(1, 0)))
    assert batch.written() == once(0, 1, 0, 1)
    batch.write(batch.frame(1, 0).union(batch.frame(0, 1)))
    assert batch.written() == once(0, 1, 0, 1)


def test_behind_a_shuffle_rows_are_where_their_key_is(batch: Batch) -> None:
    batch.write(batch.frame(0, 1).repartition(3, "value"))
    assert batch.written() == once(0, 1)
    batch.write(batch.frame(1, 0).repartition(3, "value"))
    assert batch.written() == once(0, 1)


def test_a_transaction_may_last_as_long_as_brokers_allow(batch: Batch) -> None:
    """It is open while its task computes: what takes longer would be fenced at every attempt."""
    batch.write(batch.frame(0))
    assert batch.transaction_timeout_ms(0) == 15 * 60 * 1000
