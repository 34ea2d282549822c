"""Half a minute of faults on three real nodes leaves no anomaly in what clients saw."""

from pathlib import Path

import pytest

from ottla.simulation.checker import Outcome, check
from system.faults.jepsen import report, run

SECONDS = 25.0
FEWEST_OPERATIONS = 100


@pytest.mark.timeout(300)
def test_no_anomaly_under_faults(tmp_path: Path) -> None:
    ops, faults = run(SECONDS, tmp_path, kinds=("kill", "stop", "disk"))
    found = check(ops)
    told = report(ops, faults, found)
    assert found == {}, told
    assert sum(op.outcome is Outcome.OK for op in ops) >= FEWEST_OPERATIONS, told
    assert faults.total() >= 2, told
