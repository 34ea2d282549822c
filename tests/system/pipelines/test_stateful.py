"""Aggregates, windows, joins and processors on real Spark, against what plain Python says."""

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from ottla.pipelines import (
    App,
    Context,
    Processor,
    hopping,
    json,
    session,
    sliding,
    string,
    tumbling,
)
from ottla.testing import drive

pytestmark = [pytest.mark.usefixtures("driven"), pytest.mark.timeout(400)]
T0 = 1_767_225_600_000  # 2026-01-01T00:00:00Z
ORDER = "customer STRING, amount DOUBLE"


def at(seconds: float) -> int:
    return T0 + int(seconds * 1000)


def clock(seconds: int) -> str:
    return f"2026-01-01T00:{seconds // 60:02d}:{seconds % 60:02d}.000Z"


@pytest.mark.long
def test_a_group_is_counted_and_summed_over_all_time() -> None:
    app = App("groups")
    orders = app.stream("orders", value=json(ORDER))
    orders.group_by("customer").agg(total="sum(amount)", n="count(*)", most="max(amount)").to(
        "totals"
    )
    words = app.stream("words", value=string())
    words.explode("split(value, ' ')", "word").group_by("word").count().to("counts")
    with drive(app) as d:
        for customer, amount in [("a", 1.0), ("b", 2.0), ("a", 3.0), (None, 9.0), ("a", None)]:
            d.send("orders", {"customer": customer, "amount": amount})
        d.send("words", "to be or not to be")
        assert d.table("totals") == {
            "a": {"customer": "a", "total": 4.0, "n": 3, "most": 3.0},
            "b": {"customer": "b", "total": 2.0, "n": 1, "most": 2.0},
        }
        d.send("orders", {"customer": "b", "amount": 5.0})
        d.send("words", "be")
        assert d.table("totals")["b"] == {"customer": "b", "total": 7.0, "n": 2, "most": 5.0}
        counts = {word: row["count"] for word, row in d.table("counts").items()}
        assert counts == {"to": 2, "be": 3, "or": 1, "not": 1}


@pytest.mark.long
def test_windows_take_records_out_of_order_until_their_grace_is_over() -> None:
    app = App("windows")
    clicks = app.stream("clicks", value=json("user STRING"))
    by_user = clicks.group_by("user")
    by_user.windowed(tumbling("10 seconds", grace="5 seconds")).count().to("tumbling")
    by_user.windowed(hopping("10 s", every="5 s", grace="5 s")).count().to("hopping")
    final = by_user.windowed(tumbling("10 seconds", grace="5 seconds")).count().suppress()
    final.to("final")

    def read(topic: str) -> dict[str, int]:
        return {row["window_start"]: row["count"] for row in d.table(topic).values()}

    with drive(app) as d:
        for second in (1, 3, 12, 9):  # the last is out of order, and in time
            d.send("clicks", {"user": "u"}, timestamp_ms=at(second))
        assert read("tumbling") == {clock(0): 3, clock(10): 1}
        assert read("hopping")[clock(5)] == 2
        assert d.read("final") == []
        d.send("clicks", {"user": "u"}, timestamp_ms=at(26))  # closes the first window
        assert [row["count"] for _, row in d.read("final")] == [3, 1][: 1 + (26 - 5 >= 20)]
        d.send("clicks", {"user": "u"}, timestamp_ms=at(2))  # too late: dropped
        assert read("tumbling") == {clock(0): 3, clock(10): 1, clock(20): 1}


@pytest.mark.long
def test_a_session_ends_when_a_user_pauses() -> None:
    app = App("sessions")
    clicks = app.stream("clicks", value=json("user STRING"))
    clicks.group_by("user").windowed(session("10 seconds")).agg(n="count(*)").to("sessions")
    with drive(app) as d:
        for user, second in [("u", 0), ("u", 5), ("v", 6), ("u", 14), ("u", 40), ("w", 100)]:
            d.send("clicks", {"user": user}, timestamp_ms=at(second))
        rows = [row for _, row in d.read("sessions")]
        found = {(row["user"], row["window_start"], row["window_end"], row["n"]) for row in rows}
        assert found == {
            ("u", clock(0), clock(24), 3),
            ("v", clock(6), clock(16), 1),
            ("u", clock(40), clock(50), 1),
        }


def test_records_one_gap_apart_are_of_one_session_as_in_kafka_streams() -> None:
    app = App("gaps")
    clicks = app.stream("clicks", value=json("user STRING"))
    clicks.group_by("user").windowed(session("10 seconds")).agg(n="count(*)").to("sessions")
    with drive(app) as d:
        d.send("clicks", {"user": "u"}, timestamp_ms=at(0))
        d.settle()  # also when the second comes in a batch of its own
        for user, second in [("u", 10), ("v", 0), ("v", 10.001), ("w", 100), ("w", 200)]:
            d.send("clicks", {"user": user}, timestamp_ms=at(second))
        counts = sorted((row["user"], row["n"]) for _, row in d.read("sessions"))
        assert counts[:3] == [("u", 2), ("v", 1), ("v", 1)]


@pytest.mark.long
def test_a_sliding_window_ends_with_each_record() -> None:
    app = App("sliding")
    orders = app.stream("orders", value=json(ORDER))
    windowed = orders.group_by("customer").windowed(sliding("10 seconds", grace="1 minute"))
    windowed.agg(n="count(*)", total="sum(amount)", mean="avg(amount)").to("sliding")
    sent = [(0, 1.0), (4, 2.0), (10, 4.0), (11, 8.0), (30, 16.0), (3, 32.0)]
    with drive(app) as d:
        for second, amount in sent:
            d.send("orders", {"customer": "a", "amount": amount}, timestamp_ms=at(second))
            d.settle()
        for row in d.table("sliding").values():
            end = int(row["window_end"][17:19])
            inside = [amount for second, amount in sent if end - 10 <= second <= end]
            assert (row["n"], row["total"]) == (len(inside), sum(inside))
            assert row["mean"] == sum(inside) / len(inside)
        assert len(d.table("sliding")) == len(sent)


@pytest.mark.long
def test_two_streams_meet_within_a_time() -> None:
    app = App("meeting")
    orders = app.stream("orders", value=json("what STRING"))
    payments = app.stream("payments", value=json("paid DOUBLE"))
    orders.join(payments, within="10 seconds").to("inner")
    orders.left_join(payments, within="10 seconds").to("left")
    orders.outer_join(payments, within="10 seconds").to("outer")
    with drive(app) as d:
        d.send("orders", {"what": "a"}, key="1", timestamp_ms=at(0))
        d.send("payments", {"paid": 1.0}, key="1", timestamp_ms=at(9))
        d.send("orders", {"what": "b"}, key="2", timestamp_ms=at(1))
        d.send("payments", {"paid": 2.0}, key="2", timestamp_ms=at(12))
        d.send("payments", {"paid": 3.0}, key="3", timestamp_ms=at(13))
        d.settle()
        for second in (100, 200):
            d.send("orders", {"what": "z"}, key="end", timestamp_ms=at(second))
            d.send("payments", {"paid": 0.0}, key="other end", timestamp_ms=at(second))
            d.settle()
        pair = ("1", {"what": "a", "paid": 1.0})
        alone = ("2", {"what": "b", "paid": None})
        assert d.read("inner") == [pair]
        left = d.read("left")
        assert pair in left
        assert alone in left
        outer = d.read("outer")
        assert all(row in outer for row in (pair, alone, ("3", {"what": None, "paid": 3.0})))


@pytest.mark.long
def test_a_stream_meets_the_latest_row_of_a_table() -> None:
    app = App("enriching")
    orders = app.stream("orders", value=json(ORDER)).key_by("customer")
    customers = app.table("customers", value=json("country STRING"))
    orders.join(customers).to("inner")
    orders.left_join(customers).to("left")
    with drive(app) as d:
        d.send("orders", {"customer": "a", "amount": 1.0})
        d.send("customers", {"country": "TR"}, key="a")
        d.send("orders", {"customer": "a", "amount": 2.0})
        d.send("customers", {"country": "DE"}, key="a")
        d.send("orders", {"customer": "a", "amount": 3.0})
        d.settle()
        d.send("customers", None, key="a")
        d.send("orders", {"customer": "a", "amount": 4.0})
        rows = [(row["amount"], row["country"]) for _, row in d.read("left")]
        assert rows == [(1.0, None), (2.0, "TR"), (3.0, "DE"), (4.0, None)]
        assert [(row["amount"], row["country"]) for _, row in d.read("inner")] == rows[1:3]


@pytest.mark.long
def test_tables_join_by_key_and_forget_deleted_rows() -> None:
    app = App("tables")
    left = app.table("left", value=json("l INT"))
    right = app.table("right", value=json("r INT"))
    left.join(right).to("inner")
    left.left_join(right).to("left-joined")
    left.outer_join(right).to("outer")
    left.filter("l > 1").select("l", more="l + 1").to("filtered")
    with drive(app) as d:
        d.send("left", {"l": 1}, key="a")
        d.send("left", {"l": 2}, key="b")
        d.send("right", {"r": 2}, key="b")
        d.send("right", {"r": 3}, key="c")
        assert d.table("inner") == {"b": {"l": 2, "r": 2}}
        assert d.table("left-joined") == {"a": {"l": 1, "r": None}, "b": {"l": 2, "r": 2}}
        assert d.table("outer")["c"] == {"l": None, "r": 3}
        assert d.table("filtered") == {"b": {"l": 2, "more": 3}}
        d.send("right", None, key="b")
        d.send("left", {"l": 0}, key="b")
        assert d.table("inner") == {}
        assert d.table("left-joined")["b"] == {"l": 0, "r": None}
        assert d.table("filtered") == {}


@pytest.mark.long
def test_a_foreign_key_join_follows_rows_that_move() -> None:
    app = App("foreign")
    orders = app.table("orders", value=json("product STRING, amount INT"))
    products = app.table("products", value=json("price INT"))
    orders.join(products, on="product").to("inner")
    orders.left_join(products, on="product").to("left")
    with drive(app) as d:
        d.send("orders", {"product": "pen", "amount": 1}, key="o1")
        d.send("orders", {"product": "cup", "amount": 2}, key="o2")
        d.send("orders", {"product": None, "amount": 3}, key="o3")
        d.send("products", {"price": 5}, key="pen")
        assert d.table("inner") == {"o1": {"product": "pen", "amount": 1, "price": 5}}
        assert d.table("left") == {
            "o1": {"product": "pen", "amount": 1, "price": 5},
            "o2": {"product": "cup", "amount": 2, "price": None},
            "o3": {"product": None, "amount": 3, "price": None},
        }
        d.send("products", {"price": 7}, key="cup")
        d.send("orders", {"product": "cup", "amount": 1}, key="o1")
        d.settle()
        d.send("products", {"price": 6}, key="pen")
        assert d.table("inner") == {
            "o1": {"product": "cup", "amount": 1, "price": 7},
            "o2": {"product": "cup", "amount": 2, "price": 7},
        }
        d.send("products", None, key="cup")
        d.send("orders", None, key="o2")
        assert d.table("inner") == {}
        assert set(d.table("left")) == {"o1", "o3"}


@pytest.mark.long
def test_a_global_table_is_joined_by_any_column() -> None:
    app = App("global")
    rates = app.global_table("rates", value=json("rate DOUBLE"))
    orders = app.stream("orders", value=json("currency STRING, amount DOUBLE"))
    orders.left_join(rates, on="currency").with_columns(eur="amount * rate").to("converted")
    with drive(app) as d:
        d.send("rates", {"rate": 1.0}, key="EUR")
        d.send("rates", {"rate": 0.5}, key="USD")
        d.settle()
        d.send("orders", {"currency": "USD", "amount": 4.0})
        assert [row["eur"] for _, row in d.read("converted")] == [2.0]
        d.send("rates", {"rate": 0.25}, key="USD")
        d.settle()
        d.send("orders", {"currency": "USD", "amount": 4.0})
        d.send("orders", {"currency": "XXX", "amount": 4.0})
        assert [row["eur"] for _, row in d.read("converted")] == [1.0, None]


class Alarm(Processor):
    """Three small payments and then a large one; forgotten after a minute of silence."""

    returns = "card STRING, reason STRING"
    state: ClassVar = {"small": "n INT, until LONG"}

    def process(self, key: str, row: dict[str, Any], context: Context) -> Iterator[dict[str, Any]]:
        seen = context.get("small") or {"n": 0, "until": 0}
        if row["amount"] > 100 and seen["n"] >= 3:
            yield {"card": key, "reason": f"{row['amount']:.0f} after {seen['n']} small ones"}
        until = row["_timestamp_ms"] + 60_000
        context.set_timer(until)
        small = seen["n"] + 1 if row["amount"] < 5 else 0
        context.put("small", {"n": small, "until": until})

    def on_timer(self, key: str, when_ms: int, context: Context) -> Iterator[dict[str, Any]]:
        seen = context.get("small")
        if seen and seen["until"] == when_ms:
            context.delete("small")
            yield {"card": key, "reason": "forgotten"}


@pytest.mark.long
def test_a_processor_keeps_state_and_sets_timers() -> None:
    app = App("fraud")
    cards = app.stream("payments", value=json("amount DOUBLE"))
    cards.process(Alarm()).to("alarms")
    with drive(app) as d:
        for second, amount in [(0, 1.0), (1, 2.0)]:
            d.send("payments", {"amount": amount}, key="c", timestamp_ms=at(second))
        d.settle()
        for second, amount in [(3, 500.0), (2, 3.0)]:
            d.send("payments", {"amount": amount}, key="c", timestamp_ms=at(second))
        assert d.read("alarms") == [("c", {"card": "c", "reason": "500 after 3 small ones"})]
        d.send("payments", {"amount": 1.0}, key="d", timestamp_ms=at(100))
        assert d.read("alarms") == [("c", {"card": "c", "reason": "forgotten"})]


def test_a_second_stateful_operator_reads_the_first_from_a_topic() -> None:
    app = App("chain")
    orders = app.stream("orders", value=json(ORDER)).key_by("customer")
    customers = app.table("customers", value=json("country STRING"))
    enriched = orders.join(customers)
    per_country = enriched.group_by("country").agg(total="sum(amount)").named("countries")
    per_country.filter("total > 5").to("rich")
    assert [stage.name for stage in _plan(app).stages][:3] == [
        "chain-orders-with-customers",
        "chain-countries-changelog",
        "rich",
    ]
    with drive(app) as d:
        d.send("customers", {"country": "TR"}, key="a")
        d.send("customers", {"country": "DE"}, key="b")
        for customer, amount in [("a", 1.0), ("b", 2.0), ("a", 5.0)]:
            d.send("orders", {"customer": customer, "amount": amount})
        assert d.table("rich") == {"TR": {"country": "TR", "total": 6.0}}
        assert d.table("chain-countries-changelog")["DE"]["total"] == 2.0


def _plan(app: App) -> Any:
    from ottla.pipelines.planning.plan import make_plan

    return make_plan(app.definition())
