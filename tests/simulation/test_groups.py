"""Groups under seeds: members come, die and miss answers, the coordinator moves, all ends well."""

import os
from collections.abc import Callable
from random import SystemRandom

import pytest

from ottla.simulation.groups.streams_member import StreamsMember
from ottla.simulation.groups.world import KINDS, GroupWorld
from ottla.simulation.runs import SECONDS, World, run_seeds
from simulation.group_mutants import MUTANTS, STREAMS_MUTANTS, Mutant

SEEDS = int(os.environ.get("OTTLA_SEEDS", "1000"))
MUTANT_SEEDS = 1000


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
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_mutant_is_found(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    draw = SystemRandom()
    _find(lambda: draw.randrange(2**32))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("mutant", STREAMS_MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_mutant_of_streams_groups_is_found(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    draw = SystemRandom()
    streams = KINDS.index([StreamsMember])
    _find(lambda: draw.randrange(2**30) * len(KINDS) + streams)


def _find(draw_seed: Callable[[], int]) -> None:
    for number in range(1, MUTANT_SEEDS + 1):
        try:
            GroupWorld(draw_seed()).run(SECONDS[World.GROUPS])
        except Exception:
            print(f"found after {number} seeds")
            return
    pytest.fail(f"{MUTANT_SEEDS} seeds did not find it")
