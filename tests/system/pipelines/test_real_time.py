"""Every operator that real-time mode runs, in it, against what plain Python says."""

import contextlib
import io
import json
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from ottla.errors import OttlaError
from ottla.pipelines import App, expr, hopping, tumbling
from ottla.pipelines import json as json_format
from ottla.pipelines.api.store import TableView
from ottla.pipelines.engine.options import RunOptions
from ottla.pipelines.lifecycle import phases
from ottla.pipelines.lifecycle.brokers import create
from ottla.pipelines.lifecycle.running import Runner
from ottla.pipelines.lifecycle.views import Lines
from ottla.pipelines.planning.plan import make_plan
from ottla.pipelines.planning.topics import NewTopic
from system.pipelines.test_running import eventually, live

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
T0 = 1_767_225_600_000
TABLES = {
    "left": {"a": {"l": 1}, "b": {"l": 2}, "c": None, "d": {"l": 4}},
    "right": {"b": {"r": 20}, "c": {"r": 30}, "d": None},
}


class World:
    """An application of one's own, its topics, and a producer."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.name = f"rt-{uuid.uuid4().hex[:6]}"
        self.app = App(self.name, bootstrap=bootstrap, latency="low", parallelism=1)
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
        self._views: dict[str, TableView] = {}

    def topic(self, name: str) -> str:
        return f"{self.name}-{name}"

    def send(self, topic: str, key: str, value: Any, second: float = 0) -> None:
        text = None if value is None else json.dumps(value)
        at = T0 + int(second * 1000)
        self._producer.produce(self.topic(topic), text, key=key, timestamp=at)
        assert self._producer.flush(30) == 0

    def rows(self, topic: str) -> dict[str, Any]:
        """The topic as a table, as it is now. The application makes it as it starts."""
        if topic not in self._views:
            name = self.topic(topic)
            try:
                self._views[topic] = TableView(self.name, name, bootstrap=self.bootstrap)
            except OttlaError:
                return {}
        self._views[topic].refresh()
        return dict(self._views[topic])

    @contextlib.contextmanager
    def running(self, folder: Path, *reads: str) -> Iterator[Runner]:
        forever = {"retention.ms": "-1"}
        new = [NewTopic(self.topic(topic), 1, forever) for topic in reads]
        create(self.app.definition(), new)
        plan = make_plan(self.app.definition())
        assert {stage.mode for stage in plan.stages if not stage.only_dead} == {"real-time"}
        options = RunOptions(state=folder, ui=False, archive=False)
        self.said = io.StringIO()
        runner = Runner(plan, options, Lines(self.said))
        with live(runner):
            yield runner
        while self._views:
            self._views.popitem()[1].close()


def test_rows_are_filtered_split_merged_counted_and_windowed(driven: str, tmp_path: Path) -> None:
    world = World(driven)
    clicks = world.app.stream(world.topic("clicks"), value=json_format("n INT"))
    small, large = clicks.branch("n < 5")
    small.with_columns(size="'small'").merge(large.with_columns(size="'large'")).to(
        world.topic("sized"), key="n"
    )
    by_key = clicks.group_by_key()
    by_key.agg(total="sum(n)", n="count(*)").to(world.topic("totals"))
    by_key.windowed(tumbling("10 s", grace="5 s")).count("n").to(world.topic("tumbling"))
    by_key.windowed(hopping("10 s", every="5 s", grace="5 s")).count("n").to(world.topic("hopping"))
    sent = [("a", 1, 1), ("b", 7, 2), ("a", 3, 12), ("a", 9, 9), ("a", 9, 9), ("b", 4, 26)]
    with world.running(tmp_path, "clicks") as runner:
        for key, n, second in sent:
            world.send("clicks", key, {"n": n}, second)
        sizes = {str(n): "small" if n < 5 else "large" for _, n, _ in sent}
        eventually(lambda: {k: r["size"] for k, r in world.rows("sized").items()} == sizes)
        totals = {
            key: {"key": key, "total": sum(n for k, n, _ in sent if k == key), "n": count}
            for key, count in Counter(key for key, _, _ in sent).items()
        }
        eventually(lambda: world.rows("totals") == totals)
        for topic, every in (("tumbling", 10), ("hopping", 5)):
            windows = Counter(
                (key, start)
                for key, _, second in sent
                for start in range(-5, 30, 5)
                if start % every == 0 and start <= second < start + 10
            )
            eventually(lambda topic=topic, windows=windows: counts(world.rows(topic)) == windows)
        # A batch later the watermark stands at 21 s: what belongs before 10 s is too late.
        stage = world.topic("tumbling")
        seen = runner.recorder.of(stage).batches
        eventually(lambda: runner.recorder.of(stage).batches > seen + 1)
        before = world.rows("tumbling")
        world.send("clicks", "a", {"n": 100}, 3)
        eventually(lambda: world.rows("totals")["a"]["n"] == 5)
        eventually(lambda: runner.recorder.of(stage).late_rows > 0)
        assert world.rows("tumbling") == before


def counts(rows: dict[str, Any]) -> Counter[tuple[str, int]]:
    """Counts by key and the second at which the window starts, seen from the first."""
    found: Counter[tuple[str, int]] = Counter()
    for row in rows.values():
        minute, second = row["window_start"][14:16], row["window_start"][17:19]
        seconds = int(minute) * 60 + int(second)
        found[row["key"], seconds if seconds < 1800 else seconds - 3600] = row["n"]
    return found


def test_tables_join_tables_and_streams_meet_their_latest_rows(driven: str, tmp_path: Path) -> None:
    world = World(driven)
    left = world.app.table(world.topic("left"), value=json_format("l INT"))
    right = world.app.table(world.topic("right"), value=json_format("r INT"))
    orders = world.app.stream(world.topic("orders"), value=json_format("n INT"))
    rates = world.app.global_table(world.topic("right"), value=json_format("r INT"))
    left.join(right).to(world.topic("inner"))
    left.left_join(right).to(world.topic("left-out"))
    left.outer_join(right).to(world.topic("outer"))
    orders.join(right).to(world.topic("met"))
    orders.left_join(right).to(world.topic("met-or-not"))
    orders.left_join(rates, on="_key").to(world.topic("global"))
    with world.running(tmp_path, "left", "right", "orders"):
        for topic, rows in TABLES.items():
            for key, row in rows.items():
                world.send(topic, key, {"l": 0} if topic == "left" else {"r": 0})
                world.send(topic, key, row)
        expect_tables(world, TABLES)
        for key, row in (("b", None), ("a", {"r": 10})):
            world.send("right", key, row)
        rights = TABLES["right"] | {"b": None, "a": {"r": 10}}
        expect_tables(world, {"left": TABLES["left"], "right": rights})
        expected = {
            key: {"n": n, "r": (rights.get(key) or {}).get("r")} for n, key in enumerate("abcdz")
        }

        def met() -> bool:
            """Sent again and again: a stage may hear of an order before it hears of the table."""
            for key, row in expected.items():
                world.send("orders", key, {"n": row["n"]})
            matched = {key: row for key, row in expected.items() if row["r"] is not None}
            return (
                world.rows("met-or-not") == expected
                and world.rows("global") == expected
                and {k: r for k, r in world.rows("met").items() if k in matched} == matched
            )

        eventually(met)


def expect_tables(world: World, tables: dict[str, dict[str, Any]]) -> None:
    sides = {
        name: {key: row for key, row in rows.items() if row is not None}
        for name, rows in tables.items()
    }
    ls, rs = sides["left"], sides["right"]
    both = {
        key: {"l": ls.get(key, {}).get("l"), "r": rs.get(key, {}).get("r")} for key in {*ls, *rs}
    }
    eventually(lambda: world.rows("outer") == both)
    eventually(lambda: world.rows("left-out") == {key: both[key] for key in ls})
    eventually(lambda: world.rows("inner") == {key: both[key] for key in ls.keys() & rs.keys()})


def test_rows_say_their_topic_and_topics_are_found_while_it_runs(
    driven: str, tmp_path: Path
) -> None:
    world = World(driven)
    clicks = world.app.stream(pattern=world.topic("in-[a-z]+"), value=json_format("n INT"))
    clicks.to(expr(f"concat('{world.topic('out-')}', if(n < 5, 'small', 'large'))"), name="sized")
    days = clicks.group_by_key().windowed(tumbling("1 day", time_zone="Asia/Tokyo"))
    days.count("n").to(world.topic("days"))
    forever = {"retention.ms": "-1"}
    with world.running(tmp_path, "in-a"):
        world.send("in-a", "x", {"n": 1})
        eventually(lambda: world.rows("out-small") == {"x": {"n": 1}})
        create(world.app.definition(), [NewTopic(world.topic("in-b"), 1, forever)])
        world.send("in-b", "y", {"n": 9})
        eventually(lambda: world.rows("out-large") == {"y": {"n": 9}})
        eventually(lambda: {row["key"] for row in world.rows("days").values()} == {"x", "y"})
        starts = {row["window_start"] for row in world.rows("days").values()}
        assert starts == {"2025-12-31T15:00:00.000Z"}
        assert {row["n"] for row in world.rows("days").values()} == {1}


def test_a_backlog_is_taken_in_micro_batches_and_what_comes_later_in_real_time(
    driven: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(phases, "CATCH_UP_FROM", 100)
    world = World(driven)
    clicks = world.app.stream(world.topic("clicks"), value=json_format("n INT"))
    clicks.group_by_key().agg(total="sum(n)", n="count(*)").to(world.topic("totals"))
    create(world.app.definition(), [NewTopic(world.topic("clicks"), 1, {"retention.ms": "-1"})])

    def counted(times: int) -> bool:
        return world.rows("totals") == {"a": {"key": "a", "total": 2 * times, "n": times}}

    for _ in range(150):
        world.send("clicks", "a", {"n": 2})
    with world.running(tmp_path):
        eventually(lambda: counted(150))
        eventually(lambda: "totals has caught up" in world.said.getvalue())
        assert "totals is 150 records behind: micro-batches first." in world.said.getvalue()
        world.send("clicks", "a", {"n": 2})
        eventually(lambda: counted(151))
    with world.running(tmp_path):  # what it has read is no backlog any more
        world.send("clicks", "a", {"n": 2})
        eventually(lambda: counted(152))
        assert "behind" not in world.said.getvalue()
