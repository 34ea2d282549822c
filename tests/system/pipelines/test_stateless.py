"""Every stateless operator, on real Spark and a real broker, against what plain Python says."""

import json as plain_json
import uuid
from pathlib import Path
from typing import Any

import pytest

from ottla.pipelines import App, DefinitionError, json, long, string
from ottla.pipelines.lifecycle.application_file import load_app
from ottla.pipelines.runtime import sessions
from ottla.testing import drive

pytestmark = [pytest.mark.usefixtures("driven"), pytest.mark.timeout(400)]
ORDER = "customer STRING NOT NULL, amount DOUBLE, tags ARRAY<STRING>"
ORDERS: list[dict[str, Any]] = [
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
        ({"customer": "x", "amount": "much"}, "the field amount is no DOUBLE"),
        ({"customer": "x", "tags": 3}, "the field tags is no ARRAY<STRING>"),
        (b'{"customer": "x"} trailing', "there is more behind the JSON"),
        (b'{"customer": "}"}{"customer": "y"}', "there is more behind the JSON"),
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


def test_a_dead_letter_keeps_the_key_and_the_time_that_its_record_had() -> None:
    app = App("kept")
    orders = app.stream("orders", value=json("customer STRING NOT NULL, at TIMESTAMP"))
    orders.key_by("customer").to("keyed")
    payments = app.stream("payments", value=json("customer STRING NOT NULL, at TIMESTAMP"))
    payments.to("timed", key="customer", timestamp="at")
    late = "2020-01-01T00:00:00Z"
    with drive(app) as d:
        d.send("orders", {"at": late}, key="a", timestamp_ms=1_767_225_600_001)
        d.send("payments", {"at": late}, key="b", timestamp_ms=1_767_225_600_002)
        letters = {(one.key, one.timestamp_ms) for one in d.dead_letters()}
        assert letters == {("a", 1_767_225_600_001), ("b", 1_767_225_600_002)}


def test_rows_without_a_key_pass_a_left_join_and_belong_to_no_group() -> None:
    app = App("keyless")
    orders = app.stream("orders", value=json("a STRING, b STRING"))
    names = app.table("names", value=json("name STRING"))
    orders.left_join(names).to("left")
    orders.join(names).to("inner")
    orders.group_by("a").count().to("one")
    orders.group_by("a", "b").count().to("two")
    with drive(app) as d:
        d.send("names", {"name": "N"}, key="k")
        d.send("orders", {"a": "x", "b": "y"}, key="k")
        d.send("orders", {"a": "x", "b": None})
        d.send("orders", {"a": None, "b": "y"}, key="other")
        assert sorted(d.read("left"), key=str) == [
            ("k", {"a": "x", "b": "y", "name": "N"}),
            ("other", {"a": None, "b": "y", "name": None}),
            (None, {"a": "x", "b": None, "name": None}),
        ]
        assert [key for key, _ in d.read("inner")] == ["k"]
        assert d.table("one") == {"x": {"a": "x", "count": 2}}
        assert [row["count"] for row in d.table("two").values()] == [1]
        dropped = d.dropped_rows()
        assert dropped == {"one": 1, "two": 2, "inner": 1}


def test_bad_records_pass_by_partitions_joins_and_deletions() -> None:
    app = App("passing")
    orders = app.stream("orders", value=json("customer STRING NOT NULL"))
    orders.to("placed", partition="1", partitions=2)  # the dead letters have but one partition
    payments = app.stream("payments", value=json("currency STRING, amount INT"))
    rates = app.global_table("rates", value=json("rate INT"))
    payments.join(rates, on="currency").to("converted")
    stock = app.table("stock", value=json("n INT"), key=long())
    stock.filter("n > 0").changes().to("in-stock")
    with drive(app) as d:
        d.send("rates", {"rate": 2}, key="EUR")
        d.send("rates", b"no rate", key="XXX")
        d.send("orders", b"no order", key="k")
        d.send("orders", {"customer": "ann"}, key="k")
        d.send("payments", b"no payment", key="k")
        d.send("payments", {"currency": "EUR", "amount": 3}, key="k")
        d.send("payments", {"currency": "XXX", "amount": 3}, key="k")
        d.send("stock", b"no stock", key=bytes(8))
        d.send("stock", None, key=b"no number")
        d.send("stock", {"n": 0}, key=bytes(8))
        d.send("stock", {"n": 5}, key=bytes(8))
        assert [record.partition for record in d.records("placed")] == [1]
        converted = {"currency": "EUR", "amount": 3, "rate": 2}
        assert d.read("converted") == [("k", converted)]
        assert [value for _, value in d.read("in-stock")] == [{"n": 5}]
        letters = [letter.value for letter in d.dead_letters()]
        assert letters == ["no order", "no payment", "no stock", None, "no rate"]


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


def test_rows_go_to_the_partition_that_an_expression_or_the_key_says() -> None:
    app = App("placed")
    words = app.stream("words", value=string())
    words.to("by-length", partition="length(value) % 3", partitions=3)
    words.key_by("upper(value)").to("by-key", partitions=3)
    sent = ["a", "bb", "ccc", "dddd", "a", "bb"]
    with drive(app) as d:
        for word in sent:
            d.send("words", word)
        placed = {(record.value, record.partition) for record in d.records("by-length")}
        assert placed == {(word, len(word) % 3) for word in sent}
        # Where Kafka's own clients would put these keys: murmur2 of the key, modulo partitions.
        by_key = {record.key: record.partition for record in d.records("by-key")}
        assert by_key == {word.upper(): murmur2(word.upper().encode()) % 3 for word in sent}


def murmur2(data: bytes) -> int:
    """The hash of Kafka's default partitioner, as its protocol guide has it."""
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = (0x9747B28C ^ len(data)) & mask
    whole = len(data) // 4 * 4
    for start in range(0, whole, 4):
        k = int.from_bytes(data[start : start + 4], "little") * m & mask
        h = (h * m & mask) ^ ((k ^ (k >> 24)) * m & mask)
    if rest := data[whole:]:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ (h >> 13)) * m & mask
    return (h ^ (h >> 15)) & 0x7FFFFFFF


def test_peek_shows_every_row_and_changes_none(tmp_path: Path) -> None:
    seen = tmp_path / "seen"

    def note(row: dict[str, Any]) -> None:
        with seen.open("a") as out:  # the function runs in a worker of Spark's
            out.write(plain_json.dumps(row) + "\n")
        row["amount"] = "changed here, and nowhere else"

    app = App("peeking")
    app.stream("orders", value=json("who STRING, amount INT")).peek(note).to("out")
    rows: list[dict[str, Any]] = [{"who": "ann", "amount": 1}, {"who": "bob", "amount": None}]
    with drive(app) as d:
        for row in rows:
            d.send("orders", row, key="k")
        assert [value for _, value in d.read("out")] == rows
    peeked = [plain_json.loads(line) for line in seen.read_text().splitlines()]
    assert peeked == [row | {"_key": "k"} for row in rows]


def test_a_plain_frame_comes_out_of_an_application_and_goes_back_in(driven: str) -> None:
    from pyspark.sql import functions as F

    app = App("plain", bootstrap=driven)
    topic = f"orders-{uuid.uuid4().hex[:6]}"
    orders = app.stream(topic, value=json("who STRING NOT NULL, amount INT"))
    frame = orders.filter("amount > 0").df
    app.sink(frame.withColumn("half", F.col("amount") / 2), "halves")
    app.sink(frame.groupBy("who").agg(F.sum("amount").alias("total")), "totals", key="who")
    with drive(app) as d:
        for amount in (4, -1, 6):
            d.send(topic, {"who": "ann", "amount": amount}, key="k")
        d.send(topic, {"amount": 5}, key="bad")
        assert d.read("halves") == [
            ("k", {"who": "ann", "amount": amount, "half": amount / 2}) for amount in (4, 6)
        ]
        d.send(topic, {"who": "ann", "amount": 10})
        assert d.table("totals") == {"ann": {"who": "ann", "total": 20}}
        [letter] = d.dead_letters()
        assert letter.headers["ottla.reason"] == b"the field who is missing"


def test_a_plain_frame_is_a_stream_again(driven: str) -> None:
    from pyspark.sql import functions as F

    app = App("again", bootstrap=driven)
    topic = f"orders-{uuid.uuid4().hex[:6]}"
    orders = app.stream(topic, value=json("who STRING, amount INT"))
    halves = app.from_df(orders.filter("amount > 0").df.withColumn("half", F.col("amount") / 2))
    assert halves.columns == ("who", "amount", "half")
    halves.filter("half > 2").drop("amount").to("large-halves")
    halves.group_by("who").agg(halves="sum(half)").to("sums")
    folded = app.from_df(orders.df.groupBy("who").agg(F.sum("amount").alias("total")))
    folded.key_by("who").with_columns(large="total > 9").to("totals")
    folded.group_by("total").count().to("by-total")  # a second fold: through a topic
    with pytest.raises(DefinitionError, match=r"test_stateless.py:\d+: there is no column hlf"):
        halves.filter("hlf > 2")
    with pytest.raises(DefinitionError, match="is no stream"):
        app.from_df(sessions.session().range(3))
    with drive(app) as d:
        for who, amount in (("ann", 4), ("ann", -1), ("ann", 6), ("bob", 9)):
            d.send(topic, {"who": who, "amount": amount}, key="k")
        large = [row for _, row in d.read("large-halves")]
        assert sorted(large, key=str) == [
            {"who": "ann", "half": 3.0}, {"who": "bob", "half": 4.5}
        ]  # fmt: skip
        assert d.table("sums") == {
            "ann": {"who": "ann", "halves": 5.0}, "bob": {"who": "bob", "halves": 4.5}
        }  # fmt: skip
        assert d.table("totals") == {
            "ann": {"who": "ann", "total": 9, "large": False},
            "bob": {"who": "bob", "total": 9, "large": False},
        }
        assert d.table("by-total") == {"9": {"total": 9, "count": 2}}
        d.send(topic, {"who": "ann", "amount": 1}, key="k")
        assert d.table("totals")["ann"] == {"who": "ann", "total": 10, "large": True}
        assert d.table("by-total")["10"] == {"total": 10, "count": 1}


def test_modules_beside_the_application_travel_to_python_workers(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    (folder / "shop_words").mkdir(parents=True)
    (folder / "shop_words" / "__init__.py").write_text("")
    (folder / "shop_words" / "loud.py").write_text("def loud(text):\n    return text.upper()\n")
    (folder / "shop_rules.py").write_text(
        "def shout(row):\n"
        "    from shop_words.loud import loud  # not before it runs\n"
        "    return {'said': loud(row['value'])}\n"
    )
    (folder / "shop.py").write_text(
        "import ottla, shop_rules\n"
        "from ottla.pipelines import string\n"
        "app = ottla.App('helped')\n"
        "words = app.stream('words', value=string())\n"
        "words.map(shop_rules.shout, 'said STRING').to('said')\n"
    )
    with drive(load_app(folder / "shop.py")) as d:
        d.send("words", "hello")
        assert [row["said"] for _, row in d.read("said")] == ["HELLO"]
