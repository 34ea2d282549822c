"""Transactions under seeds: stories that end well, and known bugs that do not."""

import logging
import os
from random import SystemRandom

import pytest

from ottla.simulation.transaction_world import TransactionWorld
from simulation.transaction_mutants import MUTANTS, Mutant

SEEDS = int(os.environ.get("OTTLA_SEEDS", "100"))
MUTANT_SEEDS = 2000
VIRTUAL_SECONDS = 20.0


def live_through(seed: int) -> tuple[int, int, int, int]:
    """Committed transactions, moves, cut logs and zombies of a run that keeps all invariants."""
    logging.disable(logging.CRITICAL)
    lived = TransactionWorld(seed).run(VIRTUAL_SECONDS)
    committed = sum(deed.heard and deed.wants == "commit" for deed in lived.deeds.values())
    cuts = sum(partition.cuts for partition in lived.partitions.values())
    return committed, lived.moves + lived.crashes, cuts, lived.zombies


@pytest.mark.timeout(900)
def test_no_seed_breaks_an_invariant() -> None:
    lives = [live_through(seed) for seed in range(SEEDS)]
    committed, moves, cuts, zombies = zip(*lives, strict=True)
    assert min(committed) >= 1
    assert min(moves) >= 1
    assert sum(committed) >= 20 * SEEDS
    assert sum(cuts) >= SEEDS
    assert sum(zombies) >= SEEDS


def test_the_same_seed_tells_the_same_story() -> None:
    logging.disable(logging.CRITICAL)
    assert TransactionWorld(8).run(10.0).story == TransactionWorld(8).run(10.0).story


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.long
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_mutant_is_found(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    logging.disable(logging.CRITICAL)
    mutant(monkeypatch)
    draw = SystemRandom()
    for _ in range(MUTANT_SEEDS):
        try:
            TransactionWorld(draw.randrange(2**32)).run(VIRTUAL_SECONDS)
        except Exception:
            return
    pytest.fail(f"{MUTANT_SEEDS} seeds did not find it")
