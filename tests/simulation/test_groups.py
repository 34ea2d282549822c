"""Groups under seeds: members come, die and miss answers, the coordinator moves, all ends well."""

import logging
import os
from random import SystemRandom

import pytest

from ottla.simulation.group_world import GroupWorld
from simulation.group_mutants import MUTANTS, Mutant

SEEDS = int(os.environ.get("OTTLA_SEEDS", "200"))
MUTANT_SEEDS = 2000
VIRTUAL_SECONDS = 40.0


def live_through(seed: int) -> tuple[int, int]:
    """Moves of the coordinator and commits of a run that keeps all invariants."""
    logging.disable(logging.WARNING)
    lived = GroupWorld(seed).run(VIRTUAL_SECONDS)
    return lived.moves, lived.commits


@pytest.mark.timeout(600)
def test_no_seed_breaks_an_invariant() -> None:
    lives = [live_through(seed) for seed in range(SEEDS)]
    assert sum(moves for moves, _ in lives) >= SEEDS
    assert min(commits for _, commits in lives) >= 20


def test_the_same_seed_tells_the_same_story() -> None:
    logging.disable(logging.WARNING)
    assert GroupWorld(8).run(20.0).story == GroupWorld(8).run(20.0).story


@pytest.mark.timeout(600)
@pytest.mark.long
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_mutant_is_found(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    logging.disable(logging.CRITICAL)
    mutant(monkeypatch)
    draw = SystemRandom()
    for _ in range(MUTANT_SEEDS):
        try:
            GroupWorld(draw.randrange(2**32)).run(VIRTUAL_SECONDS)
        except Exception:
            return
    pytest.fail(f"{MUTANT_SEEDS} seeds did not find it")
