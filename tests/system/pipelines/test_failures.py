"""Rows that the user's own code fails on: they end the stage, are buried, or are left out."""

from collections.abc import Iterator
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException

from ottla.pipelines import App, Context, DefinitionError, Processor, json
from ottla.pipelines.api.definitions import OnError
from ottla.pipelines.engine.calls import Calls
from ottla.pipelines.planning.plan import make_plan
from ottla.pipelines.planning.stages import separating
from ottla.pipelines.runtime.failures import UserCodeError
from ottla.testing import drive

SCHEMA = pa.schema([("half", pa.int32()), ("_key", pa.string()), ("_reason", pa.string())])


def halved(row: dict[str, Any]) -> dict[str, Any]:
    return {"half": int(row["n"]) // 2}


def results(function: Any, values: list[str], on_error: OnError, kind: str = "map") -> Any:
    calls = Calls(function, kind, ["n"], ["half"], ["_key", "_reason"], on_error)
    rows = [{"n": value, "_key": "k", "_reason": None} for value in values]
    given = pa.RecordBatch.from_pylist(rows)
    [made] = calls.over(SCHEMA)(iter([given]))
    return [(row["half"], row["_reason"]) for row in made.to_pylist()]


def test_a_row_that_fails_is_left_out_or_buried_with_the_exception_and_the_line() -> None:
    assert results(halved, ["4", "x", "6"], "skip") == [(2, None), (3, None)]
    first, (half, reason), last = results(halved, ["4", "x", "6"], "dead_letter")
    assert (first, half, last) == ((2, None), None, (3, None))
    assert reason.startswith("ValueError: invalid literal for int() with base 10: 'x' at ")
    assert reason.endswith('return {"half": int(row["n"]) // 2}')
    assert "test_failures.py:" in reason
    with pytest.raises(UserCodeError, match=r"ValueError.*test_failures.py:\d+"):
        results(halved, ["x"], "fail")


def test_a_generator_that_fails_half_way_gives_nothing() -> None:
    def parts(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for word in row["n"].split():
            yield {"half": int(word)}

    assert results(parts, ["1 2", "3 x"], "skip", "flat_map") == [(1, None), (2, None)]


def test_what_the_schema_lacks_and_what_is_of_another_type_is_an_error() -> None:
    with pytest.raises(UserCodeError, match=r"map\(\) gives hlaf, which its schema lacks"):
        results(lambda row: {"hlaf": 1}, ["1"], "fail")
    with pytest.raises(UserCodeError, match=r"map\(\) cannot change _key"):
        results(lambda row: {"half": 1, "_key": "other"}, ["1"], "fail")
    assert results(lambda row: {"half": 1, "_key": row["_key"]}, ["1"], "fail") == [(1, None)]
    with pytest.raises(UserCodeError, match=r"map\(\) gives int, not a dictionary"):
        results(lambda row: 1, ["1"], "fail")
    assert results(lambda row: {"half": row["n"]}, ["1", "x"], "skip") == []
    mixed = results(lambda row: {"half": 1 if row["n"] == "1" else "x"}, ["1", "2"], "dead_letter")
    assert mixed[0] == (1, None)
    assert "half, which map() gives, is no int32" in mixed[1][1]


def test_on_error_is_one_of_three() -> None:
    stream = App("a").stream("orders", value=json("n STRING"))
    with pytest.raises(DefinitionError, match="on_error is 'fail', 'dead_letter' or 'skip'"):
        stream.map(halved, "half INT", on_error="ignore")  # type: ignore[arg-type]


class Summing(Processor):
    returns = "total INT"
    state: ClassVar = {"sum": "total INT"}

    def process(self, key: str, row: dict[str, Any], context: Context) -> Iterator[dict[str, Any]]:
        total = (context.get("sum") or {"total": 0})["total"]
        context.put("sum", {"total": total + 100})  # undone when the next line fails
        context.put("sum", {"total": total + int(row["n"])})
        yield {"total": total + int(row["n"])}


@pytest.mark.usefixtures("driven")
@pytest.mark.timeout(500)
def test_dead_letters_hold_the_record_from_whatever_operator_it_failed_in() -> None:
    app = App("failing", on_error="dead_letter")
    orders = app.stream("orders", value=json("n STRING"))
    orders.map(halved, "half INT").filter("half > 0").to("halves")
    orders.map(halved, "half INT", on_error="skip").to("skipped")
    orders.process(Summing()).to("sums")
    orders.map(halved, "half INT").group_by("half").count().to("counts")
    with drive(app) as d:
        for value in ("4", "x", "6"):
            d.send("orders", {"n": value}, key="k")
        d.send("orders", b"no order", key="k")
        assert [row["half"] for _, row in d.read("halves")] == [2, 3]
        assert [row["half"] for _, row in d.read("skipped")] == [2, 3]
        assert [row["total"] for _, row in d.read("sums")] == [4, 10]
        assert {row["half"]: row["count"] for row in d.table("counts").values()} == {2: 1, 3: 1}
        letters = d.dead_letters()
        assert {(one.key, one.headers["ottla.offset"]) for one in letters} == {
            ("k", b"1"),
            ("k", b"3"),
        }
        failed = [one for one in letters if one.value == {"n": "x"}]
        assert len(failed) == 3  # of map, of process, and of map before the group
        for one in failed:
            assert b"ValueError: invalid literal" in one.headers["ottla.reason"]
            assert b"test_failures.py:" in one.headers["ottla.reason"]
        assert len(letters) == 4


def inverted(frame: Any) -> Any:
    """A pandas function that fails on a whole batch because of one row in it."""

    def divide(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for n in batch["n"]:
                if n == "0":
                    raise ZeroDivisionError("nothing is divided by zero")
            yield batch.assign(n=[str(10 // int(n)) for n in batch["n"]])

    return frame.mapInPandas(divide, frame.schema)


@pytest.mark.usefixtures("driven")
@pytest.mark.timeout(500)
def test_a_record_that_a_transform_fails_on_is_found_and_the_others_pass() -> None:
    app = App("inverting")
    orders = app.stream("orders", value=json("n STRING"))
    several = app.stream(pattern="orders-.*", value=json("n STRING"))
    several.transform(inverted, on_error="dead_letter").to("several")
    orders.transform(inverted, on_error="dead_letter").filter("n <> '1'").to("inverted")
    orders.transform(inverted, on_error="skip").to("skipped")
    with drive(app) as d:
        for value in ("1", "0", "2", "5", "x", "10"):
            d.send("orders", {"n": value}, key=f"k{value}")
        for topic in ("orders-a", "orders-b", "orders-c"):  # b is written before a fails
            for value in ("5", "0", "2") if topic != "orders-b" else ("1", "10"):
                d.send(topic, {"n": value}, key=topic)
        found = sorted((key, row["n"]) for key, row in d.read("several"))
        assert found == [
            (f"orders-{which}", n)
            for which, n in (
                ("a", "2"),
                ("a", "5"),
                ("b", "1"),
                ("b", "10"),
                ("c", "2"),
                ("c", "5"),
            )
        ]
        assert [row["n"] for _, row in d.read("inverted")] == ["10", "5", "2"]
        assert [row["n"] for _, row in d.read("skipped")] == ["10", "5", "2", "1"]
        letters = sorted(d.dead_letters(), key=lambda one: one.key)
        assert [one.key for one in letters] == ["k0", "kx", "orders-a", "orders-c"]
        zero, text = letters[:2]
        assert (zero.key, zero.value, zero.headers["ottla.offset"]) == ("k0", {"n": "0"}, b"1")
        reason = zero.headers["ottla.reason"].decode()
        assert reason.startswith("ZeroDivisionError: nothing is divided by zero at ")
        assert reason.endswith('raise ZeroDivisionError("nothing is divided by zero")')
        assert "test_failures.py:" in reason
        assert (text.value, text.timestamp_ms) == ({"n": "x"}, zero.timestamp_ms + 3)
        d.send("orders", {"n": "4"})  # a batch without one of them
        d.send("orders", {"n": "2"})
        assert [row["n"] for _, row in d.read("inverted")] == ["2", "5"]
        assert d.dead_letters() == []


@pytest.mark.long
@pytest.mark.usefixtures("driven")
@pytest.mark.timeout(500)
def test_failing_records_are_found_among_thousands_and_behind_other_operators() -> None:
    app = App("many", on_error="dead_letter")
    left = app.stream("left", value=json("n STRING"))
    right = app.stream("right", value=json("n STRING"))
    both = left.merge(right).filter("n <> '7'").transform(inverted)
    both.group_by("n").count().to("counts")
    with drive(app) as d:
        for number in range(1500):
            d.send("left", {"n": str(number % 500 + 1)}, key=str(number))
        d.send("right", {"n": "0"}, key="bad")
        for number in range(1500):
            d.send("right", {"n": "x" if number == 700 else "2"}, key=str(number))
        counts = {row["n"]: row["count"] for row in d.table("counts").values()}
        assert counts == {
            "10": 3, "5": 3 + 1499, "3": 3, "2": 6, "1": 5 * 3 - 3, "0": 490 * 3,
        }  # fmt: skip
        letters = d.dead_letters()
        assert sorted(one.key for one in letters) == ["700", "bad"]


def picky(row: dict[str, Any]) -> dict[str, Any]:
    if row["n"] == "3":
        raise KeyError("three")
    return row


@pytest.mark.usefixtures("driven")
@pytest.mark.timeout(500)
def test_what_fails_before_or_after_a_transform_is_not_its_record() -> None:
    for before in (True, False):
        app = App("beside")
        orders = app.stream("orders", value=json("n STRING"))
        if before:
            orders = orders.map(picky, "n STRING")
        orders = orders.transform(inverted, on_error="skip")
        if not before:
            orders = orders.map(picky, "n STRING")
        orders.to("out")
        with drive(app) as d:
            for value in ("3", "0"):
                d.send("orders", {"n": value})
            with pytest.raises(StreamingQueryException, match=r"KeyError: 'three' at .*s\.py:"):
                d.settle()


@pytest.mark.usefixtures("driven")
@pytest.mark.timeout(500)
def test_on_error_of_a_transform_is_refused_where_no_record_can_be_told_from_others() -> None:
    app = App("meeting")
    orders = app.stream("orders", value=json("n STRING"))
    with pytest.raises(DefinitionError, match=r"rows meet \(Aggregate\): put what may fail into"):
        orders.transform(lambda frame: frame.groupBy("n").count(), on_error="skip")
    with pytest.raises(DefinitionError, match=r"rows meet \(Repartition"):
        orders.transform(lambda frame: frame.repartition(3), on_error="dead_letter")
    with pytest.raises(DefinitionError, match="leave out returns="):
        orders.transform(lambda frame: frame, "n STRING", on_error="skip")
    low = App("low", latency="low")
    stream = low.stream("orders", value=json("n STRING"))
    stream.transform(lambda frame: frame.where("n <> '1'"), on_error="skip").to("out")
    with pytest.raises(DefinitionError, match=r"found by trying a batch again .on_error='fail'"):
        make_plan(low.definition())
    # What the application says is for those that can be told.
    careful = App("careful", on_error="skip")
    counted = careful.stream("orders", value=json("n STRING"))
    counted.transform(lambda frame: frame.groupBy("n").count()).to("counts")
    [stage] = make_plan(careful.definition()).stages[:1]
    assert separating(stage.node) is None
