"""`ottla pipeline explain|diff|clean`: an application as its code and its checkpoints have it."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ottla.pipelines.extra import need_extra

if TYPE_CHECKING:
    from ottla.pipelines.definitions import Application
    from ottla.pipelines.state import State

app = typer.Typer(no_args_is_help=True, help="Look at an application.")

AppFile = Annotated[Path, typer.Argument(metavar="APP.PY", help="The application's file.")]
Bootstrap = Annotated[
    str | None,
    typer.Option(
        "--bootstrap", "-b", metavar="HOST:PORT", envvar="OTTLA_BOOTSTRAP", help="The brokers."
    ),
]

Checkpoints = Annotated[
    str | None,
    typer.Option(metavar="PLACE", help="Where checkpoints lie: a path, file:, hdfs://, s3a://."),
]


@app.command()
def explain(file: AppFile, bootstrap: Bootstrap = None) -> None:
    """Show the stages of an application, the engine each gets and why, and what it promises."""
    from ottla.pipelines.explain import explain as in_words
    from ottla.pipelines.loading import load_app
    from ottla.pipelines.plan import make_plan

    need_extra()
    definition = load_app(file).definition()
    if bootstrap:
        definition = replace(definition, bootstrap=bootstrap)
    print(in_words(make_plan(definition)))


@app.command()
def diff(file: AppFile, bootstrap: Bootstrap = None, checkpoints: Checkpoints = None) -> None:
    """Show what a start of this code would mean for every stage that runs already."""
    from ottla.pipelines.changing import in_words, plan_change, what_ran

    definition, state = _state_of(file, bootstrap, checkpoints)
    print(in_words(plan_change(definition, what_ran(state, definition))))


@app.command()
def clean(
    file: AppFile,
    bootstrap: Bootstrap = None,
    checkpoints: Checkpoints = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Remove it; otherwise it is only named.")
    ] = False,
) -> None:
    """Name, and with --yes remove, the state of stages that the application no longer has."""
    from ottla.pipelines.cleaning import find_leftovers, remove

    definition, state = _state_of(file, bootstrap, checkpoints)
    found = find_leftovers(definition, state)
    for sentence in found.sentences():
        print(sentence)
    if not found:
        print("There is nothing to remove.")
    elif yes:
        remove(definition, state, found)
        print("Removed.")
    else:
        print("Nothing was removed: --yes removes it.")


def _state_of(
    file: Path, bootstrap: str | None, checkpoints: str | None
) -> "tuple[Application, State]":
    """The application in a file, and where its checkpoints lie."""
    from ottla.pipelines.loading import load_app
    from ottla.pipelines.spark import session
    from ottla.pipelines.state import Generations, state_folder
    from ottla.pipelines.storage import open_storage
    from ottla.pipelines.topics import describe

    definition = load_app(file).definition()
    if bootstrap:
        definition = replace(definition, bootstrap=bootstrap)
    cluster = describe(definition)
    storage = open_storage(checkpoints or definition.checkpoints or state_folder(), session)
    generations = Generations(storage, definition.name, cluster.id)
    return definition, generations.current()
