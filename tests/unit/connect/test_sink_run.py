"""The loop of a sink, over a Kafka and a target of the test's own; its task really runs."""

import contextlib
import fcntl
import os
import pickle
import queue
import resource
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from ottla.client.connection import Connection
from ottla.connect.connector import (
    ConnectError,
    Report,
    ServiceError,
    SinkTask,
    TopicPartition,
)
from ottla.connect.connectors import file_sink
from ottla.connect.data import Record
from ottla.connect.runs import ranges, sink_run
from ottla.connect.runs.failures import JobFailed, Kind
from ottla.connect.runs.rows import Failure
from ottla.connect.runs.run import RunEvent, RunPlan, TaskState, TopicUsed
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


def test_a_files_lines_are_there_once_though_jobs_were_not_heard_of(tmp_path: Path) -> None:
    file = tmp_path / "out"
    kafka = Kafka({ZERO: numbered(*range(10)), ONE: numbered(*range(10, 20))}, lost=2)
    with Running(kafka, lambda: file_sink.make({"file": str(file)}, "FileStreamSink")) as running:
        running.until_committed()
        kafka.values[ZERO] += numbered(20, 21)
        running.until_committed()
        assert TopicUsed("t") in running.events.queue
    assert sorted(map(int, file.read_text().split())) == list(range(22))


def test_what_a_crash_left_behind_the_marker_is_cut(tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_text("before\n")
    kafka = Kafka({ZERO: numbered(1), ONE: []})
    make = lambda: file_sink.make({"file": str(file)}, "FileStreamSink")  # noqa: E731
    with Running(kafka, make) as running:
        running.until_committed()
    with file.open("a") as torn:
        torn.write("2\n3")
    kafka.values[ZERO] += numbered(2, 3)
    with Running(kafka, make) as running:
        running.until_committed()
    assert file.read_text() == "before\n1\n2\n3\n"


def test_what_another_worker_wrote_and_committed_stays(tmp_path: Path) -> None:
    file = tmp_path / "out"
    kafka = Kafka({ZERO: numbered(1), ONE: []})
    make = lambda: file_sink.make({"file": str(file)}, "FileStreamSink")  # noqa: E731
    with Running(kafka, make) as running:
        running.until_committed()
    with file.open("a") as theirs:
        theirs.write("2\n")
    kafka.values[ZERO] += [*numbered(2), None, *numbered(3)]
    kafka.group[ZERO] = 2
    with Running(kafka, make) as running:
        running.until_committed()
    assert file.read_text() == "1\n2\n3\n"


def test_what_another_worker_wrote_of_a_partition_that_was_empty_stays(tmp_path: Path) -> None:
    file = tmp_path / "out"
    kafka = Kafka({ZERO: numbered(1), ONE: []})
    make = lambda: file_sink.make({"file": str(file)}, "FileStreamSink")  # noqa: E731
    with Running(kafka, make) as running:
        running.until_committed()
    with file.open("a") as theirs:
        theirs.write("2\n")
    kafka.values[ONE] += numbered(2)
    kafka.group[ONE] = 1
    kafka.values[ZERO] += numbered(3)
    with Running(kafka, make) as running:
        running.until_committed()
    assert file.read_text() == "1\n2\n3\n"


def test_ends_of_transactions_alone_are_not_taken_for_another_workers_lines(tmp_path: Path) -> None:
    file = tmp_path / "out"
    kafka = Kafka({ZERO: numbered(1), ONE: [None]})
    make = lambda: file_sink.make({"file": str(file)}, "FileStreamSink")  # noqa: E731
    with Running(kafka, make) as running:
        running.until_committed()
    with file.open("a") as torn:
        torn.write("2")
    kafka.values[ZERO] += numbered(2)
    with Running(kafka, make) as running:
        running.until_committed()
    assert file.read_text() == "1\n2\n"


def test_ends_of_transactions_alone_move_group_and_marker_alike(tmp_path: Path) -> None:
    file = tmp_path / "out"
    kafka = Kafka({ZERO: numbered(1), ONE: []})
    with Running(kafka, lambda: file_sink.make({"file": str(file)}, "FileStreamSink")) as running:
        running.until_committed()
        kafka.values[ZERO].append(None)
        running.until_committed()
    assert file_sink.Marker.of(file).offsets == {ZERO: 2}
    assert file.read_text() == "1\n"


def test_a_topic_that_was_made_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    file = tmp_path / "out"
    kafka = Kafka({ZERO: numbered(1, 2, 3), ONE: []})
    with Running(kafka, lambda: file_sink.make({"file": str(file)}, "FileStreamSink")) as running:
        running.until_committed()
        kafka.values[ZERO] = numbered(4)
        running.until_committed()
    assert file.read_text().split() == ["1", "2", "3", "4"]


def test_who_may_have_been_replaced_delivers_nothing_and_moves_no_group(tmp_path: Path) -> None:
    file = tmp_path / "out"
    kafka = Kafka({ZERO: numbered(1), ONE: []})
    with Running(kafka, lambda: file_sink.make({"file": str(file)}, "FileStreamSink")) as running:
        running.until_committed()
        running.certain = False
        kafka.values[ZERO] += numbered(2)
        asked = running.asked
        running.until(lambda: running.asked > asked + 2)
        assert (file.read_text(), kafka.group[ZERO]) == ("1\n", 1)
        running.certain = True
        running.until_committed()
    assert file.read_text() == "1\n2\n"


class Begun(Target):
    """Whether a run was begun with it."""

    def __init__(self, task: SinkTask) -> None:
        super().__init__(task)
        self.begun = False

    def start(self) -> None:
        self.begun = True


def test_who_may_have_been_replaced_while_spark_started_begins_no_run(tmp_path: Path) -> None:
    kafka = Kafka()
    target = Begun(file_sink.FileTask(tmp_path / "out"))
    with Running(kafka, lambda: target) as running:
        running.until(lambda: target.begun)
        plan = running.plan
    target.begun, certain = False, True

    def slow() -> Kafka:
        nonlocal certain
        certain = False
        return kafka

    plan = replace(plan, is_certain=lambda: certain)
    work = SinkWorking(plan, lambda event: None, lambda: target, slow, lambda _: kafka)
    with pytest.raises(JobFailed, match="has not heard from its group"):
        work.work(threading.Event(), lambda: None)
    assert not target.begun


class Forgetful(Kafka):
    """Tells when a group's offsets are committed again, so that brokers keep them."""

    def __init__(self) -> None:
        super().__init__()
        self.again = 0

    def commit_again(self) -> None:
        self.again += 1


def test_who_may_have_been_replaced_commits_nothing_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink_run, "LOOK_FOR_TOPICS_S", 0.0)
    kafka = Forgetful()
    make = lambda: file_sink.make({"file": str(tmp_path / "out")}, "FileStreamSink")  # noqa: E731
    with Running(kafka, make) as running:
        running.until(lambda: kafka.again > 0)
        running.certain = False
        asked = running.asked
        running.until(lambda: running.asked > asked + 1)
        before = kafka.again
        asked = running.asked
        running.until(lambda: running.asked > asked + 1)
        assert kafka.again == before


def test_who_may_have_been_replaced_moves_no_target_where_offsets_are_gone(tmp_path: Path) -> None:
    file = tmp_path / "out"
    kafka = Kafka({ZERO: numbered(1, 2, 3), ONE: []})
    with Running(kafka, lambda: file_sink.make({"file": str(file)}, "FileStreamSink")) as running:
        running.until_committed()
        running.certain = False
        asked = running.asked
        kafka.values[ZERO] = numbered(4)  # the topic was made anew
        running.until(lambda: running.asked > asked + 2)
        assert file_sink.Marker.of(file).offsets == {ZERO: 3}
        assert kafka.group[ZERO] == 3


class Occupied(Kafka):
    """Its group has a member, whose session is not over yet."""

    def __init__(self) -> None:
        super().__init__({ZERO: numbered(1, 2), ONE: []}, {ZERO: 1})
        self.refused = 0
        self.jobs = 0
        self.members = True

    def commit(self, positions: Mapping[TopicPartition, int]) -> None:
        if self.members and positions:
            self.refused += 1
            raise JobFailed(Kind.UNREACHABLE, "Unknown member")
        super().commit(positions)

    def deliver(self, work: SinkWork, ranges: Given) -> Sequence[SinkDone]:
        self.jobs += 1
        return super().deliver(work, ranges)


def test_nothing_is_delivered_while_the_group_has_members() -> None:
    kafka = Occupied()
    more = {"value_converter": JSON, "value_converter_schemas_enable": "false"}
    with Running(kafka, lambda: Target(Picky()), **more) as running:
        running.until(lambda: kafka.refused > 1)
        assert kafka.jobs == 0
        kafka.members = False
        running.until_committed()
    assert kafka.jobs == 1


def test_a_file_that_somebody_else_keeps_is_waited_for_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_sink, "LOCKED_WITHIN_S", 0.01)
    file = tmp_path / "out"
    with file.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with (
            pytest.raises(ServiceError, match=f"is being written by process {os.getpid()}") as said,
            file_sink.appending(file, ZERO),
        ):
            pass
    assert said.value.away
    with file_sink.appending(file, ZERO) as lines:
        lines.append(b"1\n", 1)
    assert file.read_text() == "1\n"


def test_offsets_that_are_gone_are_noticed() -> None:
    given = ranges.Ranges()
    given.add({ZERO: 3, ONE: 3})
    assert given.outside({ZERO: (0, 5), ONE: (4, 5)}) == {ONE}
    assert given.outside({ZERO: (0, 2), ONE: (3, 3)}) == {ZERO}


def test_a_range_is_what_takes_a_few_seconds() -> None:
    given = ranges.Ranges()
    given.add({ZERO: 0})
    lengths = []
    for seconds in (0.25, 1.0, 5.0, 9.0, 9.0):
        (begin, end) = given.next({ZERO: (0, 10_000_000)})[ZERO]
        lengths.append(end - begin)
        given.done({ZERO: (begin, end)}, {}, seconds)
    assert lengths == [100_000, 400_000, 800_000, 800_000, 400_000]
    # What is short because there was no more says nothing.
    given.done({ZERO: (given.positions[ZERO], given.positions[ZERO] + 5)}, {}, 0.1)
    (begin, end) = given.next({ZERO: (0, 10_000_000)})[ZERO]
    assert end - begin == 200_000


@contextlib.contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """As a disk that is full: what is longer is refused by the system."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


def test_a_full_disk_is_said_in_a_sentence_and_nothing_is_there_twice_later(tmp_path: Path) -> None:
    file = tmp_path / "out"
    kafka = Kafka({ZERO: numbered(*range(1000, 2000)), ONE: []})
    make = lambda: file_sink.make({"file": str(file)}, "FileStreamSink")  # noqa: E731
    with files_of_at_most(4000), Running(kafka, make) as running:
        trace = running.failure()
    assert trace.splitlines()[0] == f"ConnectError: {file} cannot be written: File too large."
    with Running(kafka, make) as running:
        running.until_committed()
    assert file.read_text().split() == [str(number) for number in range(1000, 2000)]


@dataclass(frozen=True)
class Hoarding:
    """Takes files of five records: what is not whole is not safe."""

    folder: Path

    def put(
        self, partition: TopicPartition, records: Iterator[Record], report: Report
    ) -> int | None:
        every = list(records)
        whole = len(every) - len(every) % 5
        for at in range(0, whole, 5):
            name = f"{partition.partition}-{every[at].offset}"
            (self.folder / name).write_text(",".join(str(one.value) for one in every[at : at + 5]))
        return every[whole].offset if whole < len(every) else None


def test_the_group_moves_only_to_what_is_safe_and_the_rest_is_given_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "RANGE_FIRST", 2)  # less than the target wants at once
    kafka = Kafka({ZERO: numbered(*range(7)), ONE: []})
    with Running(kafka, lambda: Target(Hoarding(tmp_path))) as running:
        running.until(lambda: kafka.group.get(ZERO) == 5)
        kafka.values[ZERO] += numbered(7, 8, 9)
        running.until(lambda: kafka.group.get(ZERO) == 10)
    assert {one.name: one.read_text() for one in tmp_path.iterdir()} == {
        "0-0": "0,1,2,3,4",
        "0-5": "5,6,7,8,9",
    }


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


LETTERS = {
    "value_converter": JSON,
    "value_converter_schemas_enable": "false",
    "errors_tolerance": "all",
    "errors_deadletterqueue_topic_name": "letters",
    "errors_deadletterqueue_context_headers_enable": "true",
}


def test_records_that_fail_are_dead_letters_as_they_were_read() -> None:
    kafka = Kafka({ZERO: [b"1", b"{", b"2", b"3"], ONE: []})
    with Running(kafka, lambda: Target(Picky()), **LETTERS) as running:
        running.until_committed()
    assert sorted(value for _, value, _ in kafka.letters) == [b"1", b"3", b"{"]
    by_value = {
        value: {one["key"].removeprefix("__connect.errors."): one["value"] for one in headers}
        for _, value, headers in kafka.letters
    }
    assert len(by_value[b"{"]) == 10
    assert by_value[b"{"]["stage"] == b"VALUE_CONVERTER"
    assert (by_value[b"3"]["stage"], by_value[b"3"]["offset"]) == (b"TASK_PUT", b"3")
    assert by_value[b"3"]["connector.name"] == b"s"


def test_without_tolerance_the_first_record_that_fails_ends_the_run() -> None:
    kafka = Kafka({ZERO: [b"2", b"{"], ONE: []})
    more = {"value_converter": JSON, "value_converter_schemas_enable": "false"}
    with Running(kafka, lambda: Target(Picky()), **more) as running:
        assert "Tolerance exceeded in error handler" in running.failure()
    assert kafka.group == {}


@pytest.mark.parametrize(
    ("target", "group", "reset", "begins", "moved"),
    [
        ({}, {}, "earliest", 3, {}),
        ({}, {}, "latest", 9, {}),
        ({}, {ZERO: 5}, "earliest", 5, {}),
        ({ZERO: 6}, {ZERO: 5}, "earliest", 6, {}),
        ({ZERO: 6}, {ZERO: 7}, "earliest", 7, {ZERO: 7}),
        ({ZERO: 1}, {}, "earliest", 3, {ZERO: 3}),  # deleted by retention
        ({ZERO: 99}, {ZERO: 99}, "latest", 9, {ZERO: 9}),  # the topic was made anew
    ],
)
def test_where_a_sink_begins(
    target: dict[TopicPartition, int],
    group: dict[TopicPartition, int],
    reset: str,
    begins: int,
    moved: dict[TopicPartition, int],
) -> None:
    start = ranges.start_at({ZERO: (3, 9)}, target, group, reset)
    assert (start.positions, start.moved) == ({ZERO: begins}, moved)


def test_without_any_offset_none_is_an_error() -> None:
    with pytest.raises(ConnectError, match=r"auto\.offset\.reset is none"):
        ranges.start_at({ZERO: (3, 9)}, {}, {}, "none")
