"""One life in one of the worlds, by its seed; many of them in several processes."""

import gc
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import NamedTuple


class World(StrEnum):
    CLUSTER = "cluster"  # whole nodes and their clients
    QUORUM = "quorum"  # only who leads the metadata log
    GROUPS = "groups"  # a group, its coordinators and members
    TRANSACTIONS = "transactions"  # brokers, producers and readers


SECONDS = {World.CLUSTER: 45.0, World.QUORUM: 60.0, World.GROUPS: 40.0, World.TRANSACTIONS: 20.0}
"""Virtual seconds of faults, where nothing else is said. Those of clusters are mended after that
for another fifteen."""
LIVES_PER_COLLECTION = 10
"""Of garbage: most of what a life makes goes by itself, the rest is some megabytes."""


class Life(NamedTuple):
    """What came of one seed."""

    seed: int
    facts: dict[str, int]
    trouble: str  # empty, or the story of how an invariant broke
    story: str


def live(kind: World, seed: int, seconds: float | None = None) -> Life:
    span = SECONDS[kind] if seconds is None else seconds
    with _quiet():
        match kind:
            case World.CLUSTER:
                return live_in_cluster(seed, span)
            case World.QUORUM:
                return live_in_quorum(seed, span)
            case World.GROUPS:
                return live_in_group(seed, span)
            case World.TRANSACTIONS:
                return live_in_transactions(seed, span)


@contextmanager
def _quiet() -> Iterator[None]:
    """What nodes complain of is what a life is about: its story tells it."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


@contextmanager
def living(
    kind: World,
    seeds: Sequence[int],
    seconds: float | None = None,
    prepare: Callable[[], None] | None = None,
) -> Iterator[Iterator[Life]]:
    """The lives of these seeds in their order, as they come; a process for each core.

    `prepare` is called in each of the processes first.
    """
    count = len(seeds)
    if count == 1 and prepare is None:
        yield iter([live(kind, seeds[0], seconds)])
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Not forked: whoever calls this may have threads, and what they hold would be held for ever.
    pool = ProcessPoolExecutor(
        mp_context=get_context("spawn"), initializer=_begin, initargs=(prepare,)
    )
    try:
        chunk = 1 if prepare else 1 + count // 200
        yield pool.map(_live_apart, [kind] * count, seeds, [seconds] * count, chunksize=chunk)
    finally:
        pool.shutdown(cancel_futures=True)  # whoever found what was searched for needs no more


def _begin(prepare: Callable[[], None] | None) -> None:
    gc.disable()
    if prepare is not None:
        prepare()


def _live_apart(kind: World, seed: int, seconds: float | None) -> Life:
    """Garbage is looked for between lives: what is left of one must not end within another."""
    life = live(kind, seed, seconds)
    if seed % LIVES_PER_COLLECTION == 0:
        gc.collect()
    return life


def live_in_cluster(seed: int, seconds: float) -> Life:
    from ottla.simulation.cluster.world import ClusterWorld
    from ottla.simulation.quorum.world import Violation

    world = ClusterWorld(seed)
    trouble = ""
    try:
        world.run(seconds)
    except Violation as violation:
        trouble = str(violation)
    facts = {
        "elections": world.elections,
        "acknowledged": world.acknowledged,
        "logs cut": world.invariants.truncations,
        "copied": 0 if world.copies is None else world.copies.committed,
    }
    return Life(seed, facts, trouble, "\n".join(world.story))


def live_in_quorum(seed: int, seconds: float) -> Life:
    from ottla.simulation.quorum.world import QuorumWorld, Violation

    world = QuorumWorld.from_seed(seed)
    trouble = ""
    try:
        world.run(seconds)
    except Violation as violation:
        trouble = str(violation)
    kept = world.invariants
    facts = {
        "elections": len(kept.leaders),
        "acknowledged": len(world.acknowledged),
        "logs cut": kept.truncations,
        "snapshots loaded": kept.snapshots_loaded,
    }
    return Life(seed, facts, trouble, "\n".join(world.story))


def live_in_group(seed: int, seconds: float) -> Life:
    from ottla.simulation.groups.world import GroupWorld, Violation

    world = GroupWorld(seed)
    trouble = ""
    try:
        world.run(seconds)
    except Violation as violation:
        trouble = str(violation)
    facts = {"moves": world.moves, "commits": world.commits}
    return Life(seed, facts, trouble, "\n".join(world.story))


def live_in_transactions(seed: int, seconds: float) -> Life:
    from ottla.simulation.transactions.world import TransactionWorld, Violation

    world = TransactionWorld(seed)
    trouble = ""
    try:
        world.run(seconds)
    except Violation as violation:
        trouble = str(violation)
    facts = {
        "committed": sum(deed.heard and deed.wants == "commit" for deed in world.deeds.values()),
        "moves": world.moves + world.crashes,
        "logs cut": sum(partition.cuts for partition in world.partitions.values()),
        "zombies": world.zombies,
    }
    return Life(seed, facts, trouble, "\n".join(world.story))
