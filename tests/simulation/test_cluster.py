"""Whole clusters under seeds: stories that end well, each with enough in it to be worth telling."""

import os
from random import SystemRandom

import pytest

from ottla.simulation.cluster_world import SECONDS, ClusterWorld
from ottla.simulation.quorum_world import Violation
from simulation.cluster_mutants import CLUSTER_MUTANTS, Mutant

SEEDS = int(os.environ.get("OTTLA_CLUSTER_SEEDS", "20"))
MUTANT_SEEDS = 2000
FEWEST_ELECTIONS = 3  # of partitions; two of them are the first
FEWEST_ACKNOWLEDGED = 50


def live_through(seed: int) -> tuple[int, int, int]:
    """Elections, acknowledged batches and cut logs of a run that keeps all invariants."""
    world = ClusterWorld(seed).run(SECONDS)
    return world.elections, world.acknowledged, world.invariants.truncations


@pytest.mark.timeout(1200)
def test_no_seed_breaks_an_invariant() -> None:
    lives = [live_through(seed) for seed in range(SEEDS)]
    assert min(elections for elections, _, _ in lives) >= FEWEST_ELECTIONS
    assert min(acknowledged for _, acknowledged, _ in lives) >= FEWEST_ACKNOWLEDGED
    assert min(cut for _, _, cut in lives) >= 1


def test_the_same_seed_tells_the_same_story() -> None:
    first, second = ClusterWorld(7).run(12.0), ClusterWorld(7).run(12.0)
    assert first.story == second.story
    assert first.loop.steps == second.loop.steps


@pytest.mark.timeout(1200)
@pytest.mark.long
@pytest.mark.parametrize("mutant", CLUSTER_MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_mutant_is_found(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    draw = SystemRandom()
    for _ in range(MUTANT_SEEDS):
        try:
            ClusterWorld(draw.randrange(2**32)).run(SECONDS)
        except Violation:
            return
    pytest.fail(f"{MUTANT_SEEDS} seeds did not find it")
