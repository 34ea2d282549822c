"""What the person at the terminal sees, as text. No Spark: progress is told as Spark would."""

import importlib
import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from ottla.pipelines import App, json
from ottla.pipelines.lifecycle.handle import interactive
from ottla.pipelines.lifecycle.pictures import notebook_view
from ottla.pipelines.lifecycle.progress import Recorder
from ottla.pipelines.lifecycle.status import Status
from ottla.pipelines.lifecycle.views import Lines, catch_up_line, render
from ottla.pipelines.planning.plan import make_plan

PROGRESS = {
    "numInputRows": 1200,
    "sources": [{"endOffset": {"orders": {"0": 900, "1": 300}}}],
    "stateOperators": [
        {"numRowsTotal": 7, "memoryUsedBytes": 1, "numRowsDroppedByWatermark": 3},
    ],
}


def status() -> Status:
    app = App("shop")
    orders = app.stream("orders", value=json("who STRING, n INT"))
    orders.filter("n > 1").to("large")
    orders.group_by("who").count().to("counts")
    found = Status(make_plan(app.definition()), Recorder())
    for stage in ("large", "counts"):
        found.recorder.note(stage, PROGRESS)
    found.latencies_ms = {"large": 8.4, "counts": 31_000.0}
    found.dead = {"shop-dead-letters": 5}
    found.names = {"large": "large", "counts": "counts", "shop-dead-letters": "shop-dead-letters"}
    found.lags = {"orders": 42}
    return found


def test_lines_tell_rows_latency_lag_state_late_and_dead_records() -> None:
    out = io.StringIO()
    Lines(out).show(status())
    large, counts = out.getvalue().splitlines()
    assert large.startswith("large: 1,200 rows")
    assert "latency 8 ms, lag 42" in large
    assert "dead 5" in large
    assert "latency 31 s" in counts
    assert "state 7, late 3" in counts


def test_the_live_table_has_a_column_for_each() -> None:
    console = Console(width=140, file=io.StringIO(), record=True)
    console.print(render(status()))
    text = console.export_text()
    for name in ("rows/s", "latency", "lag", "state", "late", "dead"):
        assert name in text
    assert "8 ms" in text


def test_a_replay_says_how_much_is_left() -> None:
    found = status()
    found.phase, found.ends = "catch-up", {"orders": {0: 1800, 1: 600}}
    found.started -= 10.0
    assert catch_up_line(found) == "Caught up with 50 %, about 10 s to go"


def test_names_are_whole_in_a_narrow_terminal_and_old_event_times_are_no_latency() -> None:
    found = status()
    long = "orders-of-every-customer-in-the-whole-country"
    found.names |= {"large": long}
    found.latencies_ms = {long: 94_859_289_000.0}
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(render(found))
    text = console.export_text()
    assert "…" not in text
    cells = [line.split("│")[1].strip() for line in text.splitlines() if line.count("│") > 2]
    assert long in "".join(cells)
    assert "history" in text


def test_rows_that_were_dropped_for_want_of_a_key_are_told() -> None:
    found = status()
    found.recorder.note("counts", PROGRESS | {"observedMetrics": {"x": {"ottla_keyless": 4}}})
    out = io.StringIO()
    Lines(out).show(found)
    assert "late 6, without a key 4" in out.getvalue()
    console = Console(width=140, file=io.StringIO(), record=True)
    console.print(render(found))
    assert "no key" in console.export_text()


def test_a_process_that_runs_notebooks_is_none_and_a_kernel_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ipython = importlib.import_module("IPython")
    importlib.import_module("ipykernel")  # as whoever starts kernels does
    assert notebook_view() is None
    assert not interactive()
    monkeypatch.setattr(ipython, "get_ipython", lambda: SimpleNamespace(kernel=object()))
    assert notebook_view() is not None
    assert interactive()
