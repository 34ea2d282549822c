"""How a command changes a cluster: it shows what would happen, asks, and does it."""

from collections.abc import Callable
from typing import TypeVar

import typer

from ottla.cli.output import err, progress
from ottla.client.changes import Change
from ottla.client.cluster import Cluster

S = TypeVar("S")
P = TypeVar("P")


def carry_out(
    cluster: Cluster,
    change: Change[S, P],
    show: Callable[[P], None],
    *,
    dry_run: bool = False,
    question: str | None = None,
) -> None:
    """Ends the command with code 1 when a part of the change failed."""
    preview = change.preview(change.look(cluster))
    show(preview)
    if dry_run:
        return
    if question is not None:
        typer.confirm(question, abort=True, err=True)
    with progress(1) as bar:
        task = bar.add_task("changing the cluster", total=1)

        def told(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        outcome = change.perform(cluster, preview, told)
    for sentence in outcome.sentences:
        err.print(sentence)
    if outcome.failed:
        raise typer.Exit(1)
