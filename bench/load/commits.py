"""A thousand groups that commit, each through a connection of its own."""

from bench.load.nodes import fresh_node
from bench.reach import Reach
from bench.report import Values
from bench.rounds import Load, run
from support.brokers import Kind


def measure(kind: Kind, groups: int) -> Values:
    load = Load(name=f"{groups:,} groups commit", work="commits", options={"count": groups})
    with fresh_node(kind) as broker:
        run(load, kind, Reach(broker.bootstrap), [broker.pid])  # a JVM compiles what it will run
        return run(load, kind, Reach(broker.bootstrap), [broker.pid])
