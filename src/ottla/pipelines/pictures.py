"""Pictures of an application for notebooks: its graph, and how every stage fares, live."""

import importlib
import sys
import time
from collections.abc import Iterable
from html import escape
from typing import Any

from ottla.pipelines.definitions import walk
from ottla.pipelines.explain import explain, promise, words
from ottla.pipelines.plan import Plan, Stage
from ottla.pipelines.status import Status
from ottla.pipelines.views import dead_of, lag_of, latency_of

EVERY_S = 1.0
CELL = "padding:2px 10px;text-align:{align};border-bottom:1px solid #8884"


class Explained:
    """`app.explain()`: text where text is shown, a table in a notebook."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def __str__(self) -> str:
        return explain(self.plan)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [
            (_reads(stage), _does(stage), stage.sink.topic, stage.mode, promise(stage))
            for stage in self.plan.stages
        ]
        return _table(self.plan.application.name, ("reads", "does", "writes", "engine", "delivers"),
                      rows)  # fmt: skip


class NotebookView:
    """A picture in the cell's output that renews itself."""

    def __init__(self, notebook: Any) -> None:
        """`notebook` is IPython's module `display`."""
        self._said: list[str] = []
        self._last = 0.0
        self._html = notebook.HTML
        self._handle = notebook.display(self._html(""), display_id=True)

    def say(self, sentence: str) -> None:
        self._said = [*self._said[-4:], sentence]
        self._update("")

    def show(self, status: Status) -> None:
        now = time.monotonic()
        if now - self._last >= EVERY_S:
            self._last = now
            self._update(status_html(status))

    def _update(self, picture: str) -> None:
        said = "<br>".join(escape(sentence) for sentence in self._said)
        self._handle.update(self._html(f"{picture}<small>{said}</small>"))


def notebook_view() -> "NotebookView | None":
    """A view for the notebook that this process belongs to, if it does."""
    if "ipykernel" not in sys.modules:
        return None
    return NotebookView(importlib.import_module("IPython.display"))


def status_html(status: Status) -> str:
    """The graph as a table: what each stage reads and writes, its rates, lag and age."""
    rows = []
    for stage in status.plan.stages:
        progress = status.recorder.of(stage.name)
        rows.append(
            (
                f"{_reads(stage)} → {status.names.get(stage.sink.topic, stage.name)}",
                stage.mode,
                f"{progress.rows:,}",
                f"{progress.rows_per_s:,.0f}",
                latency_of(status, stage),
                f"{lag_of(status, stage.name):,}",
                f"{progress.state_rows:,}" if stage.stateful is not None else "",
                f"{dead_of(status, stage):,}" if stage.dead else "",
            )
        )
    names = ("stage", "engine", "rows", "rows/s", "latency", "lag", "state", "dead")
    failures = "".join(
        f"<div style='color:#c00'>{escape(name)}: {escape(why)}</div>"
        for name, why in status.failures.items()
    )
    title = f"{status.plan.application.name}: {status.phase}"
    return _table(title, names, rows) + failures


def _reads(stage: Stage) -> str:
    return ", ".join(source.topic for source in stage.sources) or "a DataFrame"


def _does(stage: Stage) -> str:
    return " → ".join(said for node in walk(stage.node) if (said := words(node)))


def _table(title: str, names: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    def cells(kind: str, texts: Iterable[str]) -> str:
        return "".join(
            f"<{kind} style='{CELL.format(align='left' if at < 2 else 'right')}'>"
            f"{escape(text)}</{kind}>"
            for at, text in enumerate(texts)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><caption>{escape(title)}</caption><tr>{cells('th', names)}</tr>{body}</table>"
