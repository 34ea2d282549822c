"""Applications that change between two runs, on Spark: what goes on, what is refused, what is
rebuilt, and that the results are those of a run from the beginning."""

import contextlib
import io
import json
import os
import random
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from ottla.errors import OttlaError
from ottla.pipelines import App, Context, Processor, tumbling
from ottla.pipelines import json as json_format
from ottla.pipelines.api.definitions import Application
from ottla.pipelines.api.processors import Row
from ottla.pipelines.api.streams import Stream
from ottla.pipelines.engine.options import RunOptions
from ottla.pipelines.engine.queries import Starter
from ottla.pipelines.lifecycle.brokers import connect, create, describe
from ottla.pipelines.lifecycle.changing import Change, plan_change
from ottla.pipelines.lifecycle.cleaning import find_leftovers, remove
from ottla.pipelines.lifecycle.running import Runner
from ottla.pipelines.lifecycle.state import Generations, State
from ottla.pipelines.lifecycle.upgrading import check, read_order
from ottla.pipelines.lifecycle.views import Lines
from ottla.pipelines.planning import manifest as manifests
from ottla.pipelines.planning.plan import make_plan
from ottla.pipelines.planning.topics import NewTopic
from ottla.pipelines.runtime.storage import LocalStorage

pytestmark = pytest.mark.timeout(900)
Build = Callable[[Stream, Callable[[str], str]], None]
WITHIN_S = 400.0
ROW = "who STRING, town STRING, n BIGINT"
SOURCE = Path(__file__).parents[3] / "src"


class Shop:
    """An application of which there are many versions, each a function of its one stream."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self.bootstrap = bootstrap
        self.folder = folder
        self.name = f"shop-{uuid.uuid4().hex[:6]}"
        self.sent: list[dict[str, Any]] = []
        self.times_ms: list[int] = []  # of what was sent; none comes late
        self.began_ms = (int(time.time()) - 3 * 3600) * 1000
        self.said = io.StringIO()
        create(self.app(lambda *_: None).definition(), [NewTopic(self.topic("in"), 2)])
        self.producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})

    def topic(self, name: str) -> str:
        return f"{self.name}-{name}"

    def app(self, build: Build) -> App:
        app = App(self.name, bootstrap=self.bootstrap, parallelism=1, delivery="exactly_once")
        rows = app.stream(self.topic("in"), value=json_format(ROW))
        build(rows, self.topic)
        return app

    def send(self, count: int, seed: int = 1) -> None:
        chance = random.Random(seed)
        for _ in range(count):
            row: dict[str, Any] = {
                "who": chance.choice("abcdef"),
                "town": chance.choice(["x", "y"]),
                "n": chance.randrange(100),
            }
            self.times_ms.append(self.began_ms + 7000 * len(self.sent))
            self.sent.append(row)
            self.producer.produce(
                self.topic("in"), json.dumps(row), key=row["who"], timestamp=self.times_ms[-1]
            )
        assert self.producer.flush(30) == 0

    def runner(self, build: Build, kind: type[Runner] = Runner, **options: Any) -> Runner:
        chosen = RunOptions(state=self.folder, ui=False, archive=False, **options)
        return kind(make_plan(self.app(build).definition()), chosen, Lines(self.said))

    def run(self, build: Build, **options: Any) -> None:
        self.runner(build, until_done=True, **options).run()

    def state(self) -> State:
        cluster = describe(self.app(lambda *_: None).definition()).id
        return Generations(LocalStorage(self.folder), self.name, cluster).current()

    def rows(self, topic: str) -> list[tuple[str, Any]]:
        """Everything that was committed to a topic, in order within its partitions."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": uuid.uuid4().hex,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
            }
        )
        with contextlib.closing(consumer):
            name = self.topic(topic)
            parts = consumer.list_topics(name, timeout=30).topics[name].partitions
            consumer.assign([TopicPartition(name, p, 0) for p in parts])
            found, left = [], len(parts)
            while left:
                message = consumer.poll(30)
                assert message is not None
                if message.error():
                    left -= 1
                    continue
                key: Any = message.key() or b""
                found.append((key.decode(), json.loads(message.value() or b"null")))
            return found

    def table(self, topic: str) -> dict[str, Any]:
        latest = dict(self.rows(topic))
        return {key: row for key, row in latest.items() if row is not None}

    def sums(self, by: str) -> dict[str, int]:
        found: Counter[str] = Counter()
        for row in self.sent:
            found[row[by]] += row["n"]
        return dict(found)


def totals(by: str, aggregate: str = "sum(n)") -> Build:
    def build(rows: Stream, topic: Callable[[str], str]) -> None:
        rows.group_by(by).agg(total=aggregate).to(topic("totals"))

    return build


def both(*builds: Build) -> Build:
    def build(rows: Stream, topic: Callable[[str], str]) -> None:
        for each in builds:
            each(rows, topic)

    return build


def large(rows: Stream, topic: Callable[[str], str]) -> None:
    rows.filter("n >= 50").to(topic("large"))


def histogram(rows: Stream, topic: Callable[[str], str]) -> None:
    """Two states, one behind the other: an intermediate topic lies between."""
    counts = rows.group_by("who").count()
    counts.changes().group_by("count").agg(times="count(*)").to(topic("histogram"))


def of_column(table: dict[str, Any], column: str) -> dict[str, Any]:
    return {key: row[column] for key, row in table.items()}


def test_an_application_is_changed_while_it_lives(driven: str, tmp_path: Path) -> None:
    shop = Shop(driven, tmp_path)
    shop.send(50, seed=1)
    shop.run(both(large, totals("who")))
    shop.send(50, seed=2)
    # A line above, and a filter that is another: what stood there goes on, each row once.
    shop.run(both(histogram, large, totals("who")))
    assert of_column(shop.table("totals"), "total") == shop.sums("who")
    expected = Counter(row["n"] for row in shop.sent if row["n"] >= 50)
    assert Counter(row["n"] for _, row in shop.rows("large")) == expected
    # Another key would mix two kinds of sums.
    with pytest.raises(OttlaError, match=r"its key was who and is town.*--upgrade"):
        shop.run(both(large, totals("town")))
    assert of_column(shop.table("totals"), "total") == shop.sums("who")
    shop.send(50, seed=3)
    shop.run(both(large, totals("town")), upgrade=True)
    assert of_column(shop.table("totals"), "total") == shop.sums("town")
    expected = Counter(row["n"] for row in shop.sent if row["n"] >= 50)
    assert Counter(row["n"] for _, row in shop.rows("large")) == expected
    shop.send(20, seed=4)
    shop.run(both(large, totals("town")))
    assert of_column(shop.table("totals"), "total") == shop.sums("town")
    # What is no longer used is named, and removed when that is wished.
    application = shop.app(both(large, totals("town"))).definition()
    left = find_leftovers(application, shop.state())
    assert set(left.checkpoints) >= {shop.topic("totals"), shop.topic("histogram")}
    assert len(left.topics) == 1
    remove(application, shop.state(), left)
    assert not find_leftovers(application, shop.state())
    topics = connect(application).list_topics(timeout=30).topics
    assert not any("rebuild" in name for name in topics if name.startswith(shop.name))
    shop.send(20, seed=5)
    shop.run(both(large, totals("town")))
    assert of_column(shop.table("totals"), "total") == shop.sums("town")


class StoppedBeforeTheSwitch(Runner):
    """Asked to stop when what must be rebuilt has caught up."""

    def _rebuild(self, starter: Starter, state: State, change: Change) -> bool:
        caught_up = super()._rebuild(starter, state, change)
        self.stop()
        return caught_up


@pytest.mark.long
def test_until_the_switch_an_upgrade_leaves_everything_as_it_was(
    driven: str, tmp_path: Path
) -> None:
    shop = Shop(driven, tmp_path)
    shop.send(50, seed=1)
    shop.run(both(large, totals("who")))
    before = sorted(map(str, shop.rows("totals")))
    shop.runner(totals("town"), StoppedBeforeTheSwitch, upgrade=True, until_done=True).run()
    assert "Switched" not in shop.said.getvalue()
    assert sorted(map(str, shop.rows("totals"))) == before
    shop.send(50, seed=2)
    shop.run(both(large, totals("who")))  # the old code still fits, and goes on where it was
    assert of_column(shop.table("totals"), "total") == shop.sums("who")
    expected = Counter(row["n"] for row in shop.sent if row["n"] >= 50)
    assert Counter(row["n"] for _, row in shop.rows("large")) == expected
    shop.run(both(large, totals("town")), upgrade=True)
    assert of_column(shop.table("totals"), "total") == shop.sums("town")


class Numbering(Processor):
    """The number of each row of its key: state, and a stream that cannot be taken back."""

    returns = "who STRING, number BIGINT"
    state = {"seen": "number BIGINT"}  # noqa: RUF012

    def process(self, key: str, row: Row, context: Context) -> Iterable[Row]:
        number = (context.get("seen") or {"number": 0})["number"] + 1
        context.put("seen", {"number": number})
        yield {"who": key, "number": number}


class Summing(Numbering):
    """The same with one more in its state."""

    returns = "who STRING, number BIGINT, total BIGINT"
    state = {"seen": "number BIGINT, total BIGINT"}  # noqa: RUF012

    def process(self, key: str, row: Row, context: Context) -> Iterable[Row]:
        seen = context.get("seen") or {"number": 0, "total": 0}
        seen = {"number": seen["number"] + 1, "total": seen["total"] + row["n"]}
        context.put("seen", seen)
        yield {"who": key, **seen}


@pytest.mark.long
def test_a_stream_goes_on_with_a_state_that_was_rebuilt(driven: str, tmp_path: Path) -> None:
    shop = Shop(driven, tmp_path)
    shop.send(60, seed=1)
    shop.run(lambda rows, topic: rows.process(Numbering()).to(topic("numbered")))
    shop.send(60, seed=2)
    shop.run(lambda rows, topic: rows.process(Summing()).to(topic("numbered")), upgrade=True)
    found: dict[str, list[Any]] = {}
    for who, row in shop.rows("numbered"):
        found.setdefault(who, []).append(row)
    for who, rows in found.items():
        values = [row["n"] for row in shop.sent if row["who"] == who]
        before = sum(row["who"] == who for row in shop.sent[:60])
        # Every row once: as the old version said it, and then as the new one does.
        assert [row["number"] for row in rows] == list(range(1, len(values) + 1))
        assert [row.get("total") for row in rows[before:]] == [
            sum(values[: at + 1]) for at in range(before, len(values))
        ]
    assert sum(map(len, found.values())) == 120


def numbered_with(*others: str) -> Build:
    def build(rows: Stream, topic: Callable[[str], str]) -> None:
        more = [rows.app.stream(topic(name), value=json_format(ROW)) for name in others]
        (rows.merge(*more) if more else rows).process(Numbering()).to(topic("numbered"))

    return build


@pytest.mark.long
def test_a_stream_goes_on_when_it_reads_one_more_topic(driven: str, tmp_path: Path) -> None:
    shop = Shop(driven, tmp_path)
    create(shop.app(lambda *_: None).definition(), [NewTopic(shop.topic("more"), 1)])
    shop.send(60, seed=1)
    shop.run(numbered_with())
    for _ in range(10):  # history of a topic that the old version did not know
        shop.producer.produce(shop.topic("more"), json.dumps({"who": "z", "n": 1}), key="z")
    shop.send(60, seed=2)
    shop.run(numbered_with("more"), upgrade=True)
    numbers: dict[str, list[int]] = {}
    for who, row in shop.rows("numbered"):
        numbers.setdefault(who, []).append(row["number"])
    expected = Counter(row["who"] for row in shop.sent) + Counter(z=10)
    assert numbers == {who: list(range(1, count + 1)) for who, count in expected.items()}


def test_where_a_stream_goes_on_must_be_known() -> None:
    def change(old: Build, new: Build) -> Change:
        def application(build: Build) -> Application:
            app = App("shop")
            build(app.stream("in", value=json_format(ROW)), str)
            return app.definition()

        ran = manifests.describe(make_plan(application(old)))
        return plan_change(application(new), ran)

    def refused(old: Build, new: Build) -> str:
        with pytest.raises(OttlaError) as caught:
            check(change(old, new))
        return str(caught.value)

    def behind(rows: Stream, topic: Callable[[str], str]) -> None:
        rows.group_by("who").count().changes().process(Numbering()).to(topic("numbered"))

    def twice(rows: Stream, topic: Callable[[str], str]) -> None:
        more = rows.app.stream(topic("more"), value=json_format(ROW))
        low, high = rows.branch("n < 5")
        low.merge(high, more).process(Numbering()).to(topic("numbered"))

    check(change(numbered_with(), numbered_with("more")))
    said = refused(numbered_with(), behind)
    assert (
        "numbered writes a stream, whose past cannot be taken back, and it reads shop-in-by-who"
        in said
    )
    assert "Give it another topic" in said
    assert "it reads in more than once" in refused(numbered_with(), twice)
    assert "its topic was a table's" in refused(
        lambda rows, topic: rows.group_by("who").count().to(topic("numbered")), numbered_with()
    )


def test_what_a_merge_reads_is_told_in_the_order_of_its_parts() -> None:
    app = App("order")
    one, two, three = (app.stream(name, value=json_format(ROW)) for name in ("a", "b", "c"))
    low, high = one.branch("n < 5")
    merged = two.merge(low, high, three).join(app.table("t", value=json_format("x INT")))
    assert [s.topic for s in read_order(merged.node)] == ["b", "a", "a", "c", "t"]
    joined = one.join(one.select(m="n"), within="1 s")
    assert [s.topic for s in read_order(joined.node)] == ["a"]


@dataclass(frozen=True)
class Sum:
    """A stage as it may be drawn: rows of at least `least`, folded by a column, or passed on."""

    sink: str
    by: str | None  # None: a stream of the rows themselves
    aggregate: str = "sum"
    least: int = 0
    column: bool = False  # one more in the output
    minutes: int | None = None  # of the windows that are folded, where there are any

    def build(self, rows: Stream, topic: Callable[[str], str]) -> None:
        chosen = rows.filter(f"n >= {self.least}") if self.least else rows
        if self.by is None:
            more = chosen.with_columns(more="n + 1") if self.column else chosen
            more.to(topic(self.sink))
            return
        grouped = chosen.group_by(self.by)
        folds = {"total": f"{self.aggregate}(n)"}
        if self.minutes is None:
            table = grouped.agg(**folds)
        else:
            table = grouped.windowed(tumbling(f"{self.minutes} minutes")).agg(**folds)
        (table.with_columns(more="total + 1") if self.column else table).to(topic(self.sink))

    def must_be_rebuilt(self, new: "Sum") -> bool:
        mine, its = ((s.by, s.aggregate, s.minutes) for s in (self, new))
        return mine != its


class Model:
    """What topics must hold: a change counts from now on, a rebuilt stage from the beginning."""

    def __init__(self) -> None:
        self.taken: dict[str, list[int]] = {}  # by sink: the indices of the rows that count
        self.seen = 0

    def run(self, sent: list[dict[str, Any]], before: list[Sum], now: list[Sum]) -> None:
        old = {stage.sink: stage for stage in before}
        for stage in now:
            fresh = stage.sink not in old or old[stage.sink].must_be_rebuilt(stage)
            start = 0 if fresh else self.seen
            kept = [] if fresh else self.taken[stage.sink]
            new = [at for at in range(start, len(sent)) if sent[at]["n"] >= stage.least]
            self.taken[stage.sink] = kept + new
        self.seen = len(sent)

    def expected(self, stage: Sum, shop: Shop) -> Any:
        taken = [(shop.sent[at], shop.times_ms[at]) for at in self.taken[stage.sink]]
        if stage.by is None:
            return Counter(row["n"] for row, _ in taken)
        groups: dict[tuple[str, str | None], list[int]] = {}
        for row, at_ms in taken:
            start = None
            if stage.minutes is not None:
                seconds = at_ms // 1000
                start = clock(seconds - seconds % (stage.minutes * 60))
            groups.setdefault((row[stage.by], start), []).append(row["n"])
        folds: dict[str, Callable[[list[int]], int]] = {"sum": sum, "min": min, "count": len}
        fold = folds[stage.aggregate]
        return {key: fold(values) for key, values in groups.items()}


def clock(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def edited(stages: list[Sum], chance: random.Random, number: int) -> list[Sum]:
    """Some lines changed, one perhaps removed, one perhaps added above, all in another order."""
    new = []
    for stage in stages:
        edits = ["same", "key", "aggregate", "window", "filter", "column", "rename", "remove"]
        match chance.choice(edits):
            case "key" if stage.by is not None:
                new.append(replace(stage, by="town" if stage.by == "who" else "who"))
            case "aggregate" if stage.by is not None:
                new.append(replace(stage, aggregate=chance.choice(["sum", "min", "count"])))
            case "window" if stage.by is not None:
                others = {None, 1, 5} - {stage.minutes}
                new.append(replace(stage, minutes=chance.choice(sorted(others, key=str))))
            case "rename":
                new.append(replace(stage, sink=f"{stage.sink}-{number}"))
            case "filter":
                new.append(replace(stage, least=chance.randrange(60)))
            case "column":
                new.append(replace(stage, column=True))
            case "remove" if len(new) or stage is not stages[-1]:
                pass
            case _:
                new.append(stage)
    chance.shuffle(new)
    return [Sum(f"new-{number}", chance.choice(["who", "town", None])), *new]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_drawn_edits_end_as_a_run_from_the_beginning(
    driven: str, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    shop, model = Shop(driven, tmp_path), Model()
    stages = [Sum("a", "who"), Sum("b", "town", "min"), Sum("c", None, least=50)]
    before: list[Sum] = []
    for number in range(4):
        shop.send(60, seed=100 * seed + number)
        old = {stage.sink: stage for stage in before}
        wrong = [s for s in stages if s.sink in old and old[s.sink].must_be_rebuilt(s)]
        build = both(*(stage.build for stage in stages))
        if wrong:
            with pytest.raises(OttlaError, match=shop.topic(wrong[0].sink)):
                shop.run(build)
        shop.run(build, upgrade=bool(wrong))
        model.run(shop.sent, before, stages)
        for stage in stages:
            expected = model.expected(stage, shop)
            if stage.by is None:  # each row once
                assert Counter(row["n"] for _, row in shop.rows(stage.sink)) == expected, stage
            else:
                table = shop.table(stage.sink).values()
                found = {(row[stage.by], row.get("window_start")): row["total"] for row in table}
                assert found == expected, stage
        before, stages = stages, edited(stages, chance, number)


PROGRAM = """
import ottla
from ottla.pipelines import json
app = ottla.App("{name}", parallelism=1, delivery="exactly_once")
rows = app.stream("{name}-in", value=json("who STRING, town STRING, n BIGINT"))
rows.filter("n >= 50").to("{name}-large")
rows.group_by("{by}").agg(total="sum(n)").to("{name}-totals")
"""


@pytest.mark.long
def test_an_upgrade_runs_beside_the_old_version_and_takes_over(driven: str, tmp_path: Path) -> None:
    shop = Shop(driven, tmp_path)
    shop.send(100, seed=1)
    processes = []
    environment = os.environ | {
        "PYTHONPATH": str(SOURCE),
        "OTTLA_BOOTSTRAP": driven,
        "OTTLA_STATE": str(tmp_path / "state"),
    }
    with contextlib.ExitStack() as running:
        for by, options in (("who", ()), ("town", ("--upgrade",))):
            file = tmp_path / f"by_{by}.py"
            file.write_text(PROGRAM.format(name=shop.name, by=by))
            log = running.enter_context((tmp_path / f"{by}.log").open("w"))
            process = subprocess.Popen(
                [sys.executable, "-m", "ottla", "run", "--no-ui", *options, str(file)],
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            running.callback(process.wait)
            running.callback(process.kill)
            processes.append(process)
            eventually(lambda by=by: "Running 2 queries" in (tmp_path / f"{by}.log").read_text())
            shop.send(100, seed=len(processes) + 1)
        old, new = processes
        assert old.wait(60) == 0
        assert "Handing over to process" in (tmp_path / "who.log").read_text()
        assert "Switched" in (tmp_path / "town.log").read_text()
        eventually(lambda: of_column(shop.table("totals"), "total") == shop.sums("town"))
        expected = Counter(row["n"] for row in shop.sent if row["n"] >= 50)
        eventually(lambda: len(shop.rows("large")) >= sum(expected.values()))
        new.terminate()
        assert new.wait(60) == 0
    assert Counter(row["n"] for _, row in shop.rows("large")) == expected


def eventually(condition: Callable[..., bool]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.3)
