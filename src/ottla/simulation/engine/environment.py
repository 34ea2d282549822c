"""What a simulated node is given in place of the system's: its clock, its sync, its intervals.

Each host has a wall clock of its own, which may jump, and a disk of its own, which may lie.
"""

import os
from collections.abc import Callable
from pathlib import Path

from ottla.log.maintenance import MaintenanceIntervals
from ottla.node.intervals import Intervals
from ottla.ports.clock import Clock
from ottla.ports.disk import Sync
from ottla.simulation.engine.hosts import Host

EPOCH_S = 1_700_000_000.0
"""When every world begins, as the wall clocks tell it."""

LESS_OFTEN = Intervals(
    quorum_fetch_wait_s=1.0,
    controller_retry_s=0.1,
    metadata_catch_up_s=0.05,
    replica_watch_s=1.0,
    maintenance=MaintenanceIntervals(flush_check_s=1.0, checkpoint_s=8.0),
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
