"""Every stateless operator, on real Spark and a real broker, against what plain Python says."""

import pytest

from ottla.pipelines import App, json, string
from ottla.testing.drive import drive

pytestmark = [pytest.mark.usefixtures("driven"), pytest.mark.timeout(400)]
ORDER = "customer STRING NOT NULL, amount DOUBLE, tags ARRAY<STRING>"
ORDERS = [
    {"customer": "ann", "amount": 3.0, "tags": ["a", "b"]},
    {"customer": "bob", "amount": 30.0, "tags": []},
    {"customer": "cem", "amount": None, "tags": None},
    {"customer": "dee", "amount": 300.0, "tags": ["c"]},
]


def test_rows_are_filtered_projected_keyed_branched_merged_and_mapped() -> None:
    app = App("stateless")
    orders = app.stream("orders", value=json(ORDER))
    orders.filter("amount > 10").to("big")
    orders.select("upper(customer) AS who", twice="amount * 2").to("selected")
    orders.with_columns(amount="coalesce(amount, 0)").drop("tags").key_by("customer").to("keyed")
    small, middle, rest = orders.select("amount").branch("amount < 10", "amount < 100")
    small.to("small")
    middle.merge(rest).rename(amount="cost").to("not-small")
    orders.explode("tags", "tag").select("tag").to("tags", value=string("tag"))
    orders.select("customer").map(lambda row: {"n": len(row["customer"])}, "n INT").to("mapped")
    orders.flat_map(lambda row: [{"t": t} for t in row["tags"] or ()], "t STRING").to("flat")
    with drive(app) as d:
        for number, order in enumerate(ORDERS):
            d.send("orders", order, key=f"k{number}")
        assert d.read("big") == [("k1", ORDERS[1]), ("k3", ORDERS[3])]
        assert d.read("selected") == [
            ("k0", {"who": "ANN", "twice": 6.0}),
            ("k1", {"who": "BOB", "twice": 60.0}),
            ("k2", {"who": "CEM", "twice": None}),
            ("k3", {"who": "DEE", "twice": 600.0}),
        ]
        assert d.read("keyed") == [
            (o["customer"], {"customer": o["customer"], "amount": o["amount"] or 0.0})
            for o in ORDERS
        ]
        assert d.read("small") == [("k0", {"amount": 3.0})]
        assert sorted(d.read("not-small")) == [
            ("k1", {"cost": 30.0}),
            ("k2", {"cost": None}),
            ("k3", {"cost": 300.0}),
        ]
        assert d.read("tags") == [("k0", "a"), ("k0", "b"), ("k3", "c")]
        assert d.read("mapped") == [(f"k{i}", {"n": 3}) for i in range(4)]
        assert d.read("flat") == [("k0", {"t": "a"}), ("k0", {"t": "b"}), ("k3", {"t": "c"})]


def test_what_does_not_decode_goes_to_the_dead_letters_with_its_reason() -> None:
    app = App("letters")
    app.stream("orders", value=json(ORDER)).filter("amount > 1").to("fine")
    bad: list[tuple[object, str]] = [
        (b'{"customer": "x', "the value is not JSON of the schema"),
        (b"hello", "the value is not JSON of the schema"),
        ({"customer": "x", "amount": "much"}, "the value is not JSON of the schema"),
        (b"", "the value is not JSON of the schema"),
        (b"\xff\xfe", "the value is not JSON of the schema"),
        ({"amount": 2.0}, "the field customer is missing"),
        (None, "the record has no value"),
    ]
    with drive(app) as d:
        for value, _ in bad:
            d.send("orders", value, key="k", headers={"from": "test"})
        d.send("orders", ORDERS[0], key="good")
        letters = d.dead_letters()
        assert [letter.headers["ottla.reason"].decode() for letter in letters] == [
            reason for _, reason in bad
        ]
        assert [letter.headers["ottla.offset"] for letter in letters] == [
            str(offset).encode() for offset in range(len(bad))
        ]
        assert all(letter.headers["from"] == b"test" for letter in letters)
        assert d.read("fine") == [("good", ORDERS[0])]


def test_timestamps_headers_and_keys_reach_the_output() -> None:
    app = App("meta")
    words = app.stream("words", value=string())
    words.to("copied")
    words.to(
        "chosen",
        key="upper(value)",
        headers={"length": "length(value)"},
        timestamp="timestamp_millis(1000)",
        partition="0",
    )
    with drive(app) as d:
        d.send("words", "one", key="k", headers={"h": "x"}, timestamp_ms=1_700_000_000_123)
        [copied] = d.records("copied")
        assert (copied.key, copied.value) == ("k", "one")
        assert copied.headers == {"h": b"x"}
        assert copied.timestamp_ms == 1_700_000_000_123
        [chosen] = d.records("chosen")
        assert (chosen.key, chosen.headers["length"], chosen.timestamp_ms) == ("ONE", b"3", 1000)
