"""How rows arrive in a topic, a file or a table: sampled until the last of them.

In a topic and in a file rows are seen as they are written, so their time begins with the first. A
table shows a whole transaction of them at once, and who writes long transactions would have the
first for nothing: there it begins when the connector is asked for.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Consumer, IsolationLevel, Message, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

EVERY_S = 0.02
QUIET_S = 1.5
WITHIN_S = 400.0


class Seen(NamedTuple):
    begun: int  # rows that are there, committed or not
    safe: int  # that whoever reads committed sees


class Target:
    """Where rows arrive: what is there by now, and whether that is all."""

    shows_uncommitted = True

    def seen(self) -> Seen:
        raise NotImplementedError

    def complete(self) -> bool:
        """Asked when nothing has changed for a while, and there is as much as there should be."""
        raise NotImplementedError


@dataclass(frozen=True)
class Flow:
    rows: int  # that arrived in the time that counts
    seconds: float
    first_s: float  # from asking for them to the first of them
    cpu_s: float  # of the worker, from asking to the last row
    others_cpu_s: float  # of broker and database meanwhile

    @property
    def rows_per_s(self) -> float:
        return max(1, self.rows) / max(self.seconds, EVERY_S)


def watch(
    target: Target,
    rows: int,
    begin: Callable[[], None],
    cpu_s: Callable[[], tuple[float, float]],
) -> Flow:
    """`begin` asks for the rows; `cpu_s` tells the time of the worker, and of the others."""
    before = target.seen()
    used = cpu_s()
    asked = time.monotonic()
    begin()
    first: tuple[float, int] | None = None
    last = (asked, before.safe)
    used_then = used
    while True:
        now = time.monotonic()
        if now - asked > WITHIN_S:
            raise SystemExit(f"Only {last[1] - before.safe} of {rows} rows in {WITHIN_S:g} s.")
        seen = target.seen()
        if first is None and seen.begun > before.begun:
            first = now, seen.begun - before.begun
        if seen.safe > last[1]:
            last = now, seen.safe
            if seen.safe - before.safe >= rows:
                used_then = cpu_s()
        enough = first is not None and seen.safe - before.safe >= rows
        if enough and now - last[0] > QUIET_S and target.complete():
            break
        time.sleep(EVERY_S)
    assert first is not None
    counted = first if target.shows_uncommitted else (asked, 0)
    return Flow(
        max(0, rows - counted[1]),
        last[0] - counted[0],
        first[0] - asked,
        used_then[0] - used[0],
        used_then[1] - used[1],
    )


class Topic(Target):
    """Ends of transactions take offsets, too: how many records there are is counted at the end."""

    def __init__(self, bootstrap: str, name: str, rows: int, partitions: int = 1) -> None:
        self._bootstrap = bootstrap
        self.name = name
        self._rows = rows
        self._admin = AdminClient({"bootstrap.servers": bootstrap})
        self._places = [TopicPartition(name, one) for one in range(partitions)]
        self._before: list[TopicPartition] = []

    def make(self) -> "Topic":
        made = self._admin.create_topics([NewTopic(self.name, len(self._places), 1)])
        made[self.name].result(30)
        return self

    def mark(self) -> None:
        """What is there already does not count."""
        consumer = self._consumer()
        self._before = [
            TopicPartition(one.topic, one.partition, consumer.get_watermark_offsets(one)[1])
            for one in self._places
        ]
        consumer.close()

    def delete(self) -> None:
        self._admin.delete_topics([self.name])[self.name].result(30)

    def seen(self) -> Seen:
        return Seen(
            self._ends(IsolationLevel.READ_UNCOMMITTED), self._ends(IsolationLevel.READ_COMMITTED)
        )

    def complete(self) -> bool:
        counted = self.count()
        if counted > self._rows:
            raise SystemExit(f"{counted} records in {self.name}, and not {self._rows}.")
        return counted == self._rows

    def count(self) -> int:
        """Read committed."""
        consumer = self._consumer()
        consumer.assign(self._before or [TopicPartition(self.name, 0, 0)])
        found, ended = 0, 0
        while ended < len(self._places):
            for message in consumer.consume(10_000, 0.5):
                found, ended = (found, ended + 1) if _is_error(message) else (found + 1, ended)
        consumer.close()
        return found

    def _ends(self, isolation: Any) -> int:
        asked = self._admin.list_offsets(
            {one: OffsetSpec.latest() for one in self._places}, isolation_level=isolation
        )
        return sum(one.result(30).offset for one in asked.values())

    def _consumer(self) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "bench",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
            }
        )


def _is_error(message: Message) -> bool:
    return message.error() is not None


class Lines(Target):
    """A file; its rows are all of one length."""

    def __init__(self, file: Path, rows: int, length: int) -> None:
        self.file = file
        self._rows = rows
        self._length = length

    def seen(self) -> Seen:
        size = self.file.stat().st_size if self.file.exists() else 0
        return Seen(size // self._length, size // self._length)

    def complete(self) -> bool:
        return self.file.stat().st_size == self._rows * self._length


class Rows(Target):
    """A table whose ids are 1, 2, …; each partition writes its own in their order."""

    shows_uncommitted = False

    def __init__(self, connection: Any, table: str, rows: int, partitions: int) -> None:
        connection.autocommit = True
        self._cursor = connection.cursor()
        self._table = table
        self._rows = rows
        self._partitions = partitions

    def seen(self) -> Seen:
        self._cursor.execute("SELECT to_regclass(%s) IS NOT NULL", (self._table,))
        if not self._cursor.fetchone()[0]:
            return Seen(0, 0)
        found = 0
        for partition in range(self._partitions):
            self._cursor.execute(
                f"SELECT id FROM {self._table} WHERE id % {self._partitions} = {partition}"
                " ORDER BY id DESC LIMIT 1"
            )
            row = self._cursor.fetchone()
            found += (row[0] - 1) // self._partitions + 1 if row else 0
        return Seen(found, found)

    def complete(self) -> bool:
        self._cursor.execute(f"SELECT count(*) FROM {self._table}")
        return bool(self._cursor.fetchone()[0] == self._rows)
