"""Groups under seeds: members come, die and miss answers, the coordinator moves, all ends well."""

import os

import pytest

from ottla.simulation.groups.world import GroupWorld
from ottla.simulation.runs import World, run_seeds
from simulation.hunting import Hunt, must_be_found
from simulation.hunts import OF_GROUPS

SEEDS = int(os.environ.get("OTTLA_SEEDS", "200"))


@pytest.mark.timeout(1800)
def test_no_seed_breaks_an_invariant() -> None:
    with run_seeds(World.GROUPS, range(SEEDS)) as runs:
        facts = []
        for run in runs:
            assert not run.trouble, run.trouble
            facts.append(run.facts)
    assert sum(one["moves"] for one in facts) >= SEEDS
    assert min(one["commits"] for one in facts) >= 20


def test_the_same_seed_tells_the_same_story() -> None:
    assert GroupWorld(8).run(20.0).story == GroupWorld(8).run(20.0).story


@pytest.mark.timeout(600)
@pytest.mark.parametrize("hunt", OF_GROUPS, ids=str)
def test_a_mutant_is_found(hunt: Hunt) -> None:
    must_be_found(hunt)
