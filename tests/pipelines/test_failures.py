"""Rows that the user's own code fails on: they end the stage, are buried, or are left out."""

from collections.abc import Iterator
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from ottla.pipelines import App, Context, DefinitionError, Processor, json
from ottla.pipelines.calls import Calls
from ottla.pipelines.definitions import OnError
from ottla.pipelines.failures import UserCodeError
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
