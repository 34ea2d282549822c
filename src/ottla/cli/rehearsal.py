"""What the class-data archive is made by: applications at work, on a broker of their own.

A join with a window in real time, and the same rows exactly once: most of what an application loads
before its first result. Run as a program by `ottla.pipelines.runtime.archive`, in the background.
"""

import sys
import tempfile
from pathlib import Path

from ottla.client.connection import Connection
from ottla.pipelines.api.app import App
from ottla.pipelines.engine.options import RunOptions
from ottla.pipelines.formats import json
from ottla.pipelines.lifecycle.handle import Running
from ottla.pipelines.lifecycle.running import Runner
from ottla.pipelines.lifecycle.showcase import CUSTOMERS, ORDERS, run_showcase
from ottla.pipelines.lifecycle.views import Lines
from ottla.pipelines.planning.plan import make_plan
from ottla.pipelines.runtime import archive, sessions
from ottla.pipelines.runtime.settings import SparkSettings
from ottla.testing.node import Node

RESULTS = 20
TAKES_AT_MOST_S = 300.0


def rehearse() -> None:
    with Node() as node, tempfile.TemporaryDirectory(prefix="ottla-archive-") as folder:
        state = Path(folder)
        sessions.session(SparkSettings(name="class-data archive", ui=True))
        archive.stand_back(sessions.jvm_pid())
        _live(node.connection, state)
        _until_done(node.bootstrap_servers, state)
        sessions.stop(TAKES_AT_MOST_S)  # the JVM writes the archive meanwhile


def _live(connection: Connection, state: Path) -> None:
    run_showcase(
        connection,
        seconds=TAKES_AT_MOST_S,
        options=RunOptions(state=state, archive=False),
        results_max=RESULTS,
    )


def _until_done(bootstrap: str, state: Path) -> None:
    app = App("rehearsal", bootstrap=bootstrap, delivery="exactly_once")
    orders = app.stream(ORDERS, value=json("customer STRING, item STRING, amount DOUBLE"))
    customers = app.table(CUSTOMERS, value=json("name STRING, country STRING"))
    orders.key_by("customer").join(customers).to("rehearsed")
    orders.group_by("item").agg(n="count(*)").to("counted")
    options = RunOptions(state=state, archive=False, until_done=True)
    Running(Runner(make_plan(app.definition()), options, Lines())).wait()


if __name__ == "__main__":
    archive.make(Path(sys.argv[1]), Path(sys.argv[2]), rehearse)
