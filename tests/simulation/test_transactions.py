"""Transactions under seeds: stories that end well, and known bugs that do not."""

import os
from random import SystemRandom

import pytest

from ottla.simulation.runs import SECONDS, World, run_seeds
from ottla.simulation.transactions.world import TransactionWorld
from simulation.transaction_mutants import MUTANTS, Mutant

SEEDS = int(os.environ.get("OTTLA_SEEDS", "1000"))
MUTANT_SEEDS = 1000


@pytest.mark.timeout(3600)
def test_no_seed_breaks_an_invariant() -> None:
    with run_seeds(World.TRANSACTIONS, range(SEEDS)) as runs:
        facts = []
        for run in runs:
            assert not run.trouble, run.trouble
            facts.append(run.facts)
    assert min(one["committed"] for one in facts) >= 1
    assert min(one["moves"] for one in facts) >= 1
    assert sum(one["committed"] for one in facts) >= 10 * SEEDS
    assert sum(one["logs cut"] for one in facts) >= SEEDS
    assert sum(one["zombies"] for one in facts) >= SEEDS


def test_the_same_seed_tells_the_same_story() -> None:
    assert TransactionWorld(8).run(10.0).story == TransactionWorld(8).run(10.0).story


@pytest.mark.timeout(900)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_mutant_is_found(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    draw = SystemRandom()
    for number in range(1, MUTANT_SEEDS + 1):
        try:
            TransactionWorld(draw.randrange(2**32)).run(SECONDS[World.TRANSACTIONS])
        except Exception:
            print(f"{mutant.__name__} was found after {number} seeds")
            return
    pytest.fail(f"{MUTANT_SEEDS} seeds did not find it")
