"""One run in one of the worlds, by its seed; many of them in several processes."""

import gc
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import NamedTuple, Protocol

from ottla.simulation.engine.violation import Violation


class World(StrEnum):
    CLUSTER = "cluster"  # whole nodes and their clients
    QUORUM = "quorum"  # only who leads the metadata log
    GROUPS = "groups"  # a group, its coordinators and members
    TRANSACTIONS = "transactions"  # brokers, producers and readers


SECONDS = {World.CLUSTER: 45.0, World.QUORUM: 60.0, World.GROUPS: 40.0, World.TRANSACTIONS: 20.0}
"""Virtual seconds of faults, where nothing else is said. Those of clusters are mended after that
for another fifteen."""
RUNS_PER_COLLECTION = 10
"""Of garbage: most of what a run makes goes by itself, the rest is some megabytes."""


class Run(NamedTuple):
    """What came of one seed."""

    seed: int
    facts: dict[str, int]
    trouble: str  # empty, or the story of how an invariant broke
    story: str


def run_seed(kind: World, seed: int, seconds: float | None = None) -> Run:
    span = SECONDS[kind] if seconds is None else seconds
    with _quiet():
        match kind:
            case World.CLUSTER:
                return run_cluster(seed, span)
            case World.QUORUM:
                return run_quorum(seed, span)
            case World.GROUPS:
                return run_group(seed, span)
            case World.TRANSACTIONS:
                return run_transactions(seed, span)


@contextmanager
def _quiet() -> Iterator[None]:
    """What nodes complain of is what a run is about: its story tells it."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


@contextmanager
def run_seeds(
    kind: World,
    seeds: Sequence[int],
    seconds: float | None = None,
    prepare: Callable[[], None] | None = None,
) -> Iterator[Iterator[Run]]:
    """The runs of these seeds in their order, as they come; a process for each core.

    `prepare` is called in each of the processes first.
    """
    count = len(seeds)
    if count == 1 and prepare is None:
        yield iter([run_seed(kind, seeds[0], seconds)])
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Not forked: whoever calls this may have threads, and what they hold would be held for ever.
    pool = ProcessPoolExecutor(
        mp_context=get_context("spawn"), initializer=_begin, initargs=(prepare,)
    )
    try:
        chunk = 1 if prepare else 1 + count // 200
        yield pool.map(_run_apart, [kind] * count, seeds, [seconds] * count, chunksize=chunk)
    finally:
        pool.shutdown(cancel_futures=True)  # whoever found what was searched for needs no more


def _begin(prepare: Callable[[], None] | None) -> None:
    gc.disable()
    if prepare is not None:
        prepare()


def _run_apart(kind: World, seed: int, seconds: float | None) -> Run:
    """Garbage is looked for between runs: what is left of one must not end within another."""
    run = run_seed(kind, seed, seconds)
    if seed % RUNS_PER_COLLECTION == 0:
        gc.collect()
    return run


class _Runs(Protocol):
    def run(self, seconds: float) -> object: ...


def _trouble_of(world: _Runs, seconds: float) -> str:
    """The story of how an invariant broke, or nothing."""
    try:
        world.run(seconds)
    except Violation as violation:
        return str(violation)
    return ""


def run_cluster(seed: int, seconds: float) -> Run:
    from ottla.simulation.cluster.world import ClusterWorld

    world = ClusterWorld(seed)
    trouble = _trouble_of(world, seconds)
    facts = {
        "elections": world.elections,
        "acknowledged": world.acknowledged,
        "logs cut": world.invariants.truncations,
        "copied": 0 if world.copies is None else world.copies.committed,
        "rules and users": 0 if world.access is None else world.access.acknowledged,
    }
    return Run(seed, facts, trouble, "\n".join(world.story))


def run_quorum(seed: int, seconds: float) -> Run:
    from ottla.simulation.quorum.world import QuorumWorld

    world = QuorumWorld.from_seed(seed)
    trouble = _trouble_of(world, seconds)
    kept = world.invariants
    facts = {
        "elections": len(kept.leaders),
        "acknowledged": len(world.acknowledged),
        "logs cut": kept.truncations,
        "snapshots loaded": kept.snapshots_loaded,
    }
    return Run(seed, facts, trouble, "\n".join(world.story))


def run_group(seed: int, seconds: float) -> Run:
    from ottla.simulation.groups.world import GroupWorld

    world = GroupWorld(seed)
    trouble = _trouble_of(world, seconds)
    facts = {"moves": world.moves, "commits": world.commits}
    return Run(seed, facts, trouble, "\n".join(world.story))


def run_transactions(seed: int, seconds: float) -> Run:
    from ottla.simulation.transactions.world import TransactionWorld

    world = TransactionWorld(seed)
    trouble = _trouble_of(world, seconds)
    facts = {
        "committed": sum(deed.heard and deed.wants == "commit" for deed in world.deeds.values()),
        "moves": world.moves + world.crashes,
        "logs cut": sum(partition.cuts for partition in world.partitions.values()),
        "zombies": world.zombies,
    }
    return Run(seed, facts, trouble, "\n".join(world.story))
