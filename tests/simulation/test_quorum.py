"""The quorum under seeds: stories that end well, and known bugs that do not."""

import os

import pytest

from ottla.simulation.quorum.world import QuorumWorld
from ottla.simulation.runs import World
from simulation.hunting import SHORTER, Hunt, must_be_found
from simulation.hunts import OF_QUORUMS

SEEDS = int(os.environ.get("OTTLA_SEEDS", "100"))
VIRTUAL_SECONDS = SHORTER[World.QUORUM]
FEWEST_ELECTIONS = 2
FEWEST_ACKNOWLEDGED = 20


def live_through(seed: int) -> tuple[int, int, int]:
    """Elections, acknowledged values and cut logs of a run that keeps all invariants."""
    lived = QuorumWorld.from_seed(seed).run(VIRTUAL_SECONDS)
    return len(lived.invariants.leaders), len(lived.acknowledged), lived.invariants.truncations


@pytest.mark.timeout(1800)
def test_no_seed_breaks_an_invariant() -> None:
    runs = [live_through(seed) for seed in range(SEEDS)]
    assert min(elections for elections, _, _ in runs) >= FEWEST_ELECTIONS
    assert min(acknowledged for _, acknowledged, _ in runs) >= FEWEST_ACKNOWLEDGED
    assert sum(cut for _, _, cut in runs) >= SEEDS / 4


def test_the_same_seed_tells_the_same_story() -> None:
    assert QuorumWorld.from_seed(7).run(5.0).story == QuorumWorld.from_seed(7).run(5.0).story


@pytest.mark.timeout(600)
@pytest.mark.parametrize("hunt", OF_QUORUMS, ids=str)
def test_a_mutant_is_found(hunt: Hunt) -> None:
    must_be_found(hunt)
