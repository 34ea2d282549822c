"""Two checkouts of Ottla side by side: `python -m bench.revisions BEFORE AFTER [--nodes 1|3] …`.

One client and one driver, this checkout's; only the nodes differ. Each round has both, in an order
that turns. A difference counts where nearly all rounds have it: the last column says in how many of
them the second was worse.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.processes import cpu_seconds, memory_mb
from bench.reach import Reach
from bench.report import Values, machine, more_is_better, number
from bench.rounds import Load, run, throughput, warm_up
from support.brokers import BrokerProcess
from support.clusters import Place, cluster_of
from support.homes import Home

NODES = 3
STARTS = 3
SETTINGS = {"min.insync.replicas": "2"}


def inside(tree: Path) -> tuple[str, ...]:
    """What makes Python find the nodes' program in another checkout."""
    return ("env", f"PYTHONPATH={tree / 'src'}")


def loads(partitions: int) -> list[Load]:
    commits = Load(name="500 groups commit", work="commits", options={"count": 500})
    return [
        throughput("100 B", 100, 500_000, partitions=partitions),
        throughput("10 kB", 10_000, 50_000, partitions=partitions),
        Load(name="latency", work="latency", options={"count": 1000}),
        *([commits] if partitions == 1 else []),  # all are sent to one node
        Load(name="transactions of 1", work="transactions", options={"size": 1, "count": 200}),
    ]


def one_node(tree: Path) -> Values:
    with tempfile.TemporaryDirectory(prefix="ottla-bench-") as folder:
        broker = BrokerProcess("ottla", Home(path=Path(folder) / "node"), inside=inside(tree))
        starts, used = [], []
        try:
            for _ in range(STARTS):
                starts.append(broker.start())
                used.append(cpu_seconds(broker.pid))
                broker.stop()
            broker.start()
            return {
                "start s": statistics.median(starts),
                "start, CPU s": min(used),
                **under_load([broker.pid], broker.bootstrap, partitions=1),
            }
        finally:
            broker.discard()


def three_nodes(tree: Path) -> Values:
    places = {node: Place(inside=inside(tree)) for node in range(1, NODES + 1)}
    with (
        tempfile.TemporaryDirectory(prefix="ottla-bench-", ignore_cleanup_errors=True) as folder,
        cluster_of(NODES, Path(folder), SETTINGS, places=places) as cluster,
    ):
        pids = [node.pid for node in cluster.alive()]
        return under_load(pids, cluster.bootstrap, partitions=6)


def under_load(pids: list[int], bootstrap: str, partitions: int) -> Values:
    time.sleep(1)
    values = {"memory idle MB": sum(map(memory_mb, pids))}
    for load in warm_up(partitions):
        run(load, "ottla", Reach(bootstrap), pids)
    for load in loads(partitions):
        before = sum(map(cpu_seconds, pids))
        values |= run(load, "ottla", Reach(bootstrap), pids)
        if not load.gigabytes:
            values[f"{load.name}: CPU s"] = sum(map(cpu_seconds, pids)) - before
    values["memory loaded MB"] = sum(map(memory_mb, pids))
    return values


def rows(before: list[Values], after: list[Values]) -> list[str]:
    lines = ["| what | before | after | after / before | worse in |", "| --- |" + " ---: |" * 4]
    for name in before[0]:
        both = ((b, a) for b, a in zip(before, after, strict=True) if name in b and name in a)
        pairs = [(b[name], a[name]) for b, a in both]
        if not pairs:
            continue
        ratio = statistics.median(a / b for b, a in pairs)
        worse = sum((a < b) if more_is_better(name) else (a > b) for b, a in pairs)
        medians = (statistics.median(side) for side in zip(*pairs, strict=True))
        cells = (name, *map(number, medians), f"{ratio:.3f}", f"{worse} of {len(pairs)}")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def compile_all(tree: Path) -> None:
    """A start must not compile, whatever PYTHONDONTWRITEBYTECODE says."""
    subprocess.run([sys.executable, "-m", "compileall", "-q", tree / "src"], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.revisions", description=__doc__)
    parser.add_argument("before", type=Path, help="a checkout")
    parser.add_argument("after", type=Path, help="another")
    parser.add_argument("--nodes", type=int, choices=[1, NODES], default=1)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=600, help="begin no round after that")
    parser.add_argument("--keep", type=Path, help="a JSON file that values are added to")
    given = parser.parse_args()
    measure: Callable[[Path], Values] = one_node if given.nodes == 1 else three_nodes
    trees = [given.before.resolve(), given.after.resolve()]
    for tree in trees:
        compile_all(tree)
    kept = given.keep is not None and given.keep.exists()
    sides: list[list[Values]] = json.loads(given.keep.read_text()) if kept else [[], []]
    began = time.monotonic()
    for turn in range(given.rounds):
        if time.monotonic() - began > given.seconds:
            break
        order = (0, 1) if turn % 2 == 0 else (1, 0)
        values = {side: measure(trees[side]) for side in order}
        for side, measured in values.items():
            sides[side].append(measured)
        if given.keep is not None:
            given.keep.write_text(json.dumps(sides))
    print(f"{given.nodes} node(s), {len(sides[0])} rounds, {machine()}\n")
    print("\n".join(rows(*sides)))


if __name__ == "__main__":
    main()
