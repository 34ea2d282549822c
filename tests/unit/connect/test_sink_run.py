"""The loop of a sink, over a Kafka and a target of the test's own; its task really runs."""

import contextlib
import fcntl
import os
import resource
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ottla.connect.connector import (
    ConnectError,
    Report,
    ServiceError,
    TopicPartition,
)
from ottla.connect.connectors import file_sink
from ottla.connect.data import Record
from ottla.connect.runs import ranges
from ottla.connect.runs.run import TopicUsed
from support.sink_runs import (
    JSON,
    ONE,
    ZERO,
    Kafka,
    Picky,
    Running,
    Target,
    numbered,
)


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
