"""JDBC connectors without Spark and Kafka: slices are read, and sinks are fed, as a run does it."""

import pickle
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow

from ottla.connect.connector import Place, Progress, TopicPartition
from ottla.connect.connectors.jdbc import sink, source
from ottla.connect.data import Field, Record, Schema, Struct, Type
from ottla.connect.pipeline import SinkChain, SourceChain
from ottla.connect.runs.given_fields import GivenBatch


class Reading:
    """A source at work; what it reads is committed at once."""

    def __init__(
        self, config: Mapping[str, str], stored: Callable[[Place], Any] | None = None
    ) -> None:
        self.offsets: dict[str, Place | None] = {}
        self.records: list[Record] = []
        self.connector = source.make(CONFIG | dict(config), "jdbc-source")
        self.tasks = self.connector.task_configs(10)
        self.connector.start(stored or (lambda place: None))

    def poll(self, timeout_s: float = 0.3) -> list[Record]:
        """What one poll gives; slices are pickled, and read twice to the same effect."""
        read: list[Record] = []
        progress = []
        for one in self.connector.poll(timeout_s):
            slice = pickle.loads(pickle.dumps(one))
            given = list(slice.read())
            assert given == list(one.read())
            read += [each for each in given if isinstance(each, Record)]
            progress += [each for each in given if isinstance(each, Progress)]
        for each in progress:
            self.offsets[str(dict(each.partition))] = each.offset
        self.connector.committed(progress)
        self.records += read
        return read

    def until(self, count: int, timeout_s: float = 20.0) -> list[Record]:
        """So many records in all."""
        deadline = time.monotonic() + timeout_s
        while len(self.records) < count:
            assert time.monotonic() < deadline, f"{len(self.records)} of {count} records"
            self.poll()
        return self.records

    def values(self, name: str) -> list[Any]:
        return [record.value.values[name] for record in self.records]

    def stop(self) -> None:
        self.connector.stop()


CONFIG = {
    "name": "orders",
    "topic.prefix": "db-",
    "poll.interval.ms": "20",
    "connection.attempts": "1",
}


class Refused(Exception):
    """What a run raises for a record where errors are not tolerated."""


class Writing:
    """A sink at work on one partition; offsets are counted as Kafka does."""

    def __init__(
        self, config: Mapping[str, str], alias: str = "jdbc-sink", topic: str = "orders"
    ) -> None:
        self.connector = sink.make(SINK | dict(config), alias)
        self.partition = TopicPartition(topic, 0)
        self.connector.start()
        self.offset = self.position()
        self.dead: list[tuple[int | None, str]] = []
        self.tolerant = False

    def position(self) -> int:
        return self.connector.positions([self.partition]).get(self.partition, 0)

    def put(self, *given: Record) -> None:
        """As the next of the partition."""
        self.deliver(self.numbered(*given))

    def numbered(self, *given: Record) -> list[Record]:
        first, self.offset = self.offset, self.offset + len(given)
        return [
            replace(
                one,
                topic=one.topic or self.partition.topic,
                partition=self.partition.partition,
                offset=first + at,
            )
            for at, one in enumerate(given)
        ]

    def deliver(self, records: list[Record]) -> None:
        task = pickle.loads(pickle.dumps(self.connector.task()))
        assert task.put(self.partition, iter(records), self._report) is None

    def put_as_read(self, *given: Record) -> int:
        """Through Kafka's bytes, as Spark hands them over. How many were looked at one by one."""
        looked_at: list[Record] = []
        chain = SinkChain(JSON, {})

        def read(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[Record]:
            for row in (row for batch in batches for row in batch.to_pylist()):
                place = (*self.partition, row["offset"], None)
                made = chain.record(*place, row["key"], row["value"])
                if isinstance(made, Record):
                    looked_at.append(made)
                    yield made

        made = SourceChain(JSON, {})
        numbered = self.numbered(*given)
        batch = pyarrow.RecordBatch.from_pydict(
            {
                "offset": [one.offset for one in numbered],
                "key": [made.key.from_connect("", one.key_schema, one.key) for one in numbered],
                "value": [
                    made.value.from_connect("", one.value_schema, one.value) for one in numbered
                ],
            },
            pyarrow.schema(
                [
                    ("offset", pyarrow.int64()),
                    ("key", pyarrow.binary()),
                    ("value", pyarrow.binary()),
                ]
            ),
        )
        task = pickle.loads(pickle.dumps(self.connector.task()))
        one = GivenBatch(batch, self.partition, chain, read)
        assert task.put_fields(self.partition, iter([one]), self._report, self.offset) is None
        return len(looked_at)

    def _report(self, record: Record, error: Exception) -> None:
        if not self.tolerant:
            raise Refused(str(error)) from error
        self.dead.append((record.offset, str(error)))


JSON = dict.fromkeys(
    ("key.converter", "value.converter"), "org.apache.kafka.connect.json.JsonConverter"
)
SINK = {
    "name": "to-db",
    "connection.attempts": "1",
    "max.retries": "0",
    "retry.backoff.ms": "10",
}


def schema_of(name: str | None = None, **fields: Schema) -> Schema:
    return Schema(
        type=Type.STRUCT, name=name, fields=tuple(Field(one, of) for one, of in fields.items())
    )


def record(
    schema: Schema, key: Any = None, key_schema: Schema | None = None, **values: Any
) -> Record:
    """Without values: a tombstone."""
    return Record(
        topic="",
        key=key,
        key_schema=key_schema,
        value_schema=schema if values else None,
        value=Struct(schema, values) if values else None,
    )


INT32, INT64, STRING = (Schema(type=one) for one in (Type.INT32, Type.INT64, Type.STRING))
OPTIONAL_STRING = Schema(type=Type.STRING, optional=True)
