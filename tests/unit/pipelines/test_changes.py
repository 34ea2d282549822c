"""New code over old state: what every stage is called, and what a change of it means. No Spark."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.errors import OttlaError
from ottla.pipelines import App, Context, Processor, json, session, tumbling
from ottla.pipelines.api.definitions import Plain, Source, StatefulPlain
from ottla.pipelines.api.processors import Row
from ottla.pipelines.api.streams import Stream
from ottla.pipelines.lifecycle.changing import Change, in_words, plan_change, refusal, what_ran
from ottla.pipelines.lifecycle.state import State
from ottla.pipelines.planning.manifest import Kind, Manifest
from ottla.pipelines.planning.plan import make_plan
from ottla.pipelines.runtime.storage import LocalStorage
from ottla.pipelines.runtime.where import DefinitionError

ORDER = "customer STRING, country STRING, amount DOUBLE, n INT"
Build = Callable[[App], None]


def orders_of(app: App, schema: str = ORDER) -> Stream:
    return app.stream("orders", value=json(schema))


def running(build: Build) -> Manifest:
    """The manifest of an application that runs for the first time."""
    app = App("shop")
    build(app)
    return plan_change(app.definition(), None).manifest


def change(old: Build, new: Build) -> Change:
    app = App("shop")
    new(app)
    return plan_change(app.definition(), Manifest.from_json(running(old).to_json()))


def kinds(change: Change) -> dict[str, Kind]:
    return {v.stage: v.kind for v in change.verdicts if "dead-letters" not in v.stage}


def totals(app: App) -> None:
    orders_of(app).group_by("customer").agg(total="sum(amount)").to("totals")


class Frame:
    """A DataFrame, as far as a plan looks at one."""

    def __init__(self, plan: str) -> None:
        self._plan = plan
        self._jdf = self

    def queryExecution(self) -> "Frame":
        return self

    def analyzed(self) -> "Frame":
        return self

    def toString(self) -> str:
        return self._plan


def of_frame(plan: str, kind: type[Plain] = Plain) -> Build:
    def build(app: App) -> None:
        source = orders_of(app).node
        assert isinstance(source, Source)
        node = kind(
            where=source.where, schema=source.schema, frame=Frame(plan), reads=(source,),
            output_mode="append" if kind is Plain else "update",
        )  # fmt: skip
        Stream(app, node).filter("n > 1").to("of-a-frame")

    return build


def test_another_frame_in_the_middle_counts_from_now_on_and_with_state_is_another_state() -> None:
    [same] = change(of_frame("Project [n#1]"), of_frame("Project [n#2]")).verdicts[:1]
    assert same.kind == "same"
    [other] = change(of_frame("Project [n#1]"), of_frame("Project [m#1]")).verdicts[:1]
    assert other.kind == "compatible"
    folded = of_frame("Aggregate [n#1]", StatefulPlain), of_frame("Aggregate [m#1]", StatefulPlain)
    [verdict] = change(*folded).verdicts[:1]
    assert verdict.kind == "rebuild"


def test_a_second_fold_of_a_frame_is_behind_a_topic() -> None:
    app = App("shop")
    source = orders_of(app).node
    assert isinstance(source, Source)
    node = StatefulPlain(
        where=source.where, schema=source.schema, frame=Frame("Aggregate [n#1]"),
        reads=(source,), output_mode="update",
    )  # fmt: skip
    Stream(app, node).group_by("n").count().to("counts")
    stages = make_plan(app.definition()).stages
    assert [stage.name for stage in stages][:2] == ["shop-orders-frame", "counts"]
    assert stages[0].output_mode == "update"


def test_the_same_code_goes_on() -> None:
    assert kinds(change(totals, totals)) == {"totals": "same"}


def test_a_line_added_above_leaves_what_is_below_where_it_is() -> None:
    def joined(app: App) -> None:
        customers = app.table("customers", value=json("town STRING"))
        rows = orders_of(app).key_by("customer").join(customers)
        rows.group_by("town").count().to("by-town")

    def with_a_line_above(app: App) -> None:
        people = app.table("people", value=json("name STRING"))
        orders_of(app).key_by("n").join(people).group_by("name").count().to("by-name")
        joined(app)

    found = change(joined, with_a_line_above)
    assert kinds(found) == {
        "shop-orders-with-people": "new",
        "by-name": "new",
        "shop-orders-with-customers": "same",
        "by-town": "same",
    }


def test_two_of_the_same_title_are_told_apart_by_where_they_lead() -> None:
    def one(app: App) -> None:
        counts = orders_of(app).group_by("customer").count()
        counts.changes().group_by("count").count(name="people").to("histogram")

    def two(app: App) -> None:
        large = orders_of(app).filter("amount > 10").group_by("customer").count()
        large.changes().group_by("count").count(name="people").to("a-histogram-of-large")
        one(app)

    found = change(one, two)
    assert kinds(found) == {
        "shop-orders-by-customer": "same",
        "histogram": "same",
        "shop-orders-by-customer-for-a-histogram-of-large": "new",
        "a-histogram-of-large": "new",
    }


def test_a_state_that_another_sink_comes_to_share_stays_where_it_is() -> None:
    def shared(app: App) -> None:
        counts = orders_of(app).group_by("customer").count()
        counts.filter("count > 5").to("many")
        counts.to("all")

    def alone(app: App) -> None:
        orders_of(app).group_by("customer").count().to("all")

    assert kinds(change(alone, shared)) == {"many": "new", "all": "same"}
    assert kinds(change(shared, alone)) == {
        "shop-orders-by-customer": "same",
        "all": "same",
        "many": "removed",
    }


def test_a_stage_that_comes_back_goes_on_where_it_stopped() -> None:
    def other(app: App) -> None:
        orders_of(app).group_by("country").count().to("by-country")

    def both(app: App) -> None:
        totals(app)
        other(app)

    without = change(both, other)
    assert kinds(without) == {"by-country": "same", "totals": "removed"}
    app = App("shop")
    both(app)
    again = plan_change(app.definition(), Manifest.from_json(without.manifest.to_json()))
    assert kinds(again) == {"totals": "same", "by-country": "same"}


@pytest.mark.parametrize(
    ("new", "kind", "words"),
    [
        (lambda o: o.filter("n > 3").group_by("customer").agg(total="sum(amount)"),
         "compatible", "now: filter n > 3"),
        (lambda o: o.group_by("customer").agg(total="sum(amount)").with_columns(twice="total * 2"),
         "compatible", "now: select customer"),
        (lambda o: o.group_by("customer").agg(sum="sum(amount)"),
         "compatible", "sum=sum(amount)"),
        (lambda o: o.group_by("country").agg(total="sum(amount)"),
         "rebuild", "its key was customer and is country"),
        (lambda o: o.group_by("customer").agg(total="max(amount)"),
         "rebuild", "its aggregates were sum(amount) and are max(amount)"),
        (lambda o: o.group_by("customer").agg(total="sum(amount)", n="count(*)"),
         "rebuild", "its aggregates were sum(amount) and are sum(amount), count(*)"),
        (lambda o: o.group_by("customer").windowed(tumbling("1 minute")).agg(total="sum(amount)"),
         "rebuild", "its window was none and is kind tumbling"),
        (lambda o: o.with_columns(amount="cast(amount AS INT)")
         .group_by("customer").agg(total="sum(amount)"),
         "rebuild", "the type of amount was DOUBLE and is INT"),
    ],
)  # fmt: skip
def test_what_a_change_of_an_aggregate_means(new, kind: Kind, words: str) -> None:  # type: ignore[no-untyped-def]
    found = change(totals, lambda app: new(orders_of(app)).to("totals"))
    assert kinds(found) == {"totals": kind}
    [verdict, *_] = found.verdicts
    assert words in " ".join(verdict.changes)


def windowed(size: str, grace: str = "0 seconds") -> Build:
    def build(app: App) -> None:
        window = tumbling(size, grace=grace)
        orders_of(app).group_by("customer").windowed(window).count().to("out")

    return build


def test_another_window_is_rebuilt_and_another_grace_is_not() -> None:
    assert kinds(change(windowed("1 minute"), windowed("2 minutes"))) == {"out": "rebuild"}
    assert kinds(change(windowed("1 minute"), windowed("1 minute", "5 s"))) == {"out": "compatible"}

    def sessions(app: App) -> None:
        orders_of(app).group_by("customer").windowed(session("1 minute")).count().to("out")

    assert kinds(change(windowed("1 minute"), sessions)) == {"out": "rebuild"}


def test_rows_that_a_join_keeps_may_not_change_and_those_it_passes_may() -> None:
    def joined(order: str = ORDER, customer: str = "town STRING") -> Build:
        def build(app: App) -> None:
            customers = app.table("customers", value=json(customer))
            orders_of(app, order).key_by("customer").join(customers).to("joined")

        return build

    more = change(joined(), joined(customer="town STRING, age INT"))
    assert kinds(more) == {"joined": "rebuild"}
    assert "age was added to the rows it keeps" in (refusal(more) or "")
    assert kinds(change(joined(), joined(f"{ORDER}, x INT"))) == {"joined": "compatible"}


def test_whoever_reads_what_is_rebuilt_is_rebuilt_and_nobody_else() -> None:
    def build(table: str) -> Build:
        def inner(app: App) -> None:
            customers = app.table("customers", value=json(table))
            rows = orders_of(app).key_by("customer").join(customers)
            rows.group_by("town").count().to("by-town")
            orders_of(app).group_by("country").count().to("by-country")

        return inner

    found = change(build("town STRING"), build("town STRING, age INT"))
    assert kinds(found) == {
        "shop-orders-with-customers": "rebuild",
        "by-town": "rebuild",
        "by-country": "same",
    }
    records = found.manifest.stages
    assert records["shop-orders-with-customers"].topic == "shop-orders-with-customers-2"
    assert records["by-town"].topic == "by-town"
    assert records["by-town"].checkpoint == "by-town~2"
    assert records["by-country"].checkpoint == "by-country"


def test_a_rebuilt_reader_of_updates_needs_them_all_not_what_compaction_left() -> None:
    def build(*aggregates: str) -> Build:
        def inner(app: App) -> None:
            counts = orders_of(app).group_by("customer").count()
            grouped = counts.changes().group_by("count")
            grouped.agg(**dict.fromkeys(aggregates, "count(*)")).to("histogram")

        return inner

    found = change(build("people"), build("people", "more"))
    assert kinds(found) == {"shop-orders-by-customer": "rebuild", "histogram": "rebuild"}


def test_another_topic_to_read_is_another_state() -> None:
    def other(app: App) -> None:
        app.stream("sales", value=json(ORDER)).group_by("customer").agg(total="sum(amount)").to(
            "totals"
        )

    assert kinds(change(totals, other)) == {"totals": "rebuild"}


class Twice(Processor):
    returns = "x INT"
    state = {"seen": "n INT"}  # noqa: RUF012

    def process(self, key: str, row: Row, context: Context) -> Iterable[Row]:
        return ()


class Thrice(Twice):
    state = {"seen": "n BIGINT"}  # noqa: RUF012


def test_a_processor_is_its_state() -> None:
    def build(processor: Processor) -> Build:
        return lambda app: orders_of(app).process(processor).to("out")

    assert kinds(change(build(Twice()), build(Twice()))) == {"out": "same"}
    assert kinds(change(build(Twice()), build(Thrice()))) == {"out": "rebuild"}


def test_a_name_fixes_what_the_stage_is_called() -> None:
    def build(key: str) -> Build:
        def inner(app: App) -> None:
            customers = app.table("customers", value=json("town STRING"))
            rows = orders_of(app).key_by(key).join(customers).named("enriched")
            rows.group_by("town").count().to("by-town")

        return inner

    found = change(build("customer"), build("country"))
    assert found.plan.stages[0].name == "shop-enriched"
    with pytest.raises(DefinitionError, match="follows an operator with state"):
        orders_of(App("shop")).named("x")


def test_dead_letters_stay_with_who_carries_them() -> None:
    def one(app: App) -> None:
        orders_of(app).filter("n > 1").to("large")

    def two(app: App) -> None:
        orders_of(app).filter("n > 2").to("larger")
        one(app)

    found = change(one, two)
    assert {s.name for s in found.plan.stages if s.dead} == {"large"}
    assert kinds(found) == {"larger": "new", "large": "same"}


def test_a_refusal_names_the_stage_the_change_and_the_ways_out() -> None:
    found = change(totals, lambda app: orders_of(app).group_by("country").agg(
        total="sum(amount)").to("totals"))  # fmt: skip
    said = refusal(found) or ""
    for words in ("totals", "its key was customer and is country", "--upgrade", "--replay"):
        assert words in said
    assert "totals" in in_words(found)
    assert "must be rebuilt" in in_words(found)
    assert refusal(change(totals, totals)) is None


def checkpoint(folder: Path, name: str, *topics: str) -> None:
    offsets = folder / "1" / name / "offsets"
    offsets.mkdir(parents=True)
    lines = "\n".join(f'{{"{topic}":{{"0":3}}}}' for topic in topics)
    (offsets / "0").write_text(f"v1\n{{}}\n{lines}")


def test_checkpoints_that_were_numbered_are_taken_over(tmp_path: Path) -> None:
    def joined(app: App) -> App:
        customers = app.table("customers", value=json("town STRING"))
        rows = orders_of(app).key_by("customer").join(customers)
        rows.group_by("town").count().to("by-town")
        return app

    app = joined(App("shop"))
    checkpoint(tmp_path, "shop-1-tablejoin", "orders", "customers")
    checkpoint(tmp_path, "by-town", "shop-1-tablejoin")
    checkpoint(tmp_path, "shop-dead-letters", "orders", "customers")
    state = State(LocalStorage(tmp_path), "1", 1)
    old = what_ran(state, app.definition())
    found = plan_change(app.definition(), old)
    assert set(kinds(found).values()) == {"same"}
    record = found.manifest.stages["shop-orders-with-customers"]
    assert (record.topic, record.checkpoint) == ("shop-1-tablejoin", "shop-1-tablejoin")
    assert found.names(1)["shop-orders-with-customers"] == "shop-1-tablejoin"


def test_numbered_checkpoints_that_other_code_made_are_refused(tmp_path: Path) -> None:
    checkpoint(tmp_path, "totals", "sales")
    app = App("shop")
    totals(app)
    with pytest.raises(OttlaError, match="has read sales, where the code reads orders"):
        what_ran(State(LocalStorage(tmp_path), "1", 1), app.definition())


# --- drawn edits of drawn applications ---

SINKS = ("a", "b", "c", "d")
PARTS: dict[str, Callable[[Stream, str], None]] = {
    "count": lambda o, t: o.group_by("customer").count().to(t),
    "sum": lambda o, t: o.group_by("country").agg(total="sum(n)").to(t),
    "window": lambda o, t: o.group_by("n").windowed(tumbling("1 minute")).count().to(t),
    "filter": lambda o, t: o.filter("n > 2").to(t),
    "twice": lambda o, t: o.group_by("customer").count().changes()
    .group_by("count").count(name="people").to(t),
}  # fmt: skip
# How each may be changed, and what that means for the stage that writes the sink.
EDITS: dict[str, dict[str, tuple[Kind, Callable[[Stream, str], None]]]] = {
    "count": {
        "other key": ("rebuild", lambda o, t: o.group_by("n").count().to(t)),
        "a filter": ("compatible", lambda o, t: o.filter("n > 1").group_by("customer").count()
                     .to(t)),
        "a column": ("compatible", lambda o, t: o.group_by("customer").count()
                     .with_columns(more="count + 1").to(t)),
    },
    "sum": {
        "other aggregate": ("rebuild", lambda o, t: o.group_by("country").agg(total="min(n)")
                            .to(t)),
        "a column": ("compatible", lambda o, t: o.group_by("country").agg(total="sum(n)")
                     .with_columns(half="total / 2").to(t)),
    },
    "window": {
        "other window": ("rebuild", lambda o, t: o.group_by("n").windowed(tumbling("1 hour"))
                         .count().to(t)),
    },
    "filter": {
        "other filter": ("compatible", lambda o, t: o.filter("n > 3").to(t)),
        "a column": ("compatible", lambda o, t: o.filter("n > 2").with_columns(m="n + 1").to(t)),
    },
    "twice": {
        "other key": ("rebuild", lambda o, t: o.group_by("country").count().changes()
                      .group_by("count").count(name="people").to(t)),
    },
}  # fmt: skip


@settings(max_examples=100)
@given(data=st.data())
def test_the_verdict_on_drawn_edits_is_right(data: st.DataObject) -> None:
    """Lines are added above, removed, put into another order and changed, each in any number."""
    names = data.draw(st.permutations(SINKS))
    before = {s: data.draw(st.sampled_from(sorted(PARTS))) for s in names[:3]}
    after: dict[str, tuple[Kind, Callable[[Stream, str], None]]] = {}
    for sink in data.draw(st.permutations(SINKS)):
        if sink not in before:
            if data.draw(st.booleans()):
                after[sink] = ("new", PARTS[data.draw(st.sampled_from(sorted(PARTS)))])
            continue
        what = data.draw(st.sampled_from(["same", "same", "remove", *EDITS[before[sink]]]))
        if what == "same":
            after[sink] = ("same", PARTS[before[sink]])
        elif what != "remove":
            after[sink] = EDITS[before[sink]][what]
    if not after:
        return

    def old(app: App) -> None:
        for sink, part in before.items():
            PARTS[part](orders_of(app), sink)

    def new(app: App) -> None:
        for sink, (_, part) in after.items():
            part(orders_of(app), sink)

    found = change(old, new)
    judged = kinds(found)
    for sink, (expected, _) in after.items():
        assert judged[sink] == expected, (before, judged)
    for sink in before.keys() - after.keys():
        assert judged[sink] == "removed"
    used = [record.checkpoint for record in found.manifest.known.values()]
    assert len(set(used)) == len(used)
    topics = [stage.sink.topic for stage in make_plan(_app(new).definition()).stages]
    assert len(set(topics)) == len(topics)


def _app(build: Build) -> App:
    app = App("shop")
    build(app)
    return app
