"""`ottla run`: an application of streams and tables, until it is stopped."""

import contextlib
import os
from typing import Annotated

import typer

from ottla.cli.arguments import Target, reaches_a_cluster
from ottla.cli.pipeline import AppFile, Checkpoints, Conf, aimed, settings_of
from ottla.pipelines.runtime.extra import need_extra


@reaches_a_cluster
def run(
    target: Target,
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
    standby: Annotated[
        bool, typer.Option("--standby", help="Wait while another copy runs, then take over.")
    ] = False,
    checkpoints: Checkpoints = None,
    conf: Conf = None,
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
    from ottla.pipelines.lifecycle.application_file import load_app
    from ottla.pipelines.planning.plan import make_plan

    if master:
        os.environ["OTTLA_MASTER"] = master
    target.tell_code()
    need_extra()
    from ottla.pipelines.engine.choosing import prepare
    from ottla.pipelines.engine.options import RunOptions
    from ottla.pipelines.lifecycle.handle import Running
    from ottla.pipelines.lifecycle.running import Runner
    from ottla.pipelines.runtime.settings import LOCAL_MASTER

    options = RunOptions(
        master=master or LOCAL_MASTER,
        replay=replay,
        until_done=until_done,
        ui=ui,
        standby=standby,
        upgrade=upgrade,
        checkpoints=checkpoints,
        conf=settings_of(conf),
        memory=driver_memory,
    )
    prepare(options)  # the file may start Spark as it is read
    plan = make_plan(aimed(load_app(file).definition(), target))
    from ottla.pipelines.lifecycle.views import LiveTable, choose_view

    view = choose_view()
    runner = Runner(plan, options, view)
    with view if isinstance(view, LiveTable) else contextlib.nullcontext():
        Running(runner).wait()
        view.show(runner.status)
    view.say("Stopped." if not until_done else "Done.")
