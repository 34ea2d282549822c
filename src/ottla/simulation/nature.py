"""Time and chance of a simulated process: the real sources are set aside while a world runs.

Nodes ask Python for the time, for random numbers and for fsync, as everybody does. Here those
answer from the virtual clock and the seed; each host has a wall clock of its own, which may jump.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from ottla.broker import broker, fetch_sessions
from ottla.controller import controller
from ottla.node import active_controller, node, upkeep
from ottla.quorum import driver, following
from ottla.replication import fetcher
from ottla.simulation.hosts import LIFE

EPOCH_S = 1_700_000_000.0
"""When every world begins, as the wall clocks tell it."""

LESS_OFTEN: dict[tuple[Any, str], float] = {
    (following, "FETCH_WAIT"): 1.0,
    (active_controller, "RETRY_S"): 0.1,
    (node, "CATCH_UP_S"): 0.05,
    (node, "LOOK_S"): 1.0,
    (upkeep, "FLUSH_CHECK_S"): 1.0,
    (upkeep, "CHECKPOINT_S"): 8.0,
}
"""How long nodes wait before they look again, where nothing is to be seen mostly: a third of all
steps were these."""


class Synced:
    """How much of each file is on the disk for sure; by inode, for names change."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}

    def sync(self, descriptor: int) -> None:
        if LIFE.get().host.disk_lies and _holds_records(descriptor):
            return
        status = os.fstat(descriptor)
        self._sizes[status.st_ino] = status.st_size

    def size(self, inode: int) -> int:
        return self._sizes.get(inode, 0)


def _holds_records(descriptor: int) -> bool:
    path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
    return path.suffix == ".log" and path.parent.name != "__cluster_metadata-0"


@contextmanager
def replaced(now: Callable[[], float], rng: Random, synced: Synced) -> Iterator[None]:
    """Let everything that runs in this block live in the world's time, by the world's dice."""

    def wall() -> float:
        return EPOCH_S + now() + LIFE.get().host.wall_ahead

    def wall_ns() -> int:
        return int(wall() * 1e9)

    def randoms() -> Random:
        return Random(rng.random())

    replacements: list[tuple[Any, str, Any]] = [
        (time, "time", wall),
        (time, "time_ns", wall_ns),
        (time, "monotonic", now),
        (broker.Broker, "now", staticmethod(now)),
        (driver, "time", wall),
        (driver, "SystemRandom", randoms),
        *((place, name, seconds) for (place, name), seconds in LESS_OFTEN.items()),
        (fetcher, "time_ns", wall_ns),
        (fetch_sessions, "randrange", rng.randrange),
        (controller, "Random", randoms),
        (os, "urandom", rng.randbytes),
        (os, "fsync", synced.sync),
        (os, "fdatasync", synced.sync),
    ]
    with ExitStack() as stack:
        for place, name, stand_in in replacements:
            stack.enter_context(patch.object(place, name, stand_in))
        from ottla import ids

        stack.enter_context(patch.object(ids, "urandom", rng.randbytes))
        yield
