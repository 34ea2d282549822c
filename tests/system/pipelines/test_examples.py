"""Every example plans; each does what its first lines say, on real Spark."""

from pathlib import Path

import pytest

from ottla.pipelines.lifecycle.application_file import load_app
from ottla.pipelines.planning.explain import explain
from ottla.pipelines.planning.plan import make_plan
from ottla.testing import drive

EXAMPLES = Path(__file__).parents[3] / "examples"
pytestmark = pytest.mark.timeout(400)
T0 = 1_767_225_600_000


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_every_example_plans(path: Path) -> None:
    assert explain(make_plan(load_app(path).definition()))


@pytest.mark.usefixtures("driven")
def test_words_are_counted() -> None:
    with drive(load_app(EXAMPLES / "word_count.py")) as d:
        d.send("lines", "To be, or not to be")
        counts = d.table("word-count-counts-changelog")
        assert counts["be"] == {"word": "be", "count": 2}


@pytest.mark.long
@pytest.mark.usefixtures("driven")
def test_a_card_that_was_tried_out_raises_an_alarm() -> None:
    with drive(load_app(EXAMPLES / "fraud.py")) as d:
        for second, amount in enumerate([1.0, 2.0, 3.0, 900.0]):
            d.send("payments", {"amount": amount}, key="card", timestamp_ms=T0 + second * 1000)
        assert d.read("alarms") == [("card", {"card": "card", "amount": 900.0, "small_ones": 3})]


@pytest.mark.long
@pytest.mark.usefixtures("driven")
def test_turnover_is_summed_by_country_and_minute() -> None:
    with drive(load_app(EXAMPLES / "orders.py")) as d:
        d.send("customers", {"name": "Ann", "country": "Czechia"}, key="a")
        for second, amount in [(1, 10.0), (59, 2000.0), (61, 1.0)]:
            at = f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}Z"
            d.send("orders", {"customer": "a", "item": "x", "amount": amount, "at": at})
        turnover = [row["turnover"] for row in d.table("turnover").values()]
        assert sorted(turnover) == [1.0, 2010.0]
        assert [row["amount"] for _, row in d.read("large-orders")] == [2000.0]
