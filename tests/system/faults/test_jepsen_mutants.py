"""A checker that finds nothing proves nothing: hazards put back into real nodes are found."""

from pathlib import Path

import pytest

from ottla.simulation.checker import check
from system.faults.jepsen import report, run
from system.faults.mutants import MUTANTS

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

SECONDS = 30.0
SEEDS = 5
FAULTS = {"acknowledges_after_its_leadership": ("stop",)}
BY_OTHER_TESTS = {"hands_out_flipped_bits"}
SHORT_SESSIONS = {"broker.session.timeout.ms": "1500", "broker.heartbeat.interval.ms": "500"}


@pytest.mark.parametrize("name", sorted(MUTANTS.keys() - BY_OTHER_TESTS))
def test_a_hazard_that_is_put_back_is_found(tmp_path: Path, name: str) -> None:
    kinds = FAULTS.get(name, ("kill",))
    told = ""
    for seed in range(SEEDS):
        ops, faults = run(
            SECONDS,
            tmp_path / str(seed),
            seed,
            kinds,
            pause_s_max=4.0,
            mutant=name,
            settings=SHORT_SESSIONS,
        )
        found = check(ops)
        told = report(ops, faults, found)
        print(f"{name}, seed {seed}: {', '.join(found) or 'nothing found'}")
        if found:
            return
    pytest.fail(told)
