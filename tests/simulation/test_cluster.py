"""Whole clusters under seeds: stories that end well, each with enough in it to be worth telling."""

import os
from collections.abc import Iterable
from inspect import Parameter, isfunction, signature

import pytest

from ottla.replication.fetcher import Fetcher
from ottla.simulation.cluster.world import COPIED, RULED, ClusterWorld
from ottla.simulation.engine.violation import Violation
from ottla.simulation.runs import World, run_seeds
from simulation.hunting import Hunt, must_be_found
from simulation.hunts import OF_CLUSTERS, OF_COPIES

SEEDS = int(os.environ.get("OTTLA_SEEDS", "100"))
SYNCED_SEEDS = 10
MOST_SYNCED_SEEDS = 50
FEWEST_ELECTIONS = 3  # of partitions; two of them are the first
FEWEST_ACKNOWLEDGED = 50
FEWEST_COPIED = 3  # transactions, where there are copiers
FEWEST_RULED = 10  # changes of rules and users, where there is an operator
MUTANTS = {hunt.name: hunt.mutant for hunt in OF_CLUSTERS}


@pytest.mark.timeout(3600)
def test_no_seed_breaks_an_invariant() -> None:
    facts = []
    with run_seeds(World.CLUSTER, range(SEEDS)) as runs:
        for run in runs:
            assert not run.trouble, run.trouble
            facts.append(run.facts)
    assert min(one["elections"] for one in facts) >= FEWEST_ELECTIONS
    assert min(one["acknowledged"] for one in facts) >= FEWEST_ACKNOWLEDGED
    assert min(one["logs cut"] for one in facts) >= 1
    assert min(one["copied"] for one in facts[::COPIED]) >= FEWEST_COPIED
    assert min(one["rules and users"] for one in facts[RULED::COPIED]) >= FEWEST_RULED


@pytest.mark.timeout(300)
def test_rules_that_are_answered_before_they_are_committed_are_lost_or_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    MUTANTS["the_controller_answers_before_its_records_are_committed"](monkeypatch)
    with pytest.raises(Violation, match=r"(rule|user) n\d+ was (acknowledged|deleted), and "):
        live_ruled(range(RULED + 5 * COPIED, 40 * COPIED, COPIED))


def live_ruled(seeds: Iterable[int]) -> list[ClusterWorld]:
    return [ClusterWorld(seed).run(45.0) for seed in seeds]


@pytest.mark.timeout(900)
def test_all_may_lose_power_at_once_where_acknowledgements_wait_for_the_disks() -> None:
    worlds = live_synced(range(SYNCED_SEEDS))
    assert min(world.acknowledged for world in worlds) >= FEWEST_ACKNOWLEDGED
    cuts = sum("loses power" in line for world in worlds for line in world.story)
    assert cuts >= 3 * SYNCED_SEEDS


@pytest.mark.timeout(900)
def test_followers_that_do_not_wait_for_their_disks_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def go_on(self: Fetcher) -> None:
        pass

    monkeypatch.setattr(Fetcher, "_flush", go_on)
    without_copies = [seed for seed in range(MOST_SYNCED_SEEDS) if seed % COPIED]
    with pytest.raises(Violation, match="acknowledged at"):
        live_synced(without_copies)  # who copies may miss a record before its producer does


def live_synced(seeds: Iterable[int]) -> list[ClusterWorld]:
    return [ClusterWorld(seed, synced=True).run(45.0) for seed in seeds]


@pytest.mark.parametrize("seed", [7, 2 * COPIED, RULED])
def test_the_same_seed_tells_the_same_story(seed: int) -> None:
    first, second = ClusterWorld(seed).run(12.0), ClusterWorld(seed).run(12.0)
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
@pytest.mark.parametrize("hunt", OF_CLUSTERS, ids=str)
def test_a_mutant_is_found(hunt: Hunt) -> None:
    must_be_found(hunt)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("hunt", OF_COPIES, ids=str)
def test_a_mutant_of_coordinators_is_found_by_what_is_copied(hunt: Hunt) -> None:
    must_be_found(hunt)
