"""The replicas of this broker's own, and who waits for them to move: made together, in one step."""

from collections.abc import Callable
from concurrent.futures import Executor
from typing import NamedTuple

from ottla.broker.background import Background
from ottla.broker.durability import Durability
from ottla.broker.waiting import Waiting
from ottla.config import Settings
from ottla.node.active_controller import ActiveController
from ottla.ports.clock import Clock
from ottla.replication.directories import Directories
from ottla.replication.in_sync_changes import InSyncChanges
from ottla.replication.partitions import Partitions


class Replicas(NamedTuple):
    partitions: Partitions
    waiting: Waiting
    durability: Durability


def make_replicas(
    settings: Settings,
    logs: Directories,
    controller: ActiveController,
    broker_epoch: Callable[[], int],
    background: Background,
    threads: Executor,
    clock: Clock,
) -> Replicas:
    node_id, now = settings.topology.node_id, clock.monotonic
    waiting = Waiting(now)
    # The one circle among the parts: leaders propose in-sync sets, and whether a proposal still
    # stands is asked of the partitions.
    changes = InSyncChanges(controller, lambda: partitions, node_id, broker_epoch, now)
    partitions = Partitions(
        node_id, logs, settings, now=now, moved=waiting.moved, proposed=changes.propose
    )
    return Replicas(partitions, waiting, Durability(threads, waiting.moved, background.spawn))
