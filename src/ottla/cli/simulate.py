"""`ottla simulate`: clusters that live through faults; the same seed, the same story."""

import logging
from concurrent.futures import ProcessPoolExecutor
from enum import StrEnum
from typing import Annotated, NamedTuple

import typer

from ottla.cli.output import out, print_table, progress


class World(StrEnum):
    CLUSTER = "cluster"  # whole nodes and their clients
    QUORUM = "quorum"  # only who leads the metadata log


class Life(NamedTuple):
    """What came of one seed."""

    seed: int
    elections: int
    acknowledged: int
    logs_cut: int
    snapshots: int
    trouble: str  # empty, or the story of how an invariant broke
    story: str = ""


def live(seed: int, seconds: float, kind: World) -> Life:
    return (
        live_in_cluster(seed, seconds) if kind is World.CLUSTER else live_in_quorum(seed, seconds)
    )


def live_in_cluster(seed: int, seconds: float) -> Life:
    from ottla.simulation.cluster_world import ClusterWorld
    from ottla.simulation.quorum_world import Violation

    world = ClusterWorld(seed)
    trouble = ""
    try:
        world.run(seconds)
    except Violation as violation:
        trouble = str(violation)
    cut = world.invariants.truncations
    return Life(seed, world.elections, world.acknowledged, cut, 0, trouble, "\n".join(world.story))


def live_in_quorum(seed: int, seconds: float) -> Life:
    from ottla.simulation.quorum_world import QuorumWorld, Violation

    logging.disable(logging.WARNING)  # torn logs are what it is about
    world = QuorumWorld.from_seed(seed)
    trouble = ""
    try:
        world.run(seconds)
    except Violation as violation:
        trouble = str(violation)
    kept = world.invariants
    return Life(
        seed,
        len(kept.leaders),
        len(world.acknowledged),
        kept.truncations,
        kept.snapshots_loaded,
        trouble,
        "\n".join(world.story),
    )


def simulate(
    seed: Annotated[int, typer.Option(metavar="N", help="The first seed.")] = 0,
    seeds: Annotated[int, typer.Option(metavar="COUNT", help="How many, from there on.")] = 1,
    seconds: Annotated[float, typer.Option(help="Virtual seconds of faults in each.")] = 60.0,
    world: Annotated[World, typer.Option(help="Whole nodes, or their quorum alone.")] = (
        World.CLUSTER
    ),
    story: Annotated[bool, typer.Option("--story", help="Tell what happened.")] = False,
) -> None:
    """Run a cluster in virtual time through crashes, torn disks and cut networks."""
    lives = []
    with ProcessPoolExecutor() as pool, progress(seeds) as bar:
        task = bar.add_task("simulating", total=seeds)
        span = range(seed, seed + seeds)
        for life in pool.map(
            live, span, [seconds] * seeds, [world] * seeds, chunksize=1 + seeds // 200
        ):
            lives.append(life)
            bar.advance(task)
    for life in lives:
        if life.trouble or story:
            out.print(life.trouble or life.story, soft_wrap=True, markup=False)
    shown = lives if seeds <= 20 else [total(lives)]
    columns = [
        "seed" if seeds <= 20 else "seeds",
        "elections",
        "acknowledged",
        "logs cut",
        "snapshots loaded",
        "broken",
    ]
    print_table(columns, [(*life[:5], int(bool(life.trouble))) for life in shown])
    if any(life.trouble for life in lives):
        raise typer.Exit(1)


def total(lives: list[Life]) -> Life:
    """All of them in one line, with their number in the place of the seed."""
    return Life(
        len(lives),
        sum(life.elections for life in lives),
        sum(life.acknowledged for life in lives),
        sum(life.logs_cut for life in lives),
        sum(life.snapshots for life in lives),
        "".join(life.trouble for life in lives),
    )
