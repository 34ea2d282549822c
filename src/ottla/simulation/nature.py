"""Time and chance of a simulated process: the real sources are set aside while a world runs.

Nodes ask Python for the time, for random numbers and for fsync, as everybody does. Here those
answer from the virtual clock and the seed; each host has a wall clock of its own, which may jump.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from ottla.broker.fetching import sessions as fetch_sessions
from ottla.controller import controller
from ottla.node.intervals import Intervals
from ottla.node.upkeep import UpkeepIntervals
from ottla.ports.clock import Clock
from ottla.ports.disk import Sync
from ottla.quorum import driver
from ottla.simulation.hosts import Host

EPOCH_S = 1_700_000_000.0
"""When every world begins, as the wall clocks tell it."""

LESS_OFTEN = Intervals(
    quorum_fetch_wait_s=1.0,
    controller_retry_s=0.1,
    metadata_catch_up_s=0.05,
    replica_watch_s=1.0,
    upkeep=UpkeepIntervals(flush_check_s=1.0, checkpoint_s=8.0),
)
"""How long nodes wait before they look again, where nothing is to be seen mostly: a third of all
steps were these."""


def clock_of(host: Host, now: Callable[[], float]) -> Clock:
    """The world's time, as a host's clocks tell it."""
    return Clock(now, lambda: int((EPOCH_S + now() + host.wall_ahead) * 1000))


class Synced:
    """How much of each file is on the disk for sure; by inode, for names change."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}

    def sync_of(self, host: Host) -> Sync:
        def sync(descriptor: int) -> None:
            if host.disk_lies and _holds_records(descriptor):
                return
            status = os.fstat(descriptor)
            self._sizes[status.st_ino] = status.st_size

        return sync

    def size(self, inode: int) -> int:
        return self._sizes.get(inode, 0)


def _holds_records(descriptor: int) -> bool:
    path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
    return path.suffix == ".log" and path.parent.name != "__cluster_metadata-0"


@contextmanager
def replaced(rng: Random) -> Iterator[None]:
    """Let everything that runs in this block live by the world's dice."""

    def randoms() -> Random:
        return Random(rng.random())

    replacements: list[tuple[Any, str, Any]] = [
        (driver, "SystemRandom", randoms),
        (fetch_sessions, "randrange", rng.randrange),
        (controller, "Random", randoms),
        (os, "urandom", rng.randbytes),
    ]
    with ExitStack() as stack:
        for place, name, stand_in in replacements:
            stack.enter_context(patch.object(place, name, stand_in))
        from ottla import ids

        stack.enter_context(patch.object(ids, "urandom", rng.randbytes))
        yield
