"""What a worker's process keeps: its runs, and what past jobs have left."""

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from ottla.client.connection import Connection
from ottla.connect import server
from ottla.connect.runs import spark_runner
from ottla.connect.runs.run import RunPlan
from ottla.connect.runs.spark_runner import SparkRunner
from ottla.pipelines.runtime import sessions


@pytest.fixture
def thresholds() -> Iterator[None]:
    before, enabled = gc.get_threshold(), gc.isenabled()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)
    (gc.enable if enabled else gc.disable)()
    gc.unfreeze()


class JavaObject:
    """As one of py4j's: it holds its methods, which hold it."""

    def __init__(self) -> None:
        self.methods = {"toString": [self]}


@pytest.mark.usefixtures("thresholds")
def test_what_a_job_held_in_the_jvm_is_let_go_of_soon() -> None:
    gc.disable()  # as a start does
    server.collect()
    first = weakref.ref(JavaObject())
    for _ in range(5_000):
        JavaObject()
    assert first() is None


class Ended:
    """Somebody who asks whether it has ended waits for the answer, the first time."""

    def __init__(self) -> None:
        self.asked, self.answers = threading.Event(), threading.Event()

    @property
    def ended(self) -> bool:
        if not self.asked.is_set():
            self.asked.set()
            assert self.answers.wait(30)
        return True

    def stop(self) -> None: ...


class Stopped:
    """Of a run, whether it was."""

    ended = False

    def __init__(self, *_: Any) -> None:
        self.was = False
        MADE.append(self)

    def stop(self) -> None:
        self.was = True


MADE: list[Stopped] = []


def plan() -> RunPlan:
    config = {"connector.class": "FileStreamSink", "file": "/nowhere", "topics": "t"}
    return RunPlan(
        name="s",
        config=config,
        resolved=config,
        tasks=1,
        group_id="g",
        offsets_topic="offsets",
        connection=Connection(),
        worker={},
    )


def test_runs_that_begin_at_once_are_all_stopped_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    MADE.clear()
    runner, before = SparkRunner(), Ended()
    monkeypatch.setattr(sessions, "stop", lambda: None)
    monkeypatch.setattr(spark_runner, "SupervisedRun", lambda *_: before)
    before.asked.set()
    runner.run(plan(), lambda event: None)
    before.asked.clear()
    monkeypatch.setattr(spark_runner, "SupervisedRun", Stopped)
    both = [
        threading.Thread(target=runner.run, args=(plan(), lambda event: None)) for _ in range(2)
    ]
    both[0].start()
    assert before.asked.wait(30)
    both[1].start()
    both[1].join(0.3)  # which waits for the first, if all is well
    before.answers.set()
    for one in both:
        one.join(30)
    runner.close()
    assert [one.was for one in MADE] == [True, True]
