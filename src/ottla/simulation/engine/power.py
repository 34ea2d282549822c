"""What is left on a disk when the power goes: what was synced, and by chance some of the rest."""

import os
from pathlib import Path
from random import Random

from ottla.simulation.engine.environment import Synced

SECTOR = 512
APPENDED = (".log",)
"""All others are small, and written at once: where that was without a sync, their checks have to
tell that they are not whole."""


def cut_power(directory: Path, synced: Synced, rng: Random, *, holes: bool = True) -> None:
    for path in sorted(directory.rglob("*")):
        if not path.is_file():
            continue
        status = path.stat()
        safe = min(synced.size(status.st_ino), status.st_size)
        if safe == status.st_size:
            continue
        if path.name.endswith(APPENDED):
            _tear(path, safe, status.st_size, rng, holes)
        elif rng.random() < 0.5:
            os.truncate(path, rng.randint(0, status.st_size))


def _tear(path: Path, safe: int, size: int, rng: Random, holes: bool) -> None:
    """Of the bytes after `safe` a part is left, and of that part not every sector."""
    kept = rng.choice((safe, rng.randint(safe, size), size))
    os.truncate(path, kept)
    with path.open("r+b") as file:
        for start in range(safe, kept, SECTOR):
            if holes and rng.random() < 0.3:
                file.seek(start)
                file.write(bytes(min(SECTOR, kept - start)))
