"""Rows that say their topic, streams of every topic of a pattern, and who tells of bad rows."""

from collections import Counter
from random import Random

import pytest

from ottla.pipelines import App, DefinitionError, expr, json, string
from ottla.pipelines.planning.explain import explain
from ottla.pipelines.planning.manifest import compare, describe
from ottla.pipelines.planning.plan import make_plan
from ottla.pipelines.planning.topics import Cluster, wanted
from ottla.testing import drive

pytestmark = [pytest.mark.usefixtures("driven"), pytest.mark.timeout(500)]
ORDER = "country STRING, n INT NOT NULL"


def test_each_row_goes_to_the_topic_it_says_and_those_are_made(driven: str) -> None:
    app = App("routed")
    orders = app.stream("orders", value=json(ORDER))
    orders.to(expr("concat('to-', country)"), headers={"n": "n"})
    counted = orders.group_by("country").count().changes()
    counted.to(expr("concat('counts-', lower(country))"), name="counts", key="country")
    chance = Random(12)
    said = ["cz", "tr", None, "a b", "", "x" * 250]
    rows = [{"country": chance.choice(said), "n": n} for n in range(30)]
    with drive(app) as d:
        for row in rows[:20]:
            d.send("orders", row, key=str(row["n"]))
        d.settle()
        for row in rows[20:]:
            d.send("orders", row, key=str(row["n"]))
        d.send("orders", {"country": "cz"}, key="bad")
        for country in ("cz", "tr"):
            sent = [(str(row["n"]), row) for row in rows if row["country"] == country]
            found = d.records(f"to-{country}")
            assert [(one.key, one.value) for one in found] == sent
            assert [one.headers["n"] for one in found] == [key.encode() for key, _ in sent]
        counts = Counter(row["country"] for row in rows)
        assert d.table("counts-cz") == {"cz": {"country": "cz", "count": counts["cz"]}}
        letters = d.dead_letters()
        reasons = Counter(
            letter.headers["ottla.reason"].decode()
            for letter in letters
            if isinstance(letter.value, dict) and "n" in letter.value
        )
        told = {None: "the topic is null", "": "'to-'"}
        wrong = {c: counts[c] for c in said[2:]}
        assert reasons["the topic is null"] == wrong[None]
        assert reasons["'to-a b' is no name for a topic"] == wrong["a b"]
        assert reasons[f"'to-{'x' * 250}' is no name for a topic"] == wrong["x" * 250]
        assert told[""] not in reasons  # 'to-' is a name
        assert [one.key for one in letters if one.value == {"country": "cz"}] == ["bad"]


def test_a_table_has_one_topic_and_a_row_s_topic_is_text() -> None:
    app = App("routed")
    orders = app.stream("orders", value=json(ORDER))
    with pytest.raises(DefinitionError, match="a table has one topic"):
        orders.group_by("country").count().to(expr("country"))
    with pytest.raises(DefinitionError, match="'n' is INT, not the name of a topic"):
        orders.to(expr("n"))


def test_an_expression_for_the_topic_is_a_change_that_counts_from_now_on() -> None:
    def plan(route: str, name: str | None) -> object:
        app = App("routed")
        app.stream("orders", value=json(ORDER)).to(expr(route), name=name)
        return make_plan(app.definition())

    old, new = (describe(plan(r, "out")) for r in ("country", "upper(country)"))  # type: ignore[arg-type]
    [verdict] = compare(old, new)
    assert (verdict.kind, verdict.changes) == (
        "compatible",
        ("no longer: topic country", "now: topic upper(country)"),
    )
    unnamed = plan("upper(country)", None)
    assert [stage.name for stage in unnamed.stages] == ["routed-to-upper-country"]  # type: ignore[attr-defined]
    assert "each row to the topic upper(country)" in explain(unnamed)  # type: ignore[arg-type]
    assert "whose topic is none go to routed-dead-letters" in explain(unnamed)  # type: ignore[arg-type]


def test_a_pattern_reads_topics_that_are_made_while_it_runs() -> None:
    app = App("patterned")
    orders = app.stream(pattern="orders-[a-z]+", value=json(ORDER))
    orders.select("n", src="_topic").to("all")
    with drive(app) as d:
        for n, topic in enumerate(("orders-cz", "orders-tr", "orders-cz")):
            d.send(topic, {"country": "c", "n": n})
        assert sorted(row["n"] for _, row in d.read("all")) == [0, 1, 2]
        d.send("orders-de", {"country": "c", "n": 3})
        d.send("orders-de", {"country": "c"}, key="bad")
        [(_, row)] = d.read("all")
        assert row["n"] == 3
        assert row["src"].startswith("orders-de")
        assert [one.key for one in d.dead_letters()] == ["bad"]


def test_a_pattern_must_not_read_what_the_application_writes() -> None:
    app = App("patterned")
    app.stream(pattern="orders-.*", value=string()).to("orders-all")
    with pytest.raises(DefinitionError, match="also reads orders-all, which the application"):
        make_plan(app.definition())
    with pytest.raises(DefinitionError, match="is no regular expression"):
        app.stream(pattern="orders-(")
    with pytest.raises(DefinitionError, match=r"a topic, a list of them or a pattern="):
        app.stream()


def test_topics_are_made_as_wide_as_the_widest_that_a_pattern_finds() -> None:
    app = App("patterned")
    app.stream(pattern="in-.*", value=string()).to("out")
    cluster = Cluster("id", {"in-a": 2, "in-b": 5, "other": 9})
    assert {t.name: t.partitions for t in wanted(make_plan(app.definition()), cluster, 1)} == {
        "out": 5
    }


def test_branches_that_come_together_again_tell_of_a_record_once() -> None:
    app = App("once")

    def picky(row: dict[str, object]) -> dict[str, object]:
        return {"n": 10 // int(str(row["n"]))}

    orders = app.stream("orders", value=json("n INT NOT NULL"))
    low, high, rest = orders.branch("n < 2", "n < 4")
    low.merge(high, rest).to("merged")
    mapped = orders.map(picky, "n INT", on_error="dead_letter")
    small, large = mapped.branch("n < 3")
    small.merge(large.map(picky, "n INT", on_error="dead_letter")).to("mapped")
    with drive(app) as d:
        for n in (0, 1, 2, 10, 3):
            d.send("orders", {"n": n}, key=str(n))
        d.send("orders", {"n": "many"}, key="bad")
        assert sorted(row["n"] for _, row in d.read("merged")) == [0, 1, 2, 3, 10]
        assert sorted(row["n"] for _, row in d.read("mapped")) == [1, 1, 2, 3]
        assert Counter(one.key for one in d.dead_letters()) == {"bad": 1, "0": 1}
