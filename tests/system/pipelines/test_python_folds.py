"""Folding with Python, and sessions that show themselves while they grow, against models."""

import sys
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark import cloudpickle

from ottla.pipelines import App, DefinitionError, hopping, json, session, sliding, tumbling
from ottla.pipelines.engine.session_windows import Session, Sessions
from ottla.pipelines.planning.explain import explain
from ottla.pipelines.planning.manifest import compare, describe
from ottla.pipelines.planning.plan import make_plan
from ottla.testing import drive
from system.pipelines.histories import Batch, draw, play

pytestmark = [pytest.mark.usefixtures("driven"), pytest.mark.timeout(500)]
cloudpickle.register_pickle_by_value(sys.modules[__name__])
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 3, 4))]
GRACE_MS = 5000
Row = dict[str, Any]


def clock(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def larger(folded: Row, row: Row) -> Row:
    return row if row["n"] > folded["n"] else folded


def gathered(folded: Row, row: Row) -> Row:
    return {"total": folded["total"] + row["n"], "seen": sorted({*folded["seen"], row["n"]})}


def together(one: Row, two: Row) -> Row:
    return {"total": one["total"] + two["total"], "seen": sorted({*one["seen"], *two["seen"]})}


ZERO: Row = {"total": 0, "seen": []}
GATHERED = "total BIGINT, seen ARRAY<INT>"


def fold(numbers: list[int]) -> Row:
    return {"total": sum(numbers), "seen": sorted(set(numbers))}


@pytest.mark.parametrize("seed", SEEDS)
def test_python_folds_groups_and_windows(seed: int) -> None:
    app = App("python")
    orders = app.stream("orders", value=json("who STRING, n INT"))
    orders.group_by("who").reduce(larger).to("largest")
    grouped = orders.group_by("who")
    grouped.aggregate(ZERO, gathered, GATHERED).to("all")
    window = hopping("10 s", every="5 s", grace="5 s")
    grouped.windowed(window).aggregate(lambda: dict(ZERO), gathered, GATHERED).to("hopping")
    closing = tumbling("10 s", grace="5 s")
    grouped.windowed(closing).aggregate(ZERO, gathered, GATHERED).suppress().to("closed")
    history = draw(seed, {"orders": lambda c: {"who": c.choice("xy"), "n": c.randint(0, 9)}})
    rows: dict[str, list[int]] = defaultdict(list)
    hops: dict[tuple[str, int], list[int]] = defaultdict(list)
    tumbles: dict[tuple[str, int], list[int]] = defaultdict(list)
    told: set[tuple[str, int]] = set()
    watermark = late = 0
    with drive(app) as d:
        for batch in play(d, history):
            for sent in batch:
                assert sent.value is not None
                who, n = sent.value["who"], sent.value["n"]
                rows[who].append(n)
                last = sent.at_ms - sent.at_ms % 5_000
                for start in (last, last - 5_000):
                    if start + 10_000 > watermark:
                        hops[who, start].append(n)
                start = sent.at_ms - sent.at_ms % 10_000
                if start + 10_000 > watermark:
                    tumbles[who, start].append(n)
                else:
                    late += 1
            watermark = max(watermark, max(sent.at_ms for sent in batch) - GRACE_MS)
            assert d.table("largest") == {
                who: {"who": who, "n": max(ns)} for who, ns in rows.items()
            }
            assert d.table("all") == {who: {"who": who, **fold(ns)} for who, ns in rows.items()}
            assert {
                (row["who"], row["window_start"]): (row["total"], row["seen"])
                for row in d.table("hopping").values()
            } == {
                (who, clock(start)): tuple(fold(ns).values()) for (who, start), ns in hops.items()
            }
            over = {place for place in tumbles if place[1] + 10_000 <= watermark} - told
            told |= over
            closed = {
                (row["who"], row["window_start"]): row["total"] for _, row in d.read("closed")
            }
            assert closed == {(who, clock(start)): sum(tumbles[who, start]) for who, start in over}
        assert late
        assert d.late_rows()["closed"] == late


class Growing:
    """Sessions by key as lists of (time, number); late ones are left out, old ones forgotten."""

    def __init__(self, gap_ms: int) -> None:
        self.gap_ms = gap_ms
        self.open: dict[str, list[list[tuple[int, int]]]] = defaultdict(list)
        self.table: dict[tuple[str, str, str], int] = {}
        self.watermark = 0
        self.late = 0

    def take(self, batch: Batch) -> None:
        for sent in batch:
            if sent.at_ms + self.gap_ms > self.watermark:
                assert sent.value is not None
                self.add(sent.key, sent.at_ms, sent.value["n"])
            else:
                self.late += 1
        self.watermark = max(self.watermark, max(s.at_ms for s in batch) - GRACE_MS)
        for sessions in self.open.values():
            sessions[:] = [s for s in sessions if max(s)[0] + self.gap_ms > self.watermark]

    def add(self, key: str, at_ms: int, n: int) -> None:
        near = [
            one
            for one in self.open[key]
            if min(one)[0] - self.gap_ms <= at_ms <= max(one)[0] + self.gap_ms
        ]
        for one in near:
            self.open[key].remove(one)
            del self.table[self.place(key, one)]
        made = [(at_ms, n), *(pair for one in near for pair in one)]
        self.open[key].append(made)
        self.table[self.place(key, made)] = sum(number for _, number in made)

    def place(self, key: str, one: list[tuple[int, int]]) -> tuple[str, str, str]:
        return key, clock(min(one)[0]), clock(max(one)[0] + self.gap_ms)


@pytest.mark.parametrize("seed", SEEDS)
def test_sessions_show_themselves_while_they_grow(seed: int) -> None:
    app = App("growing")
    clicks = app.stream("clicks", value=json("n INT")).group_by_key()
    growing = clicks.windowed(session("4 s", grace="5 s", growing=True))
    growing.agg(total="sum(n)").to("sql")
    growing.aggregate(ZERO, gathered, GATHERED, merge=together).to("python")
    ended = clicks.windowed(session("4 s", grace="5 s"))
    ended.reduce(lambda one, two: {"n": one["n"] + two["n"]}).to("ended")
    history = draw(seed, {"clicks": lambda c: {"n": c.randint(1, 9)}}, keys="ab", size=20)
    model = Growing(4_000)
    over: dict[tuple[str, str, str], int] = {}
    with drive(app) as d:
        for batch in play(d, history):
            model.take(batch)
            for topic in ("sql", "python"):
                found = {
                    (row["key"], row["window_start"], row["window_end"]): row["total"]
                    for row in d.table(topic).values()
                }
                assert found == model.table, topic
            over |= {
                (row["key"], row["window_start"], row["window_end"]): row["n"]
                for _, row in d.read("ended")
            }
            still = {model.place(key, one) for key, ones in model.open.items() for one in ones}
            assert over == {k: total for k, total in model.table.items() if k not in still}
        assert over
        assert model.late
        assert d.late_rows() == dict.fromkeys(("sql", "python", "ended"), model.late)


def test_a_record_between_two_sessions_makes_one_of_them() -> None:
    sessions = Sessions(10, lambda one, two: one + two, [Session(0, 5, "a"), Session(30, 31, "b")])
    made = sessions.add(18, lambda held: f"{held}!")
    assert made == Session(18, 18, "None!")
    made = sessions.add(15, lambda held: f"{held}?")
    assert made == Session(0, 18, "aNone!?")
    assert sessions.add(25, lambda held: f"{held}.") == Session(0, 31, "aNone!?b.")
    assert list(sessions.close(41)) == [Session(0, 31, "aNone!?b.")]
    assert sessions.open == []


def test_what_python_cannot_fold_is_refused() -> None:
    app = App("refused")
    orders = app.stream("orders", value=json("who STRING, n INT"))
    grouped = orders.group_by("who")
    with pytest.raises(DefinitionError, match=r"aggregate\(\) needs merge="):
        grouped.windowed(session("1 s")).aggregate(ZERO, gathered, GATHERED)
    with pytest.raises(DefinitionError, match=r"fold with agg\(\) only"):
        grouped.windowed(sliding("1 s")).reduce(larger)
    with pytest.raises(DefinitionError, match="who is a column of the group already"):
        grouped.aggregate(ZERO, gathered, "who STRING")
    table = app.table("people", value=json("who STRING, n INT"))
    with pytest.raises(DefinitionError, match="cannot take back"):
        table.group_by("who").reduce(larger)


def test_another_function_zero_or_schema_must_be_rebuilt() -> None:
    def manifest(zero: Row, function: Any, schema: str, *, growing: bool = False) -> Any:
        app = App("folds")
        orders = app.stream("orders", value=json("who STRING, n INT"))
        window = session("1 s", growing=growing)
        made = orders.group_by("who").windowed(window)
        made.aggregate(zero, function, schema, merge=together).to("out")
        plan = make_plan(app.definition())
        assert f"fold with {function.__name__}" in explain(plan)
        return describe(plan)

    old = manifest(ZERO, gathered, GATHERED)
    assert {v.kind for v in compare(old, manifest(ZERO, gathered, GATHERED))} == {"same"}
    for other in (
        manifest({"total": 1, "seen": []}, gathered, GATHERED),
        manifest(ZERO, together, GATHERED),
        manifest(ZERO, gathered, "total INT, seen ARRAY<INT>"),
        manifest(ZERO, gathered, GATHERED, growing=True),
    ):
        verdicts = {v.stage: v.kind for v in compare(old, other)}
        assert verdicts["out"] == "rebuild"
