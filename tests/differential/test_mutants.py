"""A comparison that finds nothing proves nothing: wrong answers that are put back are found."""

import pytest

from differential.areas import area
from differential.brokers import serving
from differential.mutants import MUTANTS, patched, source_of
from differential.recording import differs, path_of, recorded
from differential.running import run


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_still_fits_its_source(name: str) -> None:
    mutant = MUTANTS[name]
    assert patched(mutant, source_of(mutant.module)) != source_of(mutant.module)


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", [n for n, m in MUTANTS.items() if path_of(area(m.area)).exists()])
def test_a_wrong_answer_that_is_put_back_is_found(name: str) -> None:
    """Within the seeds whose answers are recorded."""
    one = area(MUTANTS[name].area)
    with serving("ottla", one.settings, ("-m", "differential.mutants", name)) as bootstrap:
        for kept in recorded(one):
            drawn = one.sequence(kept.seed, len(kept.answers))
            if differs(drawn, kept.answers, lambda s, p: run(one, s, bootstrap, p)):
                print(f"{name}: found by seed {kept.seed}")
                return
    pytest.fail(f"{name} was not found")
