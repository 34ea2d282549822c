"""What a run does in which order, with queries that do as they are told. No Spark, no broker."""

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import StreamingQueryException

from ottla.errors import OttlaError
from ottla.pipelines import App, json
from ottla.pipelines.engine.options import RunOptions
from ottla.pipelines.engine.queries import Phase
from ottla.pipelines.lifecycle import phases, restarts, running
from ottla.pipelines.lifecycle.membership import Membership
from ottla.pipelines.lifecycle.progress import Group
from ottla.pipelines.lifecycle.running import Runner
from ottla.pipelines.lifecycle.status import Status
from ottla.pipelines.planning.plan import Plan, make_plan
from ottla.pipelines.planning.stages import Stage
from ottla.pipelines.planning.topics import Cluster
from ottla.ports.network import free_ports


@pytest.fixture(autouse=True)
def _without_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarts, "BACK_OFF_S", (0.01,))


class View:
    def say(self, sentence: str) -> None:
        pass

    def show(self, status: Status) -> None:
        pass


class Query:
    """Says that it ended at once, unless it is told to fail or to wait."""

    name = "query"
    isActive = True

    def __init__(self, does: str) -> None:
        self.does = does
        self.stopped = threading.Event()

    def processAllAvailable(self) -> None:
        if self.does == "fail":
            raise StreamingQueryException("the broker went away while the table was read")
        if self.does == "wait":
            self.stopped.wait(30)

    awaitTermination = processAllAvailable

    def stop(self) -> None:
        self.stopped.set()
        if self.does == "wait":
            raise spark_timeout()


class Starter:
    """Makes the checkpoint as a query starts, as Spark does."""

    def __init__(self, folder: Path, does: str = "end", times: int = 100) -> None:
        self.folder = folder
        self.does = does
        self.times = times  # then a query does nothing but end
        self.started: list[Phase] = []
        self.on_start = lambda: None

    def checkpoint(self, stage: Stage) -> Path:
        return self.folder / stage.name

    def frame(self, stage: Stage, phase: Phase) -> None:
        pass

    def start(self, stage: Stage, phase: Phase = "live") -> Query:
        self.checkpoint(stage).mkdir(exist_ok=True)
        self.started.append(phase)
        self.on_start()
        return Query(self.does if len(self.started) <= self.times else "end")


def spark_timeout() -> Py4JJavaError:
    """As it comes when a query does not stop in time: PySpark passes it on untranslated."""

    class Raised(Py4JJavaError):
        def __init__(self) -> None:
            Exception.__init__(self, "java.util.concurrent.TimeoutException")

        def __str__(self) -> str:
            return "java.util.concurrent.TimeoutException"

    return Raised()


def a_join() -> Plan:
    app = App("joined")
    people = app.table("people", value=json("town STRING"))
    app.stream("orders", value=json("n INT")).join(people).to("out")
    return make_plan(app.definition())


def alone() -> Any:
    """A membership that nobody disputes."""
    return SimpleNamespace(lost=None, successor=None, wait_until_held=lambda _: True)


def prepare(starter: Starter, *, stop: bool = False) -> Runner:
    runner = Runner(a_join(), RunOptions(), View())
    runner.group = SimpleNamespace(publish=lambda _: None, ends=lambda *_: {})  # type: ignore[assignment]
    runner.cluster = Cluster("id", {})
    runner.member = alone()
    if stop:
        starter.on_start = runner.stop
    runner._prepare(starter)  # type: ignore[arg-type]
    return runner


def test_tables_are_loaded_once(tmp_path: Path) -> None:
    for expected in (["load"], []):
        starter = Starter(tmp_path)
        prepare(starter)
        assert starter.started == expected


@pytest.mark.parametrize("how", ["fail", "wait"])
def test_a_load_that_was_cut_short_is_taken_up_by_the_next_run(tmp_path: Path, how: str) -> None:
    with pytest.raises(OttlaError) if how == "fail" else contextlib.nullcontext():
        prepare(Starter(tmp_path, how), stop=how == "wait")
    for expected in (["load"], []):
        starter = Starter(tmp_path)
        prepare(starter)
        assert starter.started == expected


@pytest.mark.parametrize("phase", ["load", "catch-up"])
def test_what_fails_on_its_way_to_the_end_is_tried_again_but_not_for_ever(
    tmp_path: Path, phase: Phase
) -> None:
    runner = prepare(Starter(tmp_path))
    [stage, _] = runner.plan.stages
    mended = Starter(tmp_path, "fail", times=2)
    assert runner._finish(mended, stage, phase) is not None  # type: ignore[arg-type]
    assert mended.started == [phase] * 3
    hopeless = Starter(tmp_path, "fail")
    with pytest.raises(OttlaError, match="out failed: the broker went away"):
        runner._finish(hopeless, stage, phase)  # type: ignore[arg-type]
    assert hopeless.started == [phase] * (1 + phases.RETRIES)


def test_a_stage_does_not_start_when_its_load_was_stopped(tmp_path: Path) -> None:
    starter = Starter(tmp_path, "wait")
    runner = prepare(starter, stop=True)
    runner._live(starter)  # type: ignore[arg-type]
    assert starter.started == ["load"]


def test_progress_is_told_once_more_when_the_queries_have_stopped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    happened: list[str] = []

    class Ending(Runner):
        @contextlib.contextmanager
        def _spark(self, folder: Any) -> Iterator[Any]:
            yield Starter(folder)
            happened.append("stopped")

        @contextlib.contextmanager
        def _as_member(self, group: str, *, take_over: bool = False) -> Iterator[Any]:
            self.member = alone()
            yield self.member

        def _publish(self) -> None:
            happened.append("published")

    monkeypatch.setattr(
        running, "describe", lambda *_: Cluster("id", {"orders": 1, "people": 1, "out": 1})
    )
    monkeypatch.setattr(running, "create", lambda *_: None)
    monkeypatch.setattr(running, "forgetful", lambda *_: [])
    runner = Ending(a_join(), RunOptions(state=tmp_path), View())
    runner.stop()
    runner.run()
    assert happened == ["stopped", "published"]


def test_queries_that_do_not_stop_are_left_after_one_wait_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(phases, "BATCH_WAIT_S", 0.2)
    for_ever = threading.Event()
    runner = Runner(a_join(), RunOptions(), View())
    runner.member = alone()
    stages = [stage.name for stage in runner.plan.stages]
    assert len(stages) == 2
    runner._queries = {
        name: SimpleNamespace(isActive=True, stop=for_ever.wait)  # type: ignore[misc]
        for name in stages
    }
    began = time.monotonic()
    runner._stop_all()
    assert time.monotonic() - began < 0.7
    for_ever.set()


def test_a_broker_that_is_away_is_not_waited_for_long() -> None:
    [port] = free_ports(1)
    settings = {"heartbeat.interval.ms": "100", "socket.timeout.ms": "500"}
    settings["session.timeout.ms"] = "500"
    app = App("alone", bootstrap=f"127.0.0.1:{port}", client=settings)
    app.stream("orders", value=json("n INT")).to("out")
    member = Membership(app.definition(), ["orders"])
    member.join()
    with contextlib.closing(member):
        group = Group(lambda: member.consumer)
        began = time.monotonic()
        group.publish({"orders": {0: 5}})
        assert group.ends({"orders": 8}, 0.5) == {}  # it does not ask for the other seven
        assert time.monotonic() - began < 3
