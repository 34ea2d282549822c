"""JDBC connectors without Spark and Kafka: slices are read, and sinks are fed, as a run does it."""

import pickle
import time
from collections.abc import Callable, Mapping
from typing import Any

from ottla.connect.connector import Place, Progress
from ottla.connect.connectors.jdbc import source
from ottla.connect.data import Record


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
