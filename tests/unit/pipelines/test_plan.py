"""Where an application is cut, which engine each stage gets, and how that reads."""

from collections.abc import Iterable

import pytest

from ottla.pipelines import (
    App,
    Context,
    DefinitionError,
    Processor,
    json,
    long,
    session,
    tumbling,
)
from ottla.pipelines.api.processors import Row
from ottla.pipelines.api.streams import Stream
from ottla.pipelines.planning.explain import explain
from ottla.pipelines.planning.plan import Plan, make_plan
from ottla.pipelines.planning.topics import Cluster, topic_names, wanted

ORDER = "customer STRING, amount DOUBLE"


def plan_of(app: App) -> Plan:
    return make_plan(app.definition())


def orders_of(app: App) -> Stream:
    return app.stream("orders", value=json(ORDER))


def test_what_real_time_mode_can_run_gets_it() -> None:
    app = App("a")
    orders = orders_of(app)
    customers = app.table("customers", value=json("country STRING"))
    orders.filter("amount > 1").to("filtered")
    orders.group_by("customer").count().to("counted")
    orders.group_by("customer").windowed(tumbling("1 minute")).count().to("windowed")
    orders.key_by("customer").join(customers).to("joined")
    modes = {stage.name: stage.mode for stage in plan_of(app).stages if not stage.only_dead}
    assert set(modes.values()) == {"real-time"}


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda o: o.map(lambda r: r, ORDER).to("out"), "map() runs a Python function"),
        (lambda o: o.join(o.rename(customer="c", amount="a"), within="1 s").to("out"), "streams"),
        (lambda o: o.group_by("customer").windowed(session("1 s")).count().to("out"), "session"),
        (
            lambda o: o.group_by("customer").windowed(tumbling("1 s")).count().suppress().to("out"),
            "suppress() waits",
        ),
        (lambda o: o.to("out", timestamp="_timestamp"), "cannot set timestamps"),
        (lambda o: o.process(Nothing()).to("out"), "custom processor"),
    ],
)
def test_what_it_cannot_run_gets_micro_batches_and_the_reason(build, why: str) -> None:  # type: ignore[no-untyped-def]
    app = App("a")
    build(orders_of(app))
    [stage] = [stage for stage in plan_of(app).stages if stage.name == "out"]
    assert (stage.mode, stage.delivery) == ("micro-batch", "exactly_once")
    assert why in stage.why


class Nothing(Processor):
    returns = "x INT"

    def process(self, key: str, row: Row, context: Context) -> Iterable[Row]:
        return ()


def test_asking_for_low_latency_where_it_cannot_be_had_is_an_error_with_its_line() -> None:
    app = App("a", latency="low")
    orders_of(app).map(lambda row: row, ORDER).to("out")
    with pytest.raises(DefinitionError, match="runs a Python function") as caught:
        plan_of(app)
    assert caught.value.where.file == __file__


def test_an_application_that_asks_for_exactly_once_gets_it_everywhere() -> None:
    app = App("a", delivery="exactly_once")
    orders_of(app).group_by("customer").count().to("out")
    assert {stage.delivery for stage in plan_of(app).stages} == {"exactly_once"}


def test_a_second_state_starts_a_new_stage_and_rows_that_are_counted_do_not_repeat() -> None:
    app = App("a")
    customers = app.table("customers", value=json("country STRING"))
    joined = orders_of(app).key_by("customer").join(customers)
    joined.group_by("country").count().to("out")
    first, second, *_ = plan_of(app).stages
    assert (first.name, first.internal, first.delivery) == (
        "a-orders-with-customers",
        True,
        "exactly_once",
    )
    assert [source.topic for source in second.sources] == ["a-orders-with-customers"]
    assert second.mode == "real-time"


def test_a_result_that_two_sinks_share_is_computed_once() -> None:
    app = App("a")
    counts = orders_of(app).group_by("customer").count()
    counts.to("all")
    counts.filter("count > 5").to("many")
    names = [stage.name for stage in plan_of(app).stages if not stage.only_dead]
    assert names == ["a-orders-by-customer", "all", "many"]


def test_every_foreign_key_join_has_a_topic_of_its_own() -> None:
    app = App("a")
    orders = app.table("orders", value=json(ORDER))
    customers = app.table("customers", value=json("country STRING"))
    for number in range(5):
        orders.left_join(customers, on="customer").to(f"joined-{number}")
    read = [stage.sources[0].topic for stage in plan_of(app).stages if stage.name[:2] == "jo"]
    assert len(set(read)) == 5


def test_a_join_by_foreign_key_delivers_exactly_once_whatever_is_asked_for() -> None:
    app = App("a", delivery="at_least_once")
    orders = app.table("orders", value=json(ORDER))
    customers = app.table("customers", value=json("country STRING"))
    orders.join(customers, on="customer").to("joined")
    orders.filter("amount > 1").to("large")
    plan = plan_of(app)
    delivery = {stage.name: stage.delivery for stage in plan.stages}
    assert delivery["a-orders-asks-customer"] == delivery["joined"] == "exactly_once"
    assert delivery["large"] == "at_least_once"
    assert "as a join by foreign key always does" in explain(plan)


def test_dead_letters_have_exactly_one_writer() -> None:
    app = App("a")
    orders = orders_of(app)
    orders.filter("amount > 1").to("x")
    orders.filter("amount > 2").to("y")
    orders.group_by("customer").count().to("z")
    writers = [stage.name for stage in plan_of(app).stages if stage.dead]
    assert writers == ["x"]
    lone = App("b")
    orders_of(lone).group_by("customer").count().to("z")
    assert [stage.name for stage in plan_of(lone).stages] == ["z", "b-dead-letters"]
    numbered = App("c")
    numbered.stream("lines", key=long()).to("copied")  # a key may not decode where a value does
    assert [stage.name for stage in plan_of(numbered).stages if stage.dead] == ["copied"]


def test_what_no_stage_can_carry_gets_one_that_names_all_its_topics() -> None:
    app = App("a")
    rates = app.global_table("rates", value=json("rate DOUBLE"))
    orders_of(app).join(rates, on="customer").to("joined")
    late = app.stream("late", value=json("n INT"), dead_letters="broken")
    late.key_by("n").group_by_key().count().to("counts")
    plan = plan_of(app)
    dead = {stage.name: [source.topic for source in stage.dead] for stage in plan.stages}
    assert dead == {"joined": ["orders"], "counts": [], "a-dead-letters": ["rates", "late"]}
    assert "writes    a-dead-letters, broken (records that do not decode)" in explain(plan)


def test_topics_are_made_as_wide_as_what_they_come_from() -> None:
    app = App("a")
    orders_of(app).group_by("customer").count().to("counts")
    plan = plan_of(app)
    made = {topic.name: topic for topic in wanted(plan, Cluster("id", {"orders": 6}), 1)}
    assert made["counts"].partitions == 6
    assert made["counts"].config == {"cleanup.policy": "compact", "retention.ms": "-1"}
    assert made["a-dead-letters"].partitions == 1
    with pytest.raises(DefinitionError, match="the topic orders does not exist"):
        wanted(plan, Cluster("id", {}), 1)


def test_a_replay_writes_beside_what_is_there_and_keeps_it() -> None:
    app = App("a")
    orders_of(app).group_by("customer").count().to("counts")
    plan = plan_of(app)
    assert topic_names(plan, 2)["counts"] == "counts-v2"
    made = {t.name: t.config for t in wanted(plan, Cluster("id", {"orders": 1, "counts": 1}), 2)}
    assert made["counts-v2"]["retention.ms"] == "-1"


def test_topics_that_are_made_keep_what_is_written_unless_the_application_says_for_how_long() -> (
    None
):
    app = App("a")
    customers = app.table("customers", value=json("country STRING"))
    joined = orders_of(app).key_by("customer").join(customers)
    joined.group_by("country").count().to("out", retention="7 days")
    joined.to("joined", retention="1 hour")
    joined.filter("amount > 1").to("kept")
    made = wanted(plan_of(app), Cluster("id", {"orders": 1, "customers": 1}), 1)
    said = {"out": "604800000", "joined": "3600000"}
    for topic in made:
        assert topic.config["retention.ms"] == said.get(topic.name, "-1"), topic
        assert topic.config.get("cleanup.policy") == (
            "compact,delete" if topic.name == "out" else None
        )


def test_a_topic_that_an_application_reads_and_writes_is_made() -> None:
    app = App("a")
    app.stream("rounds", value=json("n INT")).filter("n < 3").select(n="n + 1").to("rounds")
    [made] = [t for t in wanted(plan_of(app), Cluster("id", {}), 1) if t.name == "rounds"]
    assert made.partitions == app.definition().parallelism


def test_explain_says_what_happens_and_what_it_promises() -> None:
    app = App("shop")
    orders_of(app).filter("amount > 10").to("big")
    text = explain(plan_of(app))
    for expected in (
        "reads     orders (stream of json)",
        "does      filter amount > 10",
        "writes    big",
        "records that do not decode go to shop-dead-letters",
        "engine    real-time",
        "at least once: after a failure the last seconds repeat",
    ):
        assert expected in text


def test_explain_says_that_changes_of_a_table_are_updates() -> None:
    app = App("shop")
    counts = orders_of(app).group_by("customer").count()
    counts.changes().group_by("count").count(name="customers").to("histogram")
    counts.to("counts")
    before, said, behind = explain(plan_of(app)).partition("counts updates, not rows")
    assert said
    assert "writes    counts" in before + behind
    assert behind.lstrip().startswith("writes    histogram")
