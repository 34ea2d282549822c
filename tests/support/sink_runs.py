"""A sink's loop over a Kafka and a target of the test's own; its task really runs."""

import pickle
import queue
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow

from ottla.client.connection import Connection
from ottla.connect.connector import ConnectError, Report, SinkTask, TopicPartition
from ottla.connect.data import Record
from ottla.connect.runs.failures import JobFailed, Kind
from ottla.connect.runs.rows import Failure
from ottla.connect.runs.run import RunEvent, RunPlan, TaskState
from ottla.connect.runs.sink_run import Given, SinkWorking
from ottla.connect.runs.sink_tasks import SinkDone, SinkWork
from ottla.connect.runs.supervised import SupervisedRun

WITHIN_S = 60.0
STRING = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)


@dataclass
class Kafka:
    """A topic of two partitions; values of None are ends of transactions."""

    values: dict[TopicPartition, list[bytes | None]] = field(
        default_factory=lambda: {ZERO: [], ONE: []}
    )
    group: dict[TopicPartition, int] = field(default_factory=dict)
    letters: list[tuple[Any, ...]] = field(default_factory=list)
    lows: dict[TopicPartition, int] = field(default_factory=dict)
    lost: int = 0  # jobs that deliver, and are not heard of

    def partitions(self) -> set[TopicPartition]:
        return set(self.values)

    def group_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return {one: self.group[one] for one in partitions if one in self.group}

    def bounds(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, tuple[int, int]]:
        return {one: (self.lows.get(one, 0), len(self.values[one])) for one in partitions}

    def wait(self, ends: Mapping[TopicPartition, int], timeout_s: float) -> bool:
        time.sleep(0.01)
        return any(len(self.values[one]) != end for one, end in ends.items())

    def commit(self, positions: Mapping[TopicPartition, int]) -> None:
        self.group |= positions

    def commit_again(self) -> None: ...

    def close(self) -> None: ...

    def cancel(self) -> None: ...

    def deliver(self, work: SinkWork, ranges: Given) -> Sequence[SinkDone]:
        """One task for all partitions, whose batches hold a few rows of more than one."""
        rows = [
            {"topic": one.topic, "partition": one.partition, "offset": offset, "value": value}
            for one, (begin, end) in sorted(ranges.items())
            for offset, value in enumerate(self.values[one][begin:end], begin)
            if value is not None
        ]
        names = list(work.columns)
        batches = [batch_of(rows[at : at + 3]).select(names) for at in range(0, len(rows), 3)]
        heard: list[Any] = []
        for out in pickle.loads(pickle.dumps(work))(iter(batches)):
            for row in out.to_pylist():
                if row["topic"] is None:
                    heard.append(pickle.loads(row["value"]))
                else:
                    self.letters.append((row["topic"], row["value"], row["headers"]))
        failures = [one for one in heard if isinstance(one, Failure)]
        done = [one for one in heard if isinstance(one, SinkDone)]
        if failures:
            raise JobFailed(failures[0].kind, failures[0].trace, done)
        if self.lost:
            self.lost -= 1
            raise JobFailed(Kind.LOST, "the worker has died")
        return done


def batch_of(rows: list[dict[str, Any]]) -> pyarrow.RecordBatch:
    headers = pyarrow.list_(
        pyarrow.struct([("key", pyarrow.string()), ("value", pyarrow.binary())])
    )
    return pyarrow.RecordBatch.from_arrays(
        [
            pyarrow.array([one["topic"] for one in rows], pyarrow.string()),
            pyarrow.array([one["partition"] for one in rows], pyarrow.int32()),
            pyarrow.array([one["offset"] for one in rows], pyarrow.int64()),
            pyarrow.array([1] * len(rows), pyarrow.int64()),
            pyarrow.nulls(len(rows), pyarrow.binary()),
            pyarrow.array([one["value"] for one in rows], pyarrow.binary()),
            pyarrow.nulls(len(rows), headers),
        ],
        names=["topic", "partition", "offset", "time", "key", "value", "headers"],
    )


class Target:
    def __init__(self, task: SinkTask) -> None:
        self._task = task

    def task_configs(self, maximum: int) -> Sequence[dict[str, str]]:
        return [{}]

    def start(self) -> None: ...

    def positions(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return {}

    def move(self, positions: Mapping[TopicPartition, int | None]) -> None: ...

    def task(self) -> SinkTask:
        return self._task

    def stop(self) -> None: ...


@dataclass(frozen=True)
class Picky:
    """Reports odd numbers."""

    def put(
        self, partition: TopicPartition, records: Iterator[Record], report: Report
    ) -> int | None:
        for record in records:
            if record.value % 2:
                report(record, ConnectError("odd"))
        return None


class Running:
    def __init__(self, kafka: Kafka, make: Callable[[], Any], **config: str) -> None:
        self.certain = True
        self.asked = 0  # whether it is
        config = {"connector.class": "sink", **{k.replace("_", "."): v for k, v in config.items()}}
        self.plan = RunPlan(
            name="s",
            config=config,
            resolved=config,
            tasks=1,
            group_id="g",
            offsets_topic="offsets",
            connection=Connection(),
            worker={"key.converter": STRING, "value.converter": STRING},
            is_certain=self._is_certain,
        )
        self.kafka = kafka
        self.events: queue.Queue[RunEvent] = queue.Queue()
        work = SinkWorking(self.plan, self.events.put, make, lambda: kafka, lambda _: kafka)
        self._run = SupervisedRun(self.plan, self.events.put, work)

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *_: object) -> None:
        self._run.stop()

    def until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + WITHIN_S
        while not condition():
            assert time.monotonic() < end, list(self.events.queue)
            time.sleep(0.005)

    def _is_certain(self) -> bool:
        self.asked += 1
        return self.certain

    def until_committed(self) -> None:
        self.until(
            lambda: all(
                self.kafka.group.get(one, 0) == len(values)
                for one, values in self.kafka.values.items()
            )
        )

    def failure(self) -> str:
        while True:
            event = self.events.get(timeout=WITHIN_S)
            if isinstance(event, TaskState) and event.state == "FAILED":
                return event.trace or ""


def numbered(*numbers: int) -> list[bytes | None]:
    return [b"%d" % number for number in numbers]
