"""What the machine knows of its own log: bounds, epochs, how much is synced. No bytes.

It runs ahead of the files: an effect that appends or cuts is noted here when it is decided.
"""

from ottla.log.epoch_table import EpochTable
from ottla.quorum.events import Divergence
from ottla.quorum.snapshots import SnapshotId


class LogState:
    def __init__(
        self,
        epochs: EpochTable,
        *,
        start_offset: int = 0,
        end_offset: int = 0,
        snapshot_id: SnapshotId | None = None,
    ) -> None:
        self.epochs = epochs
        self.start_offset = start_offset
        self.end_offset = end_offset
        self.flushed = end_offset
        self.generation = 0  # counts cuts: a sync begun before a cut says nothing of what followed
        self.snapshot_id = snapshot_id

    @property
    def last_epoch(self) -> int:
        if self.epochs.entries:
            return self.epochs.latest
        return self.snapshot_id.epoch if self.snapshot_id else 0

    def append(self, base_offset: int, next_offset: int, epoch: int) -> None:
        assert base_offset == self.end_offset, (base_offset, self.end_offset)
        self.epochs.assign(epoch, base_offset)
        self.end_offset = next_offset

    def truncate(self, offset: int) -> None:
        self.epochs.truncate_from_end(offset)
        self.end_offset = offset
        self.flushed = min(self.flushed, offset)
        self.generation += 1

    def restart(self, snapshot_id: SnapshotId) -> None:
        self.epochs = EpochTable()
        self.start_offset = self.end_offset = self.flushed = snapshot_id.end_offset
        self.generation += 1
        self.snapshot_id = snapshot_id

    def snapshot_taken(self, snapshot_id: SnapshotId, start_offset: int) -> None:
        self.snapshot_id = snapshot_id
        self.start_offset = start_offset
        self.flushed = max(self.flushed, start_offset)  # what is before is in the snapshot
        self.epochs.truncate_from_start(start_offset)

    def check(self, offset: int, last_epoch: int) -> Divergence | SnapshotId | None:
        """Whether a log that ends at `offset` with `last_epoch` is a part of ours (None), where
        it leaves ours, or the snapshot it should start from."""
        newest = self.snapshot_id if self.snapshot_id and self.snapshot_id.end_offset else None
        if newest is not None and (offset == 0 or offset < self.start_offset):
            return newest
        before = self._epoch_before(offset)
        if offset <= self.end_offset and before == last_epoch:
            return None
        epoch, end = self.epochs.end_of(last_epoch, self.end_offset)
        if newest is not None and (epoch < 0 or before < 0):
            if newest.end_offset == self.start_offset < offset and newest.epoch <= last_epoch:
                return Divergence(newest.epoch, newest.end_offset)
            return newest
        return Divergence(epoch, end) if epoch >= 0 else Divergence(0, 0)

    def _epoch_before(self, offset: int) -> int:
        """The epoch of the record before `offset`; -1 where our log does not go back that far."""
        if offset == 0:
            return 0
        if self.snapshot_id is not None and offset == self.snapshot_id.end_offset:
            return self.snapshot_id.epoch
        return self.epochs.epoch_for(offset - 1)

    def cut_for(self, diverging: Divergence) -> int:
        """Where to cut our log so that it may be a part of the leader's."""
        epoch, end = self.epochs.end_of(diverging.epoch, self.end_offset)
        if epoch == diverging.epoch:
            return min(end, diverging.end_offset)
        return max(end, self.start_offset)
