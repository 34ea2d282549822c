"""The leader epochs of a partition's log, and the file they are kept in."""

from pathlib import Path

from ottla.log.epoch_table import UNDEFINED, EpochStart, EpochTable
from ottla.log.files import read_file
from ottla.ports.disk import write_durably


class LeaderEpochs:
    """`leader-epoch-checkpoint` on disk.

    New epochs are written down with the next flush: until then recovery finds them in the batches.
    What is forgotten is written at once, for batches cannot tell that; unless no file knows it.
    """

    __slots__ = ("_changed", "_stored", "_table", "path")

    def __init__(self, path: Path, entries: list[EpochStart] | None = None) -> None:
        self.path = path
        self._table = EpochTable(entries)
        self._changed = False
        self._stored = False  # there is a file

    def load(self) -> bool:
        """Take over what the file says; nothing, and False, if it is not whole."""
        self._stored = True
        try:
            self._table = EpochTable.parse(read_file(str(self.path)).decode())
        except (OSError, ValueError, TypeError):
            self._table = EpochTable()
            return False
        return True

    @property
    def entries(self) -> tuple[EpochStart, ...]:
        return self._table.entries

    @property
    def latest(self) -> int:
        """The newest epoch, -1 before the first."""
        return self._table.latest

    def assign(self, epoch: int, start_offset: int) -> None:
        if self._table.assign(epoch, start_offset):
            self._changed = True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochStart:
        """The largest epoch known that is not above `epoch`, and where it ended.

        (-1, -1) where nothing can be said: the epoch is newer than any known here.
        """
        if epoch == UNDEFINED or epoch > self._table.latest:
            return EpochStart(UNDEFINED, UNDEFINED)
        found = self._table.end_of(epoch, log_end_offset)
        if found.epoch == UNDEFINED:  # older than all that is left of the log: it ended before it
            return EpochStart(epoch, self._table.entries[0].start_offset)
        return found

    def epoch_for(self, offset: int) -> int:
        """The epoch in which the record at `offset` was written, -1 if not known."""
        return self._table.epoch_for(offset)

    def truncate_from_end(self, offset: int) -> None:
        if self._table.truncate_from_end(offset):
            self._save_forgotten()

    def truncate_from_start(self, offset: int) -> None:
        if self._table.truncate_from_start(offset):
            self._save_forgotten()

    def clear(self) -> None:
        if self._table.entries:
            self._table = EpochTable()
            self._save_forgotten()

    def move_to(self, path: Path) -> None:
        """All that is known goes with the log to another directory."""
        self.path = path
        self.save()

    def _save_forgotten(self) -> None:
        if self._stored:
            self.save()

    def save_if_changed(self) -> None:
        if self._changed:
            self.save()

    def save(self) -> None:
        write_durably(self.path, self._table.render().encode(), None)
        self._changed, self._stored = False, True
