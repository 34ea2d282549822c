"""What people and scripts get to see: tables, JSON, progress."""

import json
import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

out = Console(highlight=False)
err = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


def print_json(value: object) -> None:
    """One line, so that `jq` and `while read` can follow along."""
    print(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    title: str | None = None,
    empty: str = "",
) -> None:
    """Numbers to the right, a dash for None; no frames and no cut cells for another program."""
    shown = list(rows)
    if not shown and empty:
        err.print(empty)
        return
    if not sys.stdout.isatty():
        for row in shown:
            print("\t".join("-" if cell is None else str(cell) for cell in row))
        return
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for at, column in enumerate(columns):
        numeric = bool(shown) and all(isinstance(row[at], int | None) for row in shown)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in shown:
        table.add_row(*map(_cell, row))
    out.print(table)


def _cell(value: object) -> Text:
    return Text("-" if value is None else f"{value:,}" if type(value) is int else str(value))


def progress(total: int | None) -> Progress:
    """A bar on standard error, only where somebody watches."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn() if total else TextColumn(""),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
