"""Connectors of Ottla beside Kafka Connect's and Debezium's, as ratios, in one run.

usage: python -m bench.connect [--rounds 2] [--scale 1.0] [--jobs WORDS] [--sides ottla,connect]
       [--write FILE]

One broker of Ottla's and one PostgreSQL under both; workers stand side by side, and work in turns.
Rows per second count to the last row's arrival (in a topic: committed) from the first's, without
start-up; in a table, where a transaction's rows are seen at once, from the connector's beginning.
So the broker's groups wait for no more members. CPU is that of the worker with all its processes,
per million rows: it hardly depends on what else the machine does. A round before the first warms
both up, with a fifth of the rows.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from bench import connect_jobs as jobs
from bench.connect_arrivals import Flow
from bench.connect_jobs import Place
from bench.connect_times import first_records, idle_percent, latency_ms
from bench.connect_workers import NAMES, Name, Side
from bench.report import machine, number, put
from ottla.testing import Node
from support.jars import KAFKA_VERSION
from support.postgres import running_postgres

SECTION = "Connect"


class Job(NamedTuple):
    name: str
    run: Callable[[Place, Side, int], Flow]
    rows: int
    goal: float  # times the anchor's rows per second


JOBS = (
    Job("file source", jobs.file_source, 1_000_000, 1),
    Job("file sink", jobs.file_sink, 1_000_000, 1),
    Job("CDC snapshot", jobs.snapshot, 300_000, 2),
    Job("CDC stream", jobs.stream, 165_000, 1),
    Job("JDBC sink", jobs.jdbc_sink, 200_000, 2),
)
TIMES = ("latency", "idle", "start")


class Line(NamedTuple):
    what: str
    connect: str
    ottla: str
    ratio: str
    goal: str
    met: bool

    def row(self) -> str:
        cells = (self.what, self.connect, self.ottla, self.ratio, self.goal)
        return "| " + " | ".join((*cells, "" if self.met else "behind")) + " |"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.connect", description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--scale", type=float, default=1.0, help="times as many rows")
    parser.add_argument("--jobs", default="", help="only those with one of these words: file,sink")
    parser.add_argument("--sides", default=",".join(NAMES), help="only one of them")
    parser.add_argument("--write", type=Path, help="put the table of a full run into this page")
    return parser.parse_args()


@contextmanager
def place() -> Iterator[Place]:
    with (
        tempfile.TemporaryDirectory(prefix="ottla-bench-") as folder,
        Node(settings={"group.initial.rebalance.delay.ms": 0}) as node,
        running_postgres(shared_buffers="128MB", max_wal_size="4GB") as postgres,
    ):
        yield Place(node.bootstrap_servers, node.pid, postgres, Path(folder))


@contextmanager
def workers(where: Place, names: Sequence[Name]) -> Iterator[dict[Name, Side]]:
    sides = {name: Side.of(name, where.bootstrap) for name in names}
    try:
        for side in sides.values():
            side.start()
        yield sides
    finally:
        for side in sides.values():
            side.close()


def flows(
    where: Place, sides: dict[Name, Side], chosen: Sequence[Job], given: argparse.Namespace
) -> list[Line]:
    found: dict[tuple[str, Name], list[Flow]] = {}
    for job in chosen:
        rows = int(job.rows * given.scale)
        for turn in range(given.rounds + 1):
            for name, side in sides.items():
                flow = job.run(where, side, rows if turn else rows // 5)
                told = {"job": job.name, "side": name, "round": turn, "rows": rows}
                said = {one: round(value, 3) for one, value in asdict(flow).items()}
                print(json.dumps({**told, **said, "per_s": round(flow.rows_per_s)}), flush=True)
                if turn:
                    found.setdefault((job.name, name), []).append(flow)
    if len(sides) < len(NAMES):
        return []
    return [
        line
        for job in chosen
        for line in _lines(job, found[job.name, "connect"], found[job.name, "ottla"], given.scale)
    ]


def _lines(job: Job, connect: list[Flow], ottla: list[Flow], scale: float) -> Iterator[Line]:
    faster = [our.rows_per_s / their.rows_per_s for their, our in zip(connect, ottla, strict=True)]
    theirs, ours = (statistics.median(one.rows_per_s for one in side) for side in (connect, ottla))
    ratio = statistics.median(faster)
    yield Line(
        f"{job.name}: rows/s",
        number(theirs),
        number(ours),
        f"{ratio:.2f}× ({min(faster):.2f} … {max(faster):.2f})",
        f"≥ {job.goal:g}×",
        ratio >= job.goal,
    )
    millions = job.rows * scale / 1e6
    theirs, ours = (statistics.median(one.cpu_s for one in side) for side in (connect, ottla))
    yield Line(
        f"{job.name}: CPU s per million rows",
        number(theirs / millions),
        number(ours / millions),
        f"{theirs / ours:.2f}×",
        "",
        True,
    )


def times(where: Place, sides: dict[Name, Side], given: argparse.Namespace) -> list[Line]:
    told: dict[str, dict[Name, float]] = {}

    def note(what: str, name: Name, value: float) -> None:
        told.setdefault(what, {})[name] = value
        print(json.dumps({"what": what, "side": name, "value": round(value, 3)}), flush=True)

    for name, side in sides.items():
        if _chosen("latency", given):
            p50, p99 = latency_ms(where, side)
            note("CDC, commit to read committed: p50 ms", name, p50)
            note("CDC, commit to read committed: p99 ms", name, p99)
        if _chosen("idle", given):
            note("ten idle connectors: % of a core", name, idle_percent(where, side))
    if _chosen("start", given):
        for side in sides.values():
            side.stop()  # so that it does not take part in the other's start
        for name in sides:
            for what, seconds in first_records(where, name).items():
                note(f"start to first record, {what}: s", name, seconds)
    goals = (("p50", 200.0), ("p99", 500.0), ("idle", 10.0), ("start", 10.0))
    lines = []
    for what, values in told.items():
        goal = next(most for word, most in goals if word in what)
        theirs, ours = (number(values[name]) if name in values else "" for name in NAMES)
        met = values.get("ottla", 0.0) <= goal
        lines.append(Line(what, theirs, ours, "", f"≤ {goal:g}", met))
    return lines


def _chosen(name: str, given: argparse.Namespace) -> bool:
    return any(word in name for word in given.jobs.split(","))


HEADER = """## Connect, the last full run

Kafka Connect {version} (connectors of Debezium 3.6) and Ottla over the same broker, which is
Ottla's, and the same PostgreSQL 15, {rounds} rounds in turn, all of it on the same 2 cores; JSON
with schemas. Sources of both are exactly once (`exactly.once.source.support=enabled`, at Connect
with its `transaction.boundary=poll`); sinks of Connect are at least once, ours exactly once. Rows
per second count from the first row's arrival to the last's, into a table from the connector's
beginning; CPU is the worker's with all its processes. A ratio above 1 means that Ottla is better;
in brackets the smallest and the largest of a round. Repeat it with `make connect-bench`.

{date}, {machine}

| what | Connect | Ottla | ratio | goal | |
| --- | ---: | ---: | ---: | :---: | --- |
"""


def main() -> None:
    given = arguments()
    chosen = [job for job in JOBS if _chosen(job.name, given)]
    names = [name for name in NAMES if name in given.sides.split(",")]
    with place() as where, workers(where, names) as sides:
        lines = flows(where, sides, chosen, given) + times(where, sides, given)
    if len(names) < len(NAMES):
        return
    header = HEADER.format(
        version=KAFKA_VERSION,
        rounds=given.rounds,
        date=time.strftime("%Y-%m-%d"),
        machine=machine(),
    )
    text = header + "".join(f"{line.row()}\n" for line in lines)
    print(text)
    if given.write and not given.jobs:
        put(SECTION, text, given.write)
    sys.exit(any(not line.met for line in lines))


if __name__ == "__main__":
    main()
