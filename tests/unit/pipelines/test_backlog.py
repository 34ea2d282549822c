"""How far behind a stage is as it starts. No Spark, no broker."""

from ottla.pipelines import App, string
from ottla.pipelines.lifecycle.backlog import may_catch_up, records_behind
from ottla.pipelines.lifecycle.state import Batch
from ottla.pipelines.planning.plan import make_plan


def reached(*ends: str) -> Batch:
    return Batch(number=1, ends=ends, conf={}, watermark_ms=0, open=False)


def test_what_a_checkpoint_has_read_is_not_behind() -> None:
    ends = {"orders": {0: 100, 1: 50}}
    assert records_behind(reached('{"orders":{"0":90,"1":50}}'), ends, lambda *_: 0) == 10


def test_a_topic_that_is_read_twice_is_as_far_as_its_slower_reader() -> None:
    both = reached('{"orders":{"0":90}}', '{"orders":{"0":20}}')
    assert records_behind(both, {"orders": {0: 100}}, lambda *_: 0) == 80


def test_a_partition_that_is_new_is_read_from_where_it_begins_or_from_its_end() -> None:
    ends = {"orders": {0: 100}}
    assert records_behind(None, ends, lambda *_: 30) == 70
    assert records_behind(None, ends, lambda *_: None) == 0


def test_only_state_in_real_time_catches_up_in_micro_batches() -> None:
    def catching_up(latency: str, *, counted: bool) -> bool:
        app = App("shop", latency=latency)  # type: ignore[arg-type]
        orders = app.stream("orders", value=string())
        if counted:
            orders.group_by_key().count("n").to("out")
        else:
            orders.to("out")
        return may_catch_up(make_plan(app.definition()).stages[0])

    assert catching_up("low", counted=True)
    assert not catching_up("low", counted=False)
    assert not catching_up("throughput", counted=True)
