"""Whole clusters under seeds: stories that end well, each with enough in it to be worth telling."""

import os
from functools import partial
from inspect import Parameter, isfunction, signature
from random import SystemRandom

import pytest

from ottla.simulation.cluster_world import ClusterWorld
from ottla.simulation.lives import World, living
from simulation.cluster_mutants import CLUSTER_MUTANTS, Mutant
from simulation.counting_mutants import COUNTING_MUTANTS

SEEDS = int(os.environ.get("OTTLA_CLUSTER_SEEDS", "1000"))
MUTANT_SEEDS = 2000
FEWEST_ELECTIONS = 3  # of partitions; two of them are the first
FEWEST_ACKNOWLEDGED = 50
MUTANTS = {mutant.__name__: mutant for mutant in (*CLUSTER_MUTANTS, *COUNTING_MUTANTS)}


def put_back(mutant: Mutant) -> None:
    mutant(pytest.MonkeyPatch())


@pytest.mark.timeout(1200)
def test_no_seed_breaks_an_invariant() -> None:
    facts = []
    with living(World.CLUSTER, range(SEEDS)) as lives:
        for life in lives:
            assert not life.trouble, life.trouble
            facts.append(life.facts)
    assert min(one["elections"] for one in facts) >= FEWEST_ELECTIONS
    assert min(one["acknowledged"] for one in facts) >= FEWEST_ACKNOWLEDGED
    assert min(one["logs cut"] for one in facts) >= 1


def test_the_same_seed_tells_the_same_story() -> None:
    first, second = ClusterWorld(7).run(12.0), ClusterWorld(7).run(12.0)
    assert first.story == second.story
    assert first.loop.steps == second.loop.steps


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_called_as_what_it_replaces(name: str) -> None:
    """Else it would be found at once, for nothing but its form."""
    with pytest.MonkeyPatch.context() as patch:
        MUTANTS[name](patch)
        replaced = [(right, getattr(place, what)) for place, what, right in patch._setattr]
    for right, wrong in replaced:
        if isfunction(right) and isfunction(wrong):
            parameters = signature(right).parameters.values()
            named = {p.name: None for p in parameters if p.kind is Parameter.KEYWORD_ONLY}
            signature(wrong).bind(*range(len(parameters) - len(named)), **named)


@pytest.mark.timeout(1200)
@pytest.mark.long
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_found(name: str) -> None:
    draw = SystemRandom()
    seeds = [draw.randrange(2**32) for _ in range(MUTANT_SEEDS)]
    prepare = partial(put_back, MUTANTS[name])
    with living(World.CLUSTER, seeds, prepare=prepare) as lives:
        tried = next((n for n, life in enumerate(lives, 1) if life.trouble), None)
    assert tried is not None, f"{MUTANT_SEEDS} seeds did not find it"
    print(f"{name} was found after {tried} seeds")
