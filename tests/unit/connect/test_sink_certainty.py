"""A sink writes and moves nothing that another worker may have by now."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ottla.connect.connector import (
    SinkTask,
    TopicPartition,
)
from ottla.connect.connectors import file_sink
from ottla.connect.runs import sink_run
from ottla.connect.runs.failures import JobFailed, Kind
from ottla.connect.runs.sink_run import Given, SinkWorking
from ottla.connect.runs.sink_tasks import SinkDone, SinkWork
from support.sink_runs import JSON, ONE, ZERO, Kafka, Picky, Running, Target, numbered


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
