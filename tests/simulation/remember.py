"""Look at each mutant's seed, and write down another where it finds the mutant no more:
`python -m simulation.remember [cluster-|quorum-|groups-|transactions-]`.
"""

import logging
import sys

from simulation.hunting import find, remember, remembered
from simulation.hunts import ALL


def main(begin: str = "") -> None:
    logging.disable(logging.CRITICAL)
    for hunt in ALL:
        if not f"{hunt.world}-{hunt.name}".startswith(begin):
            continue
        before = remembered(hunt)
        if before is not None and find(hunt, iter([before])) is not None:
            continue
        found = find(hunt, hunt.drawn())
        assert found is not None, f"{hunt.name} was not found"
        print(f"{hunt.world} {hunt.name}: seed {found.seed}, after {found.tried}", flush=True)
        remember(hunt, found.seed)


if __name__ == "__main__":
    main(*sys.argv[1:])
