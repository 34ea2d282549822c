"""`ottla pipeline explain|diff|clean`: an application as its code and its checkpoints have it."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ottla.cli.arguments import Target, reaches_a_cluster
from ottla.errors import OttlaError
from ottla.pipelines.runtime.extra import need_extra

if TYPE_CHECKING:
    from ottla.pipelines.api.definitions import Application
    from ottla.pipelines.lifecycle.state import State

app = typer.Typer(no_args_is_help=True, help="Look at an application.")

AppFile = Annotated[Path, typer.Argument(metavar="APP.PY", help="The application's file.")]

Checkpoints = Annotated[
    str | None,
    typer.Option(metavar="PLACE", help="Where checkpoints lie: a path, file:, hdfs://, s3a://."),
]

Conf = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="spark.NAME=VALUE", help="A setting of Spark's; repeatable."),
]


@app.command()
@reaches_a_cluster
def explain(target: Target, file: AppFile) -> None:
    """Show the stages of an application, the engine each gets and why, and what it promises."""
    from ottla.pipelines.lifecycle.application_file import load_app
    from ottla.pipelines.planning.explain import explain as in_words
    from ottla.pipelines.planning.plan import make_plan

    need_extra()
    definition = aimed(load_app(file).definition(), target)
    print(in_words(make_plan(definition)))


@app.command()
@reaches_a_cluster
def diff(target: Target, file: AppFile, checkpoints: Checkpoints = None, conf: Conf = None) -> None:
    """Show what a start of this code would mean for every stage that runs already."""
    from ottla.pipelines.lifecycle.changing import in_words, plan_change, what_ran

    definition, state = _state_of(file, target, checkpoints, conf)
    print(in_words(plan_change(definition, what_ran(state, definition))))


@app.command()
@reaches_a_cluster
def clean(
    target: Target,
    file: AppFile,
    checkpoints: Checkpoints = None,
    conf: Conf = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Remove it; otherwise it is only named.")
    ] = False,
) -> None:
    """Name, and with --yes remove, the state of stages that the application no longer has."""
    from ottla.pipelines.lifecycle.cleaning import find_leftovers, remove

    definition, state = _state_of(file, target, checkpoints, conf)
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


def aimed(definition: "Application", target: Target) -> "Application":
    """The command line goes before the application's own words."""
    return replace(definition, connection=target.over(definition.connection))


def settings_of(pairs: list[str] | None) -> dict[str, str]:
    found = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name.startswith("spark."):
            raise OttlaError(f"--conf {pair} is no setting of Spark's: write spark.NAME=VALUE.")
        found[name] = value
    return found


def _state_of(
    file: Path, target: Target, checkpoints: str | None, conf: list[str] | None
) -> "tuple[Application, State]":
    """The application in a file, and where its checkpoints lie."""
    from ottla.pipelines.engine.choosing import prepare, start_spark
    from ottla.pipelines.engine.options import RunOptions
    from ottla.pipelines.lifecycle.application_file import load_app
    from ottla.pipelines.lifecycle.brokers import describe
    from ottla.pipelines.lifecycle.state import Generations
    from ottla.pipelines.runtime.storage import open_storage, state_folder

    prepare(RunOptions(conf=settings_of(conf), checkpoints=checkpoints, ui=False))
    definition = aimed(load_app(file).definition(), target)
    cluster = describe(definition)
    location = checkpoints or definition.checkpoints or state_folder()
    storage = open_storage(location, partial(start_spark, definition))
    generations = Generations(storage, definition.name, cluster.id)
    return definition, generations.current()
