"""How a mutant is looked for: seed after seed, until a run breaks.

The first seed is the one that broke last time (`found_before.json`), so that `make test` needs one
run for each mutant and can afford all of them. Where that story has changed with the product, seeds
are drawn anew, and pytest's summary says so. `make simulate` (OTTLA_SEEDS) remembers nothing.
`PYTHONPATH=tests python -m simulation.remember` writes down other seeds where a story has changed.
"""

import json
import os
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from random import SystemRandom
from typing import NamedTuple

import pytest

from ottla.simulation.runs import SECONDS, World, run_seed, run_seeds

Mutant = Callable[[pytest.MonkeyPatch], None]
FOUND_BEFORE = Path(__file__).with_name("found_before.json")
IS_CAMPAIGN = "OTTLA_SEEDS" in os.environ
MUTANT_SEEDS = {
    World.CLUSTER: 2000,
    World.QUORUM: 2000,
    World.GROUPS: 1000,
    World.TRANSACTIONS: 1000,
}
SHORTER = {World.QUORUM: 12.0}
"""Virtual seconds of a run here, where they are not the usual ones."""


class Hunt(NamedTuple):
    """A mutant, and the seeds that may show it: those with this remainder."""

    world: World
    name: str
    mutant: Mutant
    modulus: int = 1
    remainder: int = 0

    def __str__(self) -> str:
        return self.name

    @property
    def seconds(self) -> float:
        return SHORTER.get(self.world, SECONDS[self.world])

    def drawn(self) -> Iterator[int]:
        draw = SystemRandom()
        while True:
            yield draw.randrange(2**32 // self.modulus) * self.modulus + self.remainder


def must_be_found(hunt: Hunt) -> None:
    before = None if IS_CAMPAIGN else remembered(hunt)
    if before is not None and find(hunt, iter([before])) is not None:
        return
    found = find(hunt)
    most = MUTANT_SEEDS[hunt.world]
    assert found is not None, f"{most} seeds did not find it"
    print(f"{hunt.name} was found after {found.tried} seeds, by {found.seed}")
    if not IS_CAMPAIGN:
        warnings.warn(f"{hunt.name}: not seed {before}, but {found.seed} finds it", stacklevel=2)


class Found(NamedTuple):
    seed: int
    tried: int


def find(hunt: Hunt, seeds: Iterator[int] | None = None) -> Found | None:
    chosen = islice(seeds or hunt.drawn(), MUTANT_SEEDS[hunt.world])
    if hunt.world is World.CLUSTER and seeds is None:
        return _find_in_clusters(hunt, list(chosen))
    with pytest.MonkeyPatch.context() as patch:
        hunt.mutant(patch)
        for tried, seed in enumerate(chosen, 1):
            if _breaks(hunt, seed):
                return Found(seed, tried)
    return None


def _breaks(hunt: Hunt, seed: int) -> bool:
    try:
        return bool(run_seed(hunt.world, seed, hunt.seconds).trouble)
    except Exception:  # of the product, which fell over what the mutant did
        if hunt.world is World.CLUSTER:
            raise
        return True


def _find_in_clusters(hunt: Hunt, seeds: list[int]) -> Found | None:
    """Whole clusters cost most: a process for each core."""
    prepare = partial(_put_back, hunt.mutant)
    with run_seeds(hunt.world, seeds, hunt.seconds, prepare) as runs:
        return next((Found(run.seed, n) for n, run in enumerate(runs, 1) if run.trouble), None)


def _put_back(mutant: Mutant) -> None:
    mutant(pytest.MonkeyPatch())


def remembered(hunt: Hunt) -> int | None:
    """The seed that found it last."""
    return _known().get(hunt.world.value, {}).get(hunt.name)


def remember(hunt: Hunt, seed: int) -> None:
    known = _known()
    known.setdefault(hunt.world.value, {})[hunt.name] = seed
    FOUND_BEFORE.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")


def _known() -> dict[str, dict[str, int]]:
    known: dict[str, dict[str, int]] = json.loads(FOUND_BEFORE.read_text())
    return known
