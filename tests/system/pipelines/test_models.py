"""Every operator with state on real Spark, over drawn histories, against a model in plain Python.

A watermark moves between batches, as Spark's does: it is the newest time seen in earlier ones, less
the grace. What a model calls late, the operator must have dropped; nothing else may be missing.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from ottla.pipelines import App, hopping, json, session, sliding, tumbling
from ottla.testing import drive
from system.pipelines.histories import T0, Batch, Sent, draw, latest, or_tombstone, play

pytestmark = [pytest.mark.usefixtures("driven"), pytest.mark.timeout(400)]
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 3, 4))]
MORE_SEEDS = [pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2, 3, 4)]
"""For operators that a shorter test in `make test` has, too: test_stateful.py."""
GRACE_MS = 5000


def clock(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def counted(rows: Iterable[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in rows)


@pytest.mark.parametrize("seed", SEEDS)
def test_aggregates_over_all_time(seed: int) -> None:
    app = App("folds")
    orders = app.stream("orders", value=json("who STRING, n INT"))
    folds = {"total": "sum(n)", "n": "count(*)", "least": "min(n)", "most": "max(n)"}
    orders.group_by("who").agg(**folds, mean="avg(n)", all="sort_array(collect_list(n))").to("out")
    orders.group_by_key().count().to("by-key")
    orders.key_by("who").to_table().to("latest")
    history = draw(seed, {"orders": lambda c: {"who": c.choice("xyz"), "n": c.randint(-9, 9)}})
    with drive(app) as d:
        for number, _ in enumerate(play(d, history), 1):
            rows = [sent for batch in history[:number] for sent in batch]
            groups: dict[str, list[int]] = defaultdict(list)
            for sent in rows:
                assert sent.value is not None
                groups[sent.value["who"]].append(sent.value["n"])
            assert d.table("out") == {
                who: {
                    "who": who, "total": sum(ns), "n": len(ns), "least": min(ns), "most": max(ns),
                    "mean": sum(ns) / len(ns), "all": sorted(ns),
                }
                for who, ns in groups.items()
            }  # fmt: skip
            keys = Counter(sent.key for sent in rows)
            assert d.table("by-key") == {k: {"key": k, "count": n} for k, n in keys.items()}
            assert d.table("latest") == {sent.value["who"]: sent.value for sent in rows}  # type: ignore[index]


class Windows:
    """Counts by key and window, dropping what is late, closing what can no longer change."""

    def __init__(self, size_ms: int, every_ms: int) -> None:
        self.size_ms, self.every_ms = size_ms, every_ms
        self.counts: Counter[tuple[str, int]] = Counter()
        self.closed: set[tuple[str, int]] = set()
        self.watermark = 0
        self.late = 0

    def take(self, batch: Batch) -> dict[tuple[str, str], int]:
        """The windows that this batch closes, with their counts."""
        for sent in batch:
            for start in self._starts(sent.at_ms):
                if start + self.size_ms <= self.watermark:
                    self.late += 1
                else:
                    self.counts[sent.key, start] += 1
        newest = max(sent.at_ms for sent in batch)
        self.watermark = max(self.watermark, newest - GRACE_MS)
        new = {
            window
            for window in self.counts
            if window[1] + self.size_ms <= self.watermark and window not in self.closed
        }
        self.closed |= new
        return {(key, clock(start)): self.counts[key, start] for key, start in new}

    def _starts(self, at_ms: int) -> Iterator[int]:
        start = at_ms - at_ms % self.every_ms
        while start > at_ms - self.size_ms:
            yield start
            start -= self.every_ms


def by_window(rows: Iterable[dict[str, Any]]) -> dict[tuple[str, str], int]:
    return {(row["key"], row["window_start"]): row["n"] for row in rows}


@pytest.mark.parametrize("seed", SEEDS)
def test_tumbling_and_hopping_windows_with_grace_and_suppress(seed: int) -> None:
    app = App("windows")
    clicks = app.stream("clicks", value=json("x INT")).group_by_key()
    kinds = {
        "tumbling": (tumbling("10 s", grace="5 s"), Windows(10_000, 10_000)),
        "hopping": (hopping("10 s", every="4 s", grace="5 s"), Windows(10_000, 4_000)),
    }
    for name, (window, _) in kinds.items():
        counts = clicks.windowed(window).count("n")
        clicks.windowed(window).count("n").to(name)
        counts.suppress().to(f"{name}-final")
    history = draw(seed, {"clicks": lambda c: {"x": 1}})
    with drive(app) as d:
        for batch in play(d, history):
            for name, (_, model) in kinds.items():
                closed = model.take(batch)
                final = [row for _, row in d.read(f"{name}-final")]
                assert len(final) == len(closed)  # a window closes once
                assert by_window(final) == closed
                assert by_window(d.table(name).values()) == {
                    (key, clock(start)): n for (key, start), n in model.counts.items()
                }
    assert kinds["tumbling"][1].late > 0
    assert kinds["hopping"][1].closed


class Sessions:
    """Sessions by key as lists of times; a session is told when its end is behind the watermark."""

    def __init__(self, gap_ms: int) -> None:
        self.gap_ms = gap_ms
        self.open: dict[str, list[list[int]]] = defaultdict(list)
        self.watermark = 0

    def take(self, batch: Batch) -> Counter[tuple[Any, ...]]:
        for sent in batch:
            if sent.at_ms + self.gap_ms > self.watermark:
                self.add(sent.key, sent.at_ms)
        self.watermark = max(self.watermark, max(s.at_ms for s in batch) - GRACE_MS)
        ended: Counter[tuple[Any, ...]] = Counter()
        for key, sessions in self.open.items():
            for times in [s for s in sessions if max(s) + self.gap_ms <= self.watermark]:
                sessions.remove(times)
                end = clock(max(times) + self.gap_ms)
                ended[key, clock(min(times)), end, len(times)] += 1
        return ended

    def add(self, key: str, at_ms: int) -> None:
        near = [
            times
            for times in self.open[key]
            if min(times) - self.gap_ms <= at_ms <= max(times) + self.gap_ms
        ]
        for times in near:
            self.open[key].remove(times)
        self.open[key].append([at_ms, *(time for times in near for time in times)])


@pytest.mark.parametrize("seed", SEEDS)
def test_sessions_end_with_a_pause_and_late_records_do_not_reopen_them(seed: int) -> None:
    app = App("sessions")
    clicks = app.stream("clicks", value=json("x INT")).group_by_key()
    clicks.windowed(session("4 s", grace="5 s")).count("n").to("out")
    history = draw(seed, {"clicks": lambda c: {"x": 1}}, keys="ab")
    model = Sessions(4_000)
    with drive(app) as d:
        for batch in play(d, history):
            assert counted(row for _, row in d.read("out")) == model.take(batch)


@pytest.mark.parametrize("seed", SEEDS)
def test_sliding_windows_end_with_each_record(seed: int) -> None:
    app = App("sliding")
    orders = app.stream("orders", value=json("n INT")).group_by_key()
    folds = {"n": "count(*)", "total": "sum(n)", "least": "min(n)"}
    orders.windowed(sliding("10 s", grace="1 h")).agg(**folds).to("out")
    history = draw(seed, {"orders": lambda c: {"n": c.randint(-9, 9)}})
    with drive(app) as d:
        for _ in play(d, history):
            pass
        rows = [sent for batch in history for sent in batch]
        expected = {}
        for end in rows:
            inside = [
                sent.value["n"]  # type: ignore[index]
                for sent in rows
                if sent.key == end.key and end.at_ms - 10_000 <= sent.at_ms <= end.at_ms
            ]
            expected[end.key, clock(end.at_ms)] = (len(inside), sum(inside), min(inside))
        assert {
            (row["key"], row["window_end"]): (row["n"], row["total"], row["least"])
            for row in d.table("out").values()
        } == expected


class Meeting:
    """Two streams by key: pairs within a time, and rows that can no longer find a partner."""

    def __init__(self, before_ms: int, after_ms: int) -> None:
        self.before_ms, self.after_ms = before_ms, after_ms
        self.newest = {"left": 0, "right": 0}
        self.kept: dict[str, list[Sent]] = {"left": [], "right": []}
        self.late = 0

    def take(self, batch: Batch) -> None:
        watermark = min(self.newest.values()) - GRACE_MS
        for sent in batch:
            if sent.at_ms <= watermark:
                self.late += 1
            else:
                self.kept[sent.topic].append(sent)
            self.newest[sent.topic] = max(self.newest[sent.topic], sent.at_ms)

    def rows(self, kind: str) -> Counter[tuple[Any, ...]]:
        made: Counter[tuple[Any, ...]] = Counter()
        met: set[int] = set()
        for left in self.kept["left"]:
            for right in self.kept["right"]:
                apart = right.at_ms - left.at_ms
                if left.key == right.key and -self.before_ms <= apart <= self.after_ms:
                    made[left.key, left.value["l"], right.value["r"]] += 1  # type: ignore[index]
                    met |= {id(left), id(right)}
        if kind != "inner":
            for left in self.kept["left"]:
                if id(left) not in met:
                    made[left.key, left.value["l"], None] += 1  # type: ignore[index]
        if kind == "outer":
            for right in self.kept["right"]:
                if id(right) not in met:
                    made[right.key, None, right.value["r"]] += 1  # type: ignore[index]
        return made


@pytest.mark.parametrize("seed", MORE_SEEDS)
def test_streams_that_meet_within_a_time(seed: int) -> None:
    app = App("meeting")
    left = app.stream("left", value=json("l INT"))
    right = app.stream("right", value=json("r INT"))
    times = {"before": "2 s", "after": "6 s", "grace": "5 s"}
    left.join(right, **times).to("inner")
    left.left_join(right, **times).to("left-out")
    left.outer_join(right, **times).to("outer")
    history = draw(
        seed,
        {"left": lambda c: {"l": c.randint(0, 999)}, "right": lambda c: {"r": c.randint(0, 999)}},
        batches=2,
        size=24,
    )
    history = [[*map(distinct, batch)] for batch in history]
    model = Meeting(2_000, 6_000)
    with drive(app) as d:
        for batch in play(d, history):
            model.take(batch)
        for seconds in (500, 1000):  # time passes: who is alone now will stay alone
            d.send("left", {"l": 0}, key="end", timestamp_ms=T0 + seconds * 1000)
            d.send("right", {"r": 0}, key="other end", timestamp_ms=T0 + seconds * 1000)
            d.settle()
        for topic, kind in (("inner", "inner"), ("left-out", "left"), ("outer", "outer")):
            rows = [(k, row["l"], row["r"]) for k, row in d.read(topic) if "end" not in k]
            assert Counter(rows) == model.rows(kind), kind
    assert model.late > 0


def distinct(sent: Sent) -> Sent:
    """The same record as another object: a repeat is a record of its own."""
    return Sent(sent.topic, sent.key, sent.value, sent.at_ms)


def by_head(batch: Batch, table: str) -> Iterator[Sent]:
    """Key by key the records of two topics as one: the older head first, the table's at a tie."""
    for key in {sent.key for sent in batch}:
        tables = [sent for sent in batch if sent.key == key and sent.topic == table]
        streams = [sent for sent in batch if sent.key == key and sent.topic != table]
        while tables or streams:
            table_first = tables and (not streams or tables[0].at_ms <= streams[0].at_ms)
            yield (tables if table_first else streams).pop(0)


def small(name: str) -> Callable[[Any], dict[str, Any]]:
    return lambda chance: {name: chance.randint(0, 5)}


@pytest.mark.parametrize("seed", MORE_SEEDS)
def test_a_stream_meets_the_latest_row_of_a_table(seed: int) -> None:
    app = App("enriching")
    orders = app.stream("orders", value=json("n INT"))
    customers = app.table("customers", value=json("c INT"))
    orders.join(customers).to("inner")
    orders.left_join(customers).to("left")
    history = draw(seed, {"orders": small("n"), "customers": or_tombstone(small("c"))})
    table: dict[str, Any] = {}
    with drive(app) as d:
        for batch in play(d, history):
            expected: dict[str, list[Any]] = defaultdict(list)
            for sent in by_head(batch, "customers"):
                if sent.topic == "customers":
                    table[sent.key] = sent.value
                else:
                    there = table.get(sent.key)
                    expected[sent.key].append(sent.value | {"c": there and there["c"]})  # type: ignore[operator]
            found: dict[str, list[Any]] = defaultdict(list)
            for key, row in d.read("left"):
                found[key].append(row)
            assert found == expected  # by key, in order
            assert Counter((k, r["n"], r["c"]) for k, r in d.read("inner")) == Counter(
                (k, r["n"], r["c"])
                for k, rows in expected.items()
                for r in rows
                if r["c"] is not None
            )


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_by_key(seed: int) -> None:
    app = App("tables")
    left = app.table("left", value=json("l INT"))
    right = app.table("right", value=json("r INT"))
    left.join(right).to("inner")
    left.left_join(right).to("left-out")
    left.outer_join(right).to("outer")
    left.filter("l > 2").with_columns(more="l + 1").to("filtered")
    left.changes().to("changes")
    history = draw(seed, {"left": or_tombstone(small("l")), "right": or_tombstone(small("r"))})
    with drive(app) as d:
        for number, batch in enumerate(play(d, history), 1):
            ls, rs = (latest(history[:number], topic) for topic in ("left", "right"))
            both = {
                k: {"l": ls.get(k, {}).get("l"), "r": rs.get(k, {}).get("r")} for k in {*ls, *rs}
            }
            assert d.table("outer") == both
            assert d.table("left-out") == {k: row for k, row in both.items() if k in ls}
            assert d.table("inner") == {k: both[k] for k in ls.keys() & rs.keys()}
            assert d.table("filtered") == {
                k: {"l": row["l"], "more": row["l"] + 1} for k, row in ls.items() if row["l"] > 2
            }
            assert d.read("changes") == [
                (s.key, s.value) for s in batch if s.topic == "left" and s.value is not None
            ]


@pytest.mark.parametrize("seed", MORE_SEEDS)
def test_tables_by_foreign_key(seed: int) -> None:
    app = App("foreign")
    orders = app.table("orders", value=json("product STRING, n INT"))
    products = app.table("products", value=json("price INT"))
    orders.join(products, on="product").to("inner")
    orders.left_join(products, on="product").to("left")
    history = draw(
        seed,
        {
            "orders": or_tombstone(
                lambda c: {"product": c.choice(["a", "b", "c", None]), "n": c.randint(0, 5)}
            ),
            "products": or_tombstone(small("price")),
        },
    )
    with drive(app) as d:
        for number, _ in enumerate(play(d, history), 1):
            os, ps = (latest(history[:number], topic) for topic in ("orders", "products"))
            left = {
                key: row | {"price": ps.get(row["product"], {}).get("price")}
                for key, row in os.items()
            }
            assert d.table("left") == left
            assert d.table("inner") == {k: r for k, r in left.items() if r["price"] is not None}


@pytest.mark.parametrize("seed", MORE_SEEDS)
def test_a_global_table_by_any_column(seed: int) -> None:
    app = App("global")
    rates = app.global_table("rates", value=json("rate INT"))
    orders = app.stream("orders", value=json("currency STRING, n INT"))
    orders.left_join(rates, on="currency").to("left")
    orders.join(rates, on="lower(currency)").to("inner")
    history = draw(
        seed,
        {
            "orders": lambda c: {"currency": c.choice("abcdz"), "n": c.randint(0, 9)},
            "rates": or_tombstone(small("rate")),
        },
    )
    with drive(app) as d:
        for number, batch in enumerate(play(d, history), 1):
            table = latest(history[:number], "rates")
            expected = [
                sent.value | {"rate": table.get(sent.value["currency"], {}).get("rate")}
                for sent in batch
                if sent.topic == "orders" and sent.value is not None
            ]
            assert [row for _, row in d.read("left")] == expected
            matched = [row for row in expected if row["rate"] is not None]
            assert [row for _, row in d.read("inner")] == matched
