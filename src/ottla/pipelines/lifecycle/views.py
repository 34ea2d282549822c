"""What the person at the terminal sees of a running application: a live table, or plain lines."""

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from ottla.pipelines.lifecycle.progress import lag
from ottla.pipelines.lifecycle.status import Status
from ottla.pipelines.planning.stages import Stage

if TYPE_CHECKING:
    from rich.console import RenderableType

LINE_EVERY_S = 5.0
HISTORY_MS = 3_600_000  # what is older than this is history, not late


class Lines:
    """A line per stage every few seconds, for logs and pipes."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._last = 0.0
        self._seen: dict[str, int] = {}

    def say(self, sentence: str) -> None:
        print(sentence, file=self._out, flush=True)

    def show(self, status: Status) -> None:
        now = time.monotonic()
        if now - self._last < LINE_EVERY_S:
            return
        self._last = now
        for stage in status.plan.stages:
            progress = status.recorder.of(stage.name)
            if progress.rows == self._seen.get(stage.name, 0):
                continue  # nothing new to tell
            self._seen[stage.name] = progress.rows
            self.say(
                f"{stage.name}: {progress.rows:,} rows, {progress.rows_per_s:,.0f}/s, "
                f"latency {latency_of(status, stage) or '?'}, "
                f"lag {lag_of(status, stage.name):,}, "
                f"state {progress.state_rows:,}, late {progress.late_rows:,}, "
                f"{_keyless(progress.keyless_rows)}"
                f"dead {dead_of(status, stage):,}"
            )
        if status.phase == "catch-up":
            self.say(catch_up_line(status))


class LiveTable:
    """A table that renews itself, with rich."""

    def __init__(self) -> None:
        from rich.live import Live

        self._live: Live = Live(refresh_per_second=4, transient=False)

    def __enter__(self) -> "LiveTable":
        self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def say(self, sentence: str) -> None:
        self._live.console.print(sentence, highlight=False)

    def show(self, status: Status) -> None:
        self.draw(render(status))

    def draw(self, picture: "RenderableType") -> None:
        self._live.update(picture)


def render(status: Status) -> "RenderableType":
    """The whole picture: a row per stage, and what is wrong or under way below."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    application = status.plan.application
    table = Table(title=f"{application.name} · {application.bootstrap}", expand=True)
    table.add_column("stage", overflow="fold", min_width=20)
    table.add_column("engine")
    reports = [status.recorder.of(stage.name) for stage in status.plan.stages]
    keyless = ("no key",) if any(report.keyless_rows for report in reports) else ()
    for name in ("rows", "rows/s", "latency", "lag", "state", "late", *keyless, "dead"):
        table.add_column(name, justify="right")
    for stage in status.plan.stages:
        progress = status.recorder.of(stage.name)
        table.add_row(
            status.names.get(stage.name, stage.name),
            stage.mode,
            f"{progress.rows:,}",
            f"{progress.rows_per_s:,.0f}",
            latency_of(status, stage),
            f"{lag_of(status, stage.name):,}",
            f"{progress.state_rows:,}" if stage.stateful is not None else "",
            f"{progress.late_rows:,}" if stage.stateful is not None else "",
            *(f"{progress.keyless_rows:,}" for _ in keyless),
            f"{dead_of(status, stage):,}" if stage.letters else "",
        )
    parts: list[RenderableType] = [table]
    if status.phase == "catch-up":
        parts.append(_bar(status))
    parts += [Text(f"{name}: {reason}", style="red") for name, reason in status.failures.items()]
    if status.ui:
        parts.append(Text(f"Spark's own page: {status.ui}   (Ctrl-C stops)", style="dim"))
    return Group(*parts)


def catch_up_line(status: Status) -> str:
    """How much of the history is done, and how long the rest will take."""
    total, left = _amount(status)
    done = total - left
    share = f"{100 * done / total:.0f} %" if total else "100 %"
    elapsed = time.monotonic() - status.started
    if done and left:
        return f"Caught up with {share}, about {elapsed * left / done:.0f} s to go"
    return f"Caught up with {share}"


def choose_view() -> "LiveTable | Lines":
    return LiveTable() if sys.stdout.isatty() else Lines()


def _bar(status: Status) -> "RenderableType":
    from rich.columns import Columns
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    total, left = _amount(status)
    bar = ProgressBar(total=max(total, 1), completed=total - left, width=40)
    return Columns([bar, Text(catch_up_line(status))])


def _amount(status: Status) -> tuple[int, int]:
    """Records in the part of the history that is being caught up with, and those left."""
    total = sum(sum(partitions.values()) for partitions in status.ends.values())
    reached = status.recorder.slowest(status.plan.stages)
    return total, sum(lag(status.ends, reached).values())


def latency_of(status: Status, stage: Stage) -> str:
    """How old the newest record behind a row is when the row can be read."""
    ms = status.latencies_ms.get(status.names.get(stage.sink.topic, stage.sink.topic))
    if ms is None:
        return ""
    if ms < 10_000:
        return f"{ms:,.0f} ms"
    if ms < HISTORY_MS:
        return f"{ms / 1000:,.0f} s"
    return "history"  # event times of long ago tell nothing about how quick the application is


def _keyless(rows: int) -> str:
    return f"without a key {rows:,}, " if rows else ""


def dead_of(status: Status, stage: Stage) -> int:
    topics = {status.names.get(s.dead_letters or "", "") for s in stage.letters}
    return sum(status.dead.get(topic, 0) for topic in topics)


def lag_of(status: Status, stage_name: str) -> int:
    stage = next(stage for stage in status.plan.stages if stage.name == stage_name)
    names = {status.names.get(source.topic, source.topic) for source in stage.sources}
    return sum(
        records
        for topic, records in status.lags.items()
        if topic in names or any(source.reads(topic) for source in stage.sources)
    )
