"""The loop of a source, with a connector and jobs of the test's own."""

import pickle
import queue
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from ottla.client.connection import Connection
from ottla.connect.connector import ConnectError, Place, Progress, RetriableError, Slice
from ottla.connect.data import Record, Schema, Type
from ottla.connect.runs import rows, source_tasks
from ottla.connect.runs.failures import JobFailed, Kind
from ottla.connect.runs.offsets import StoredOffsets
from ottla.connect.runs.run import RunEvent, RunPlan, TaskState, TopicUsed
from ottla.connect.runs.source_run import SourceWorking
from ottla.connect.runs.supervised import SupervisedRun
from ottla.connect.runs.topic_creation import TopicRule

WITHIN_S = 60.0
STRING = "org.apache.kafka.connect.storage.StringConverter"


@dataclass(frozen=True)
class Numbers:
    """Counts up, from one number to another."""

    task: int
    begin: int
    end: int

    def read(self) -> Iterator[Record | Progress]:
        for number in range(self.begin, self.end):
            text = Schema(type=Type.STRING)
            yield Record(topic=f"t{self.task}", value_schema=text, value=str(number))
        yield Progress({"task": self.task}, {"next": self.end})


class Counter:
    """A source of two tasks, each of which counts to `until` in steps of ten."""

    def __init__(self, until: int, refuses: Exception | None = None) -> None:
        self._until = until
        self._next = {0: 0, 1: 0}
        self._refuses = refuses
        self.stopped = 0

    def task_configs(self, maximum: int) -> Sequence[dict[str, str]]:
        return [{}, {}]

    def start(self, stored: Callable[[Place], Place | None]) -> None:
        if self._refuses is not None:
            raise self._refuses
        for task in self._next:
            found = stored({"task": task})
            self._next[task] = 0 if found is None else found["next"]

    def poll(self, timeout_s: float) -> Sequence[Slice]:
        return [
            Numbers(task, begin, begin + 10)
            for task, begin in self._next.items()
            if begin < self._until
        ]

    def committed(self, progress: Sequence[Progress]) -> None:
        for one in progress:
            assert one.offset is not None
            self._next[one.partition["task"]] = one.offset["next"]

    def stop(self) -> None:
        self.stopped += 1


@dataclass
class Kafka:
    """Transactions that were committed, in their order; some tasks fail when they are told to."""

    committed: list[tuple[str, list[Any]]] = field(default_factory=list)
    opened: list[list[str]] = field(default_factory=list)
    failing: list[dict[str, JobFailed]] = field(default_factory=list)  # a job each, by id

    def open(self, transactional_ids: Sequence[str]) -> None:
        self.opened.append(list(transactional_ids))

    def read(
        self,
        map: Any,
        payloads: Sequence[Any],
        transactional_ids: Sequence[str],
        topics: Sequence[TopicRule] = (),
    ) -> list[Any]:
        failing = self.failing.pop(0) if self.failing else {}
        told = []
        for work, id in zip(payloads, transactional_ids, strict=True):
            if id in failing:
                continue
            reading = source_tasks.Reading(pickle.loads(pickle.dumps(work)))
            every = [row for batch in reading.batches() for row in batch.to_pylist()]
            written = [tuple(row.values()) for row in every if row["topic"] is not None]
            self.committed.append((id, written))
            told.append(pickle.loads(every[-1]["value"]))
        for failure in failing.values():
            raise failure
        return told

    def cancel(self) -> None: ...

    def close(self) -> None: ...

    def stored(self) -> StoredOffsets:
        stored = StoredOffsets("c")
        for _, written in self.committed:
            for topic, key, value, *_ in written:
                if topic == "offsets":
                    stored.apply(key, value)
        return stored

    def values(self, topic: str) -> list[int]:
        return [int(row[2]) for _, written in self.committed for row in written if row[0] == topic]


def run_of(
    kafka: Kafka,
    make: Callable[[], Any],
    until: Callable[[RunEvent], bool],
    own_offsets_topic: str | None = None,
    **more: str,
) -> list[RunEvent]:
    config = {"connector.class": "counter", **more}
    plan = RunPlan(
        name="c",
        config=config,
        resolved=config,
        tasks=2,
        group_id="g",
        offsets_topic="offsets",
        own_offsets_topic=own_offsets_topic,
        connection=Connection(),
        worker={"key.converter": STRING, "value.converter": STRING},
    )
    events: queue.Queue[RunEvent] = queue.Queue()
    work = SourceWorking(plan, events.put, make, lambda *_: kafka, kafka.stored)
    run = SupervisedRun(plan, events.put, work)
    seen: list[RunEvent] = []
    try:
        while not seen or not until(seen[-1]):
            seen.append(events.get(timeout=WITHIN_S))
    finally:
        run.stop()
    return seen


class Done(Counter):
    """Tells when everything was committed, by failing."""

    def poll(self, timeout_s: float) -> Sequence[Slice]:
        slices = super().poll(timeout_s)
        if not slices:
            raise ConnectError("all is read")
        return slices


def has_failed(event: RunEvent) -> bool:
    return isinstance(event, TaskState) and (event.task, event.state) == (1, "FAILED")


def test_a_tasks_records_and_its_offset_are_one_transaction() -> None:
    kafka = Kafka()
    events = run_of(kafka, lambda: Done(10), has_failed)
    assert kafka.opened == [["g-c-0", "g-c-1"]]
    assert [id for id, _ in kafka.committed] == ["g-c-0", "g-c-1"]
    *records, offset = kafka.committed[1][1]
    assert [row[2] for row in records] == [b"%d" % number for number in range(10)]
    assert tuple(offset[:3]) == ("offsets", b'["c",{"task":1}]', b'{"next":10}')
    assert {one for one in events if isinstance(one, TopicUsed)} == {
        TopicUsed("t0"),
        TopicUsed("t1"),
    }


def test_an_offsets_topic_of_a_connectors_own_is_written_in_the_same_transaction() -> None:
    kafka = Kafka()
    run_of(kafka, lambda: Done(10), has_failed, own_offsets_topic="own")
    *_, theirs, own = kafka.committed[1][1]
    assert [theirs[0], own[0]] == ["offsets", "own"]
    assert theirs[1:3] == own[1:3] == (b'["c",{"task":1}]', b'{"next":10}')


def test_what_an_own_offsets_topic_says_counts_before_what_the_workers_says() -> None:
    stored = StoredOffsets("c")
    stored.lay([({"a": 1, "b": 1}, {"at": 1}), ({"a": 2}, {"at": 1})])
    stored.lay([({"b": 1, "a": 1}, {"at": 2})])
    assert stored.get({"a": 1, "b": 1}) == {"at": 2}
    assert stored.get({"a": 2}) == {"at": 1}


@pytest.mark.parametrize("kind", [Kind.LOST, Kind.UNREACHABLE])
def test_what_one_task_committed_is_not_read_again_when_another_failed(kind: Kind) -> None:
    failing = [{"g-c-1": JobFailed(kind, "gone")}, {}, {"g-c-0": JobFailed(kind, "gone")}]
    kafka = Kafka(failing=failing)
    run_of(kafka, lambda: Done(50), has_failed)
    assert kafka.values("t0") == list(range(50))
    assert kafka.values("t1") == list(range(50))
    assert len(kafka.opened) == 3  # fenced anew each time


def test_whoever_is_fenced_does_not_come_back() -> None:
    kafka = Kafka(failing=[{"g-c-0": JobFailed(Kind.FENCED, "fenced")}])
    (*_, last) = run_of(kafka, lambda: Counter(50), has_failed)
    assert isinstance(last, TaskState)
    assert last.trace == "fenced"
    assert len(kafka.opened) == 1


def test_retriable_errors_are_retried_within_their_time_and_then_fail() -> None:
    makes: list[Counter] = []

    def make() -> Counter:
        makes.append(Counter(10, RetriableError("not now")))
        return makes[-1]

    run_of(Kafka(), make, has_failed)
    assert len(makes) == 1
    run_of(Kafka(), make, has_failed, **{"errors.retry.timeout": "1000"})
    assert len(makes) == 1 + 3  # after 0.3 s and 0.6 s more
    assert all(one.stopped for one in makes)


def test_a_trace_begins_with_the_sentence() -> None:
    (*_, last) = run_of(Kafka(), lambda: Counter(1, ConnectError("no such table")), has_failed)
    assert isinstance(last, TaskState)
    assert last.trace is not None
    assert last.trace.startswith("ConnectError: no such table\n")


def test_a_slice_that_fails_aborts_its_transaction() -> None:
    row = rows.failed(RetriableError("busy"))
    assert (row.topic, row.key) == (None, b"failed")
    assert pickle.loads(row.value or b"").kind is Kind.RETRIABLE
