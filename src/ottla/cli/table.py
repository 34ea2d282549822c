"""`ottla table get`: what an application's tables hold."""

import contextlib
import json
import sys
from typing import Annotated

import typer

from ottla.cli.arguments import Target, reaches_a_cluster

app = typer.Typer(no_args_is_help=True, help="Read an application's tables.")


@app.command()
@reaches_a_cluster
def get(
    target: Target,
    application: Annotated[str, typer.Argument(metavar="APP", help="The application's name.")],
    name: Annotated[str, typer.Argument(metavar="TABLE", help="A named table, or a topic.")],
    key: Annotated[str | None, typer.Argument(help="Its key; default: every row.")] = None,
) -> None:
    """Print the latest value of a key, or every row as `key value`."""
    from ottla.pipelines.api.store import TableView

    view = TableView(application, name, connection=target.connection())
    with contextlib.closing(view) as rows:
        if key is None:
            for row in sorted(rows):
                print(row, _shown(rows[row]), sep="\t")
        elif key in rows:
            print(_shown(rows[key]))
        else:
            print(f"ottla: {name} has no row {key}.", file=sys.stderr)
            raise typer.Exit(1)


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
