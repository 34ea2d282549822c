"""Pictures of an application for notebooks: its graph, and how every stage fares, live."""

import importlib
import sys
import threading
import time
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from ottla.errors import OttlaError
from ottla.pipelines.api.definitions import walk
from ottla.pipelines.lifecycle.status import Status
from ottla.pipelines.lifecycle.views import dead_of, lag_of, latency_of
from ottla.pipelines.planning.explain import explain, promise, words
from ottla.pipelines.planning.plan import Plan
from ottla.pipelines.planning.stages import Stage

if TYPE_CHECKING:
    from ottla.pipelines.api.store import TableView

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
    return NotebookView(importlib.import_module("IPython.display")) if in_notebook() else None


def in_notebook() -> bool:
    """Whether this process is a notebook's kernel. Who runs notebooks has loaded ipykernel, too."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


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


class LiveFrame:
    """A table in the cell's output that renews itself, from a thread of its own."""

    def __init__(self, view: "TableView", every_s: float, notebook: Any = None) -> None:
        """`notebook` is IPython's module `display`."""
        self._view = view
        self._every_s = every_s
        self._notebook = notebook or importlib.import_module("IPython.display")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> "LiveFrame":
        self._handle = self._notebook.display(self._picture(), display_id=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Leave the picture as it is; the view itself stays open."""
        self._stopping.set()
        self._thread.join(10)

    def _run(self) -> None:
        while not self._stopping.wait(self._every_s):
            try:
                self._view.refresh()
            except OttlaError as error:
                self._handle.update(self._notebook.HTML(escape(str(error))))
                continue  # a broker that is away may be back at the next turn
            self._handle.update(self._picture())

    def _picture(self) -> Any:
        return self._notebook.HTML(self._view._repr_html_())
