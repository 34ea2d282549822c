"""`ottla run`, `ottla pipeline explain` and `ottla table get`."""

import contextlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ottla.errors import OttlaError
from ottla.pipelines.extra import need_extra
from ottla.pipelines.java import find_java
from ottla.testing.node import Node

if TYPE_CHECKING:
    from ottla.pipelines.definitions import Application
    from ottla.pipelines.state import State

pipeline = typer.Typer(no_args_is_help=True, help="Look at an application.")
table = typer.Typer(no_args_is_help=True, help="Read an application's tables.")

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


def run(
    file: AppFile,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="A Spark cluster; default: this machine.")
    ] = None,
    replay: Annotated[
        bool,
        typer.Option("--replay", help="All history into fresh output topics, then go on live."),
    ] = False,
    until_done: Annotated[
        bool, typer.Option("--until-done", help="Stop when everything there is was processed.")
    ] = False,
    bootstrap: Bootstrap = None,
    standby: Annotated[
        bool, typer.Option("--standby", help="Wait while another copy runs, then take over.")
    ] = False,
    checkpoints: Checkpoints = None,
    conf: Annotated[
        list[str] | None,
        typer.Option(
            "--conf", metavar="spark.NAME=VALUE", help="A setting of Spark's; repeatable."
        ),
    ] = None,
    driver_memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory of Spark's driver, like 4g.")
    ] = None,
    upgrade: Annotated[
        bool,
        typer.Option(
            "--upgrade",
            help="Rebuild what the code's change asks for beside what runs, and switch.",
        ),
    ] = False,
    ui: Annotated[bool, typer.Option(help="Serve Spark's own web page.")] = True,
) -> None:
    """Run an application until it is stopped (Ctrl-C, SIGTERM)."""
    from ottla.pipelines.loading import load_app
    from ottla.pipelines.plan import make_plan

    if master:
        os.environ["OTTLA_MASTER"] = master
    if bootstrap:
        os.environ["OTTLA_BOOTSTRAP"] = bootstrap
    need_extra()
    from ottla.pipelines.choosing import prepare
    from ottla.pipelines.handle import Running
    from ottla.pipelines.running import Runner
    from ottla.pipelines.spark import LOCAL_MASTER
    from ottla.pipelines.status import RunOptions

    options = RunOptions(
        master=master or LOCAL_MASTER,
        replay=replay,
        until_done=until_done,
        ui=ui,
        standby=standby,
        upgrade=upgrade,
        checkpoints=checkpoints,
        conf=_settings(conf or ()),
        memory=driver_memory,
    )
    prepare(options)  # the file may start Spark as it is read
    definition = load_app(file).definition()
    if bootstrap:
        definition = replace(definition, bootstrap=bootstrap)
    plan = make_plan(definition)
    from ottla.pipelines.views import LiveTable, choose_view

    view = choose_view()
    runner = Runner(plan, options, view)
    with view if isinstance(view, LiveTable) else contextlib.nullcontext():
        Running(runner).wait()
        view.show(runner.status)
    view.say("Stopped." if not until_done else "Done.")


@pipeline.command()
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


@pipeline.command()
def diff(file: AppFile, bootstrap: Bootstrap = None, checkpoints: Checkpoints = None) -> None:
    """Show what a start of this code would mean for every stage that runs already."""
    from ottla.pipelines.changing import in_words, plan_change, what_ran

    definition, state = _state_of(file, bootstrap, checkpoints)
    print(in_words(plan_change(definition, what_ran(state, definition))))


@pipeline.command()
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


@table.command()
def get(
    app: Annotated[str, typer.Argument(help="The application's name.")],
    name: Annotated[str, typer.Argument(metavar="TABLE", help="A named table, or a topic.")],
    key: Annotated[str | None, typer.Argument(help="Its key; default: every row.")] = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Print the latest value of a key, or every row as `key value`."""
    from ottla.pipelines.store import TableView

    with contextlib.closing(TableView(app, name, bootstrap=bootstrap or "localhost:9092")) as rows:
        if key is None:
            for row in sorted(rows):
                print(row, _shown(rows[row]), sep="\t")
        elif key in rows:
            print(_shown(rows[key]))
        else:
            print(f"ottla: {name} has no row {key}.", file=sys.stderr)
            raise typer.Exit(1)


def show_pipeline(rate: int, seconds: float | None) -> None:
    """A broker, orders and customers flowing in, and Spark that joins, windows and sums them."""
    need_extra()
    from ottla.pipelines.showcase import run_showcase
    from ottla.pipelines.spark import stop as stop_spark
    from ottla.pipelines.status import RunOptions

    find_java()  # says what to install before anything has started
    for number in (signal.SIGINT, signal.SIGTERM):  # either ends it cleanly, also from a script
        signal.signal(number, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="ottla-demo-") as folder, Node() as node:
        print(f"broker at {node.bootstrap_servers}", flush=True)
        options = RunOptions(state=Path(folder))
        try:
            results = run_showcase(
                node.bootstrap_servers, rate=rate, seconds=seconds, options=options
            )
        finally:
            stop_spark()
    print(f"{results:,} results. Spark and the broker have stopped.")


def _settings(pairs: Iterable[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.startswith("spark."):
            raise OttlaError(f"--conf {pair} is no setting of Spark's: write spark.NAME=VALUE.")
        found[name] = value
    return found


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
