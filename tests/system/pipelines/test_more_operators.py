"""Groups of tables, PySpark in the middle, duplicates, maps and several topics at once."""

import uuid
from datetime import UTC, datetime
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

import ottla
from ottla.pipelines import App, DefinitionError, json, tumbling
from ottla.pipelines.engine.subtracting import Subtracting, Total
from ottla.pipelines.lifecycle.brokers import create
from ottla.pipelines.planning.plan import make_plan
from ottla.pipelines.planning.signatures import layout
from ottla.pipelines.planning.topics import FOREVER, NewTopic
from ottla.testing import drive

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = [pytest.mark.usefixtures("driven"), pytest.mark.timeout(500)]
T0 = 1_767_225_600_000  # 2026-01-01T00:00:00Z


def test_rows_of_a_table_take_back_what_they_gave_their_group() -> None:
    app = App("towns")
    people = app.table("people", value=json("town STRING, age INT, pay DECIMAL(10, 2)"))
    folds = {"n": "count(*)", "oldest": "max(age)", "pay": "avg(pay * 2)"}
    people.group_by("town").agg(**folds).to("towns")
    with drive(app) as d:
        d.send("people", {"town": "Izmir", "age": 30, "pay": 10.25}, key="ann")
        d.send("people", {"town": "Izmir", "age": 40, "pay": 20.50}, key="bob")
        d.send("people", {"town": None, "age": 50, "pay": 1}, key="cem")
        assert d.table("towns") == {"Izmir": {"town": "Izmir", "n": 2, "oldest": 40, "pay": 30.75}}
        d.send("people", {"town": "Bursa", "age": 41, "pay": 20.50}, key="bob")
        d.send("people", {"town": "Izmir", "age": 31, "pay": 10.25}, key="ann")
        assert {town: row["oldest"] for town, row in d.table("towns").items()} == {
            "Izmir": 31,
            "Bursa": 41,
        }
        d.send("people", None, key="ann")
        assert set(d.table("towns")) == {"Bursa"}


def test_a_group_of_a_table_knows_folds_and_no_windows() -> None:
    people = App("towns").table("people", value=json("town STRING, age INT"))
    with pytest.raises(DefinitionError, match="a table has no windows"):
        people.group_by("town").windowed(tumbling("1 minute"))
    with pytest.raises(DefinitionError, match=r"there are count, sum"):
        people.group_by("town").agg(m="median(age)")


def test_totals_keep_all_the_digits_that_spark_has() -> None:
    most = Decimal("12345678901234567890.123456789012345678")
    groups = Subtracting([Total("total", "sum", "decimal(38,18)", "decimal(38,18)", 18)])
    sums: list[Any] = [0, Decimal(0), 0]
    groups._add(sums, [most], 1)
    groups._add(sums, [Decimal("0.000000000000000001")], 1)
    groups._add(sums, [most], -1)
    assert sums == [1, Decimal("0.000000000000000001"), 1]


def test_what_can_be_subtracted_gives_the_digits_that_a_fold_of_all_rows_gives() -> None:
    app = App("exact")
    people = app.table("people", value=json("town STRING, age INT, pay DECIMAL(10, 2), id BIGINT"))
    sums = {
        "n": "count(*)", "paid": "count(pay)", "ages": "sum(age)", "mean": "avg(age)",
        "total": "sum(pay)", "pays": "avg(pay)", "half": "sum(pay / 2)", "ids": "sum(id)",
    }  # fmt: skip
    people.group_by("town").agg(**{k: v for k, v in sums.items() if k != "half"}).to("subtracted")
    people.group_by("town").agg(**{**sums, "oldest": "max(age)"}).to("folded")
    kept = {s.name: (s.stateful and layout(s.stateful)) for s in make_plan(app.definition()).stages}
    assert kept["subtracted"]["takes"] == "by subtraction"  # type: ignore[index]
    assert "takes" not in kept["folded"]  # type: ignore[operator]
    chance = Random(5)
    with drive(app) as d:
        for _ in range(4):
            for _ in range(25):
                row = {
                    "town": chance.choice(["Brno", "Izmir", None]),
                    "age": chance.choice([None, chance.randint(0, 99)]),
                    "pay": chance.choice([None, round(chance.uniform(-1e6, 1e6), 2)]),
                    "id": chance.choice([7, 2**62]),
                }
                gone = chance.random() < 0.3
                d.send("people", None if gone else row, key=chance.choice("abcdefgh"))
            told, model = d.table("subtracted"), d.table("folded")
            for row in model.values():
                del row["half"], row["oldest"]
            assert told == model
            assert told


def taxed(frame: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as F

    return frame.withColumn("tax", F.col("amount") * 2).drop("tags")


def test_duplicates_maps_lists_of_topics_and_pyspark_in_the_middle() -> None:
    app = App("more")
    orders = app.stream(
        ["orders", "returns"], value=json("id INT, amount INT, tags MAP<STRING, INT>")
    )
    orders.drop_duplicates("id", within="1 minute").select("id").to("once")
    orders.drop_duplicates("id").select("id").to("once-for-all")
    orders.select("id", "tags").explode("tags", "n", key="tag").to("tags")
    orders.select("id", "tags").explode_outer("tags", "n", key="tag").select("id", "n").to("all")
    orders.transform(taxed, "id INT, amount INT, tax INT").filter("tax > 2").to("taxed")
    with drive(app) as d:
        for topic, number, second in (("orders", 1, 0), ("returns", 1, 30), ("orders", 2, 31)):
            value = {"id": number, "amount": number, "tags": {"a": 1, "b": 2} if second else None}
            d.send(topic, value, key=str(second), timestamp_ms=T0 + second * 1000)
        assert sorted(row["id"] for _, row in d.read("once")) == [1, 2]
        assert sorted(row["id"] for _, row in d.read("once-for-all")) == [1, 2]
        typed = orders.explode("tags", "n", key="tag").node.schema
        assert [(f.name, f.type) for f in typed[-2:]] == [("tag", "STRING"), ("n", "INT")]
        tags = sorted((row["id"], row["tag"], row["n"]) for _, row in d.read("tags"))
        assert tags == [(1, "a", 1), (1, "b", 2), (2, "a", 1), (2, "b", 2)]
        assert len(d.read("all")) == 5
        assert d.read("taxed") == [("31", {"id": 2, "amount": 2, "tax": 4})]


def test_spark_tells_the_columns_and_the_engine_of_what_is_in_the_middle(driven: str) -> None:
    app = App("middle", bootstrap=driven)
    orders = app.stream("orders", value=json("id INT, amount INT, tags MAP<STRING, INT>"))
    made = orders.transform(taxed)
    assert made.columns == ("id", "amount", "tax")
    made.to("taxed")
    summed = orders.transform(lambda frame: frame.groupBy("id").sum("amount"))
    assert summed.columns == ("id", "sum(amount)")
    summed.to("sums", key="id")
    modes = {stage.name: stage.mode for stage in make_plan(app.definition()).stages}
    assert modes["taxed"] == "real-time"
    with pytest.raises(DefinitionError, match="there is no column tags"):
        made.filter("tags IS NULL")


def test_windows_start_later_by_their_offset() -> None:
    app = App("later")
    clicks = app.stream("clicks", value=json("page STRING"))
    window = tumbling("1 hour", offset="15 minutes")
    clicks.group_by("page").windowed(window).count().to("counts")
    with drive(app) as d:
        for minute in (10, 20, 74, 76):
            d.send("clicks", {"page": "/"}, timestamp_ms=T0 + minute * 60_000)
        found = {row["window_start"][11:16]: row["count"] for row in d.table("counts").values()}
        assert found == {"23:15": 1, "00:15": 2, "01:15": 1}


def test_a_topic_is_read_as_a_frame_between_offsets_and_times(driven: str) -> None:
    topic = f"read-{uuid.uuid4().hex[:8]}"
    create(App("a", bootstrap=driven).definition(), [NewTopic(topic, 1, FOREVER)])
    producer = Producer({"bootstrap.servers": driven})
    for number in range(4):
        value = f'{{"n": {number}}}' if number else "no JSON"
        producer.produce(topic, value, timestamp=T0 + number * 1000)
    assert producer.flush(30) == 0

    def numbers(**places: Any) -> list[int]:
        frame = ottla.read(topic, value=json("n INT"), bootstrap=driven, **places)
        return [row.n for row in frame.select("n").orderBy("n").collect()]

    at = datetime.fromtimestamp(T0 / 1000 + 2, UTC)
    assert numbers() == [1, 2, 3]
    assert numbers(start={0: 2}, end={0: 3}) == [2]
    assert numbers(start=at) == [2, 3]
    assert numbers(end=at) == [1]
