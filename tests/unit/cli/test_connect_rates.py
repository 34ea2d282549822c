"""Rates, lag and errors of two looks; what was not told is unknown."""

from typing import Any

from ottla.cli.connect_rates import Sample, Seen, lines, topics_of
from ottla.cli.connect_top import cells


def status(kind: str, *tasks: str, trace: str = "Broken: pipe\n at line 1") -> dict[str, Any]:
    return {
        "type": kind,
        "connector": {"state": "RUNNING", "worker_id": "w"},
        "tasks": [
            {"id": at, "state": state, **({"trace": trace} if state == "FAILED" else {})}
            for at, state in enumerate(tasks)
        ],
    }


def sink(**stands_at: int) -> Seen:
    """`orders_0=5`: its group stands there."""
    places = {(name[:-2], int(name[-1])): offset for name, offset in stands_at.items()}
    return Seen(
        status=status("sink", "RUNNING", "RUNNING"), config={"topics": "orders"}, stands_at=places
    )


def test_a_sink_is_as_fast_as_its_group_and_lags_behind_the_ends() -> None:
    begins, ends = {("orders", 0): 0, ("orders", 1): 10}, {("orders", 0): 90, ("orders", 1): 30}
    before = Sample(at_s=10, connectors={"out": sink(orders_0=5)}, begins=begins, ends=ends)
    now = Sample(at_s=12, connectors={"out": sink(orders_0=45)}, begins=begins, ends=ends)
    (line,) = lines(before, now)
    assert line.rate == 20
    assert line.lag == 45 + 20  # of partition 1 nothing has been read


def test_a_source_is_as_fast_as_its_topics_grow_and_has_no_lag() -> None:
    seen = Seen(status=status("source", "RUNNING"), config={}, topics=["lines"])
    before = Sample(
        at_s=1, connectors={"in": seen}, begins={}, ends={("lines", 0): 100, ("other", 0): 1}
    )
    now = Sample(
        at_s=3, connectors={"in": seen}, begins={}, ends={("lines", 0): 160, ("other", 0): 99}
    )
    (line,) = lines(before, now)
    assert (line.rate, line.lag) == (30, None)


def test_a_partition_that_is_new_does_not_count_all_that_it_holds() -> None:
    seen = Seen(status=status("source", "RUNNING"), config={}, topics=["lines"])
    before = Sample(at_s=1, connectors={"in": seen}, begins={}, ends={})
    now = Sample(at_s=2, connectors={"in": seen}, begins={}, ends={("lines", 0): 1_000_000})
    assert lines(before, now)[0].rate == 0


def test_what_was_not_told_is_unknown() -> None:
    source = Seen(status=status("source", "RUNNING"), config={}, topics=["lines"])
    untold = Seen(status=status("sink", "RUNNING"), config={"topics": "orders"})
    look = Sample(at_s=1, connectors={"in": source, "out": untold})
    later = Sample(at_s=2, connectors={"in": source, "out": untold})
    for line in lines(look, later):
        assert (line.rate, line.lag, line.dead_letters) == (None, None, None)
    assert [cells(line)[4:6] for line in lines(look, later)] == [("?", None), ("?", "?")]
    assert [line.rate for line in lines(None, look)] == [None, None]


def test_a_sink_s_rate_needs_no_kafka() -> None:
    before = Sample(at_s=1, connectors={"out": sink(orders_0=5)})
    now = Sample(at_s=2, connectors={"out": sink(orders_0=9)})
    assert lines(before, now)[0].rate == 4
    assert lines(before, now)[0].lag is None


def test_failed_tasks_and_dead_letters_are_counted() -> None:
    config = {"topics": "orders", "errors.deadletterqueue.topic.name": "lost"}
    seen = Seen(status=status("sink", "FAILED", "RUNNING"), config=config, stands_at={})
    assert topics_of(seen) == {"orders", "lost"}
    look = Sample(
        at_s=1,
        connectors={"out": seen},
        begins={("lost", 0): 2, ("orders", 0): 0},
        ends={("lost", 0): 7, ("orders", 0): 3},
    )
    (line,) = lines(None, look)
    assert (line.running, line.tasks, line.failed, line.dead_letters) == (1, 2, 1, 5)
    assert line.lag == 3
    assert list(line.traces) == ["Broken: pipe"]
