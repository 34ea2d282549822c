"""A partition that this node follows, as consumers near it read it (KIP-392)."""

from collections.abc import Callable

from ottla.log.partition_log import PartitionLog
from ottla.replication.leader import Watched, Watcher, check_epoch


class ReadableFollower:
    """One time of following: it ends with its leader's epoch, and whoever watches is told."""

    __slots__ = ("_moved", "deposed", "epoch", "log", "watchers")

    def __init__(self, log: PartitionLog, epoch: int, moved: Callable[[Watched], None]) -> None:
        self.log = log
        self.epoch = epoch
        self.watchers: dict[Watcher, None] = {}
        self.deposed = False
        self._moved = moved

    def advanced(self) -> None:
        """More is known to be committed."""
        if self.watchers:
            self._moved(self)

    def depose(self) -> None:
        self.deposed = True
        self.advanced()

    def check_epoch(self, current_leader_epoch: int) -> None:
        check_epoch(current_leader_epoch, self.epoch, self.log.topic_partition)
