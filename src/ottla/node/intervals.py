"""How long a node waits before it looks again, where no option of Kafka's says so."""

from typing import NamedTuple

from ottla.log.maintenance import MaintenanceIntervals


class Intervals(NamedTuple):
    metadata_catch_up_s: float = 0.01
    """While a start waits for the metadata to tell of itself."""
    controller_retry_s: float = 0.02
    """After a controller that was not the active one, or did not answer."""
    replica_watch_s: float = 0.5
    """Over disks that are full or damaged, and leaders that the controller does not hear."""
    quorum_fetch_wait_s: float = 0.5
    """At the leader of the metadata log, for something new."""
    maintenance: MaintenanceIntervals = MaintenanceIntervals()


USUAL = Intervals()
