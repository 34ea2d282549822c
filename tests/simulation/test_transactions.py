"""Transactions under seeds: stories that end well, and known bugs that do not."""

import os

import pytest

from ottla.simulation.runs import World, run_seeds
from ottla.simulation.transactions.world import TransactionWorld
from simulation.hunting import Hunt, must_be_found
from simulation.hunts import OF_TRANSACTIONS

SEEDS = int(os.environ.get("OTTLA_SEEDS", "200"))


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
@pytest.mark.parametrize("hunt", OF_TRANSACTIONS, ids=str)
def test_a_mutant_is_found(hunt: Hunt) -> None:
    must_be_found(hunt)
