"""What is wrong with an application is said before Spark starts, with file and line."""

import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ottla.pipelines import App, DefinitionError, hopping, json, session, sliding, string, tumbling
from ottla.pipelines.api.streams import Stream
from ottla.pipelines.api.tables import Table
from ottla.pipelines.api.windows import milliseconds
from ottla.pipelines.formats.schema import Field, parse_schema

ORDER = "customer STRING NOT NULL, amount DOUBLE, at TIMESTAMP, tags ARRAY<STRING>"


@pytest.fixture
def app() -> App:
    return App("test")


@pytest.fixture
def orders(app: App) -> Stream:
    return app.stream("orders", value=json(ORDER))


@pytest.fixture
def customers(app: App) -> Table:
    return app.table("customers", value=json("name STRING, country STRING"))


def refused(act: Callable[[], object]) -> str:
    """The sentence of the refusal; its place must be this file, at the line of the call."""
    with pytest.raises(DefinitionError) as caught:
        act()
    assert caught.value.where.file == __file__
    lines, first = inspect.getsourcelines(act)
    assert first <= caught.value.where.line < first + len(lines)
    return str(caught.value)


def test_an_unknown_column_is_named_with_the_nearest_known_one(orders: Stream) -> None:
    assert "there is no column amuont" in refused(lambda: orders.filter("amuont > 3"))
    assert "did you mean amount?" in refused(lambda: orders.select("amuont"))
    assert "customer, amount, at, tags" in refused(lambda: orders.group_by("xyz"))


def test_a_condition_must_be_true_or_false(orders: Stream) -> None:
    assert "is DOUBLE, not a condition" in refused(lambda: orders.filter("amount + 1"))


def test_what_does_not_parse_is_said(orders: Stream) -> None:
    assert "is no SQL expression" in refused(lambda: orders.filter("amount >"))
    assert "needs a name" in refused(lambda: orders.select("amount + 1"))
    assert "is no schema" in refused(lambda: json("customer"))


def test_types_follow_the_expressions(orders: Stream) -> None:
    made = orders.with_columns(twice="amount * 2", big="amount > 5", n="size(tags)")
    types = {field.name: field.type for field in made.node.schema}
    assert (types["twice"], types["big"], types["customer"]) == ("DOUBLE", "BOOLEAN", "STRING")
    assert Field("t", "STRING") in orders.explode("tags", "t").node.schema
    assert "not an array" in refused(lambda: orders.explode("amount", "t"))


def test_an_aggregate_must_fold(orders: Stream) -> None:
    assert "does not fold" in refused(lambda: orders.group_by("customer").agg(x="amount + 1"))
    by = orders.group_by("customer")
    assert "cannot be folded here" in refused(
        lambda: by.windowed(sliding("1 minute")).agg(x="stddev(amount)")
    )


def test_joins_refuse_what_they_cannot_do(orders: Stream, customers: Table, app: App) -> None:
    other = app.stream("more", value=json("country STRING"))
    assert "within a time" in refused(lambda: orders.join(other))
    assert "both sides of the join have country" in refused(lambda: other.join(customers))
    assert "without a time" in refused(lambda: orders.join(customers, within="1 s"))
    assert "there is no column nope" in refused(lambda: customers.join(customers2(app), on="nope"))


def customers2(app: App) -> Table:
    return app.table("products", value=json("price DOUBLE"))


def test_streams_merge_only_with_the_same_columns_and_types(orders: Stream, app: App) -> None:
    odd = app.stream("odd", value=json("customer STRING, amount STRING, at TIMESTAMP, tags INT"))
    assert "need the same columns" in refused(lambda: orders.merge(orders.drop("amount")))
    assert "need the same types" in refused(lambda: orders.merge(odd))


def test_names_and_combinations_are_checked(app: App, orders: Stream) -> None:
    assert "is no name for a topic" in refused(lambda: orders.to("a topic"))
    orders.to("out")
    assert "is written at" in refused(lambda: orders.to("out"))
    assert "needs a schema" in refused(lambda: app.stream("x", value=json()))
    assert "drop one of both" in refused(lambda: App("x", latency="low", delivery="exactly_once"))
    assert "suppress() follows a windowed" in refused(
        lambda: orders.group_by("customer").count().suppress()
    )
    assert "not a TIMESTAMP" in refused(
        lambda: app.stream("x", value=json(ORDER), timestamp="amount")
    )


def test_schemas_know_nested_types_and_required_fields() -> None:
    fields = parse_schema("a STRING NOT NULL, b ARRAY<STRUCT<x: INT>>, c DECIMAL(10, 2)")
    assert [(field.name, field.required) for field in fields] == [
        ("a", True),
        ("b", False),
        ("c", False),
    ]
    assert fields[1].type == "ARRAY<STRUCT<x: INT>>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("5 minutes", 300_000), ("500 ms", 500), ("1h 30m", 5_400_000), ("2 days", 172_800_000)],
)
def test_durations_are_read(text: str, expected: int) -> None:
    assert milliseconds(text) == expected


def test_a_window_that_makes_no_sense_is_refused() -> None:
    assert "'one minute' is no duration" in refused(lambda: tumbling("one minute"))
    assert "above nothing" in refused(lambda: tumbling("0 s"))
    assert "misses records" in refused(lambda: hopping("1 s", every="2 s"))
    assert "'parsecs' is no unit" in refused(lambda: session("5 parsecs"))


def test_a_time_or_window_that_is_none_is_refused_where_it_is_given(
    app: App, orders: Stream
) -> None:
    refunds = app.stream("refunds", value=json("reason STRING"))
    minute: Any = "1 minute"
    seconds: Any = 5
    assert "'soon' is no duration" in refused(lambda: orders.join(refunds, within="soon"))
    assert "5 is no duration" in refused(lambda: orders.join(refunds, within=seconds))
    assert "tumbling('1 minute')" in refused(lambda: orders.group_by("customer").windowed(minute))


def test_partitions_and_timestamps_of_a_sink_have_their_types(orders: Stream) -> None:
    assert "not a TIMESTAMP" in refused(lambda: orders.to("a", timestamp="customer"))
    assert "not the number of a partition" in refused(lambda: orders.to("b", partition="customer"))
    orders.to("c", timestamp="at + INTERVAL 1 HOUR", partition="hash(customer) & 1")
    orders.to("d", timestamp="current_timestamp()", partition="if(amount > 5, 1, 0)")


def said_by(code: str) -> str:
    """What a fresh interpreter prints."""
    root = Path(__file__).parents[3] / "src"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(root)}
    )
    return done.stdout.strip() or done.stderr


def test_importing_ottla_brings_no_spark() -> None:
    assert said_by("import ottla.pipelines, sys; print('pyspark' in sys.modules)") == "False"


def test_a_test_reaches_the_driver_through_ottla_alone_and_nobody_else_pays_for_it() -> None:
    loaded = "[name in sys.modules for name in ('ottla.testing', 'ottla.pipelines')]"
    assert said_by(f"import ottla, sys; print({loaded})") == "[False, False]"
    assert said_by("import ottla; print(ottla.testing.drive.__name__)") == "drive"


def test_a_stream_of_text_has_one_column(app: App) -> None:
    assert app.stream("words", value=string("word")).columns == ("word",)
