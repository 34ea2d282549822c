"""One round with three nodes: three replicas, acks=all, two of them required.

Leadership is spread over the nodes, which share the cores with each other and with the client.
Each broker is warmed up before it is measured.
"""

import tempfile
import time
from pathlib import Path

from bench.processes import cpu_seconds, memory_mb
from bench.reach import Reach
from bench.report import Values
from bench.rounds import Load, java, run, throughput, warm_up
from bench.secured import secured_cluster
from support.brokers import Kind
from support.clusters import Cluster, cluster_of
from support.leaders import await_leaders, create_partitions

NODES = 3
JAVA = java("512m")
SETTINGS = {"min.insync.replicas": "2"}
PARTITIONS = 1000
PARTITIONS_MANY = 1500  # as many replicas on each of the three
IDLE_SECONDS = 5
LEADERS_SECONDS_MAX = 120


def loads(*, quick: bool) -> list[Load]:
    part = 10 if quick else 1
    return [
        throughput("100 B", 100, 1_000_000 // part, partitions=6),
        throughput("10 kB", 10_000, 50_000 // part, partitions=6),
        Load(name="latency", work="latency", options={"count": 2000 // part}),
    ]


def measure(kind: Kind, selected: list[Load]) -> Values:
    with (
        tempfile.TemporaryDirectory(prefix="ottla-bench-", ignore_cleanup_errors=True) as folder,
        cluster_of(NODES, Path(folder), SETTINGS, kind, JAVA) as cluster,
    ):
        return under_loads(cluster, Reach(cluster.bootstrap), kind, selected) | many_partitions(
            cluster
        )


def measure_secured(kind: Kind, selected: list[Load]) -> Values:
    """Starts and deaths with many partitions are the same with and without TLS: clients and their
    loads alone."""
    with (
        tempfile.TemporaryDirectory(prefix="ottla-bench-", ignore_cleanup_errors=True) as folder,
        secured_cluster(NODES, Path(folder), SETTINGS, kind, JAVA) as (cluster, reach),
    ):
        return under_loads(cluster, reach, kind, selected)


def under_loads(cluster: Cluster, reach: Reach, kind: Kind, selected: list[Load]) -> Values:
    time.sleep(1)
    values = {"memory idle MB": memory(cluster)}
    for load in warm_up(partitions=6):
        run(load, kind, reach, pids(cluster))
    for load in selected:
        values |= run(load, kind, reach, pids(cluster))
    values["memory loaded MB"] = memory(cluster)
    return values


def many_partitions(cluster: Cluster) -> Values:
    """From a start of all nodes, and from the death of one, until every partition is served."""
    values = {}
    topics: list[str] = []
    created = 0
    for count in (PARTITIONS, PARTITIONS_MANY):
        topics += create_partitions(cluster, count - created, f"many-{count}")
        created = count
        await_leaders(cluster, topics, time.perf_counter(), LEADERS_SECONDS_MAX)
        cluster.stop()
        began = cluster.launch()
        seconds = await_leaders(cluster, topics, began, LEADERS_SECONDS_MAX)
        values[f"start, {count:,} × 3 partitions led: s"] = seconds
        cluster.await_brokers()
    cluster.await_in_sync(topics[-1], [1, 2, 3])
    values[f"{created:,} × 3 partitions, nothing to do: CPU %"] = idle_cpu(cluster)
    values[f"{created:,} × 3 partitions: memory MB"] = memory(cluster)
    cluster.nodes[3].kill9()
    killed = time.perf_counter()
    seconds = await_leaders(cluster, topics, killed, LEADERS_SECONDS_MAX)
    return values | {f"kill -9 of one, {created:,} × 3 partitions led: s": seconds}


def idle_cpu(cluster: Cluster) -> float:
    """Of one core, all nodes together, while no client asks for anything."""
    time.sleep(IDLE_SECONDS)
    before = sum(map(cpu_seconds, pids(cluster)))
    time.sleep(IDLE_SECONDS)
    return 100 * (sum(map(cpu_seconds, pids(cluster))) - before) / IDLE_SECONDS


def pids(cluster: Cluster) -> list[int]:
    return [node.pid for node in cluster.alive()]


def memory(cluster: Cluster) -> float:
    return sum(map(memory_mb, pids(cluster)))
