"""Which leader epoch began where in this log: what followers truncate by (KIP-101, KIP-279)."""

from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple

from ottla.log.files import read_file
from ottla.ports.disk import write_durably

UNDEFINED = -1


class EpochStart(NamedTuple):
    epoch: int
    start_offset: int


class LeaderEpochs:
    """Epochs with their first offsets, both rising; leader-epoch-checkpoint on disk.

    New epochs are written down with the next flush: until then recovery finds them in the batches.
    What is forgotten is written at once, for batches cannot tell that; unless no file knows it.
    """

    __slots__ = ("_changed", "_entries", "_stored", "path")

    def __init__(self, path: Path, entries: list[EpochStart] | None = None) -> None:
        self.path = path
        self._entries = entries or []
        self._changed = False
        self._stored = False  # there is a file

    def load(self) -> bool:
        """Take over what the file says; nothing, and False, if it is not whole."""
        self._stored = True
        try:
            lines = read_file(str(self.path)).decode().split("\n")
            entries = [EpochStart(*map(int, line.split())) for line in lines[2:] if line]
            if int(lines[0]) == 0 and int(lines[1]) == len(entries):
                self._entries = entries
                return True
        except (OSError, ValueError, IndexError, TypeError):
            self._entries = []
        return False

    @property
    def entries(self) -> tuple[EpochStart, ...]:
        return tuple(self._entries)

    @property
    def latest(self) -> int:
        """The newest epoch, -1 before the first."""
        return self._entries[-1].epoch if self._entries else UNDEFINED

    def assign(self, epoch: int, start_offset: int) -> None:
        """Epoch `epoch` begins at `start_offset`, unless it or a later one is known already."""
        entries = self._entries
        if epoch < 0 or (entries and epoch <= entries[-1].epoch):
            return
        while entries and entries[-1].start_offset >= start_offset:
            entries.pop()
        entries.append(EpochStart(epoch, start_offset))
        self._changed = True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochStart:
        """The largest epoch known that is not above `epoch`, and where it ended.

        (-1, -1) where nothing can be said: the epoch is newer than any known here.
        """
        entries = self._entries
        if epoch == UNDEFINED or not entries or epoch > entries[-1].epoch:
            return EpochStart(UNDEFINED, UNDEFINED)
        if epoch == entries[-1].epoch:
            return EpochStart(epoch, log_end_offset)
        above = bisect_right(entries, epoch, key=lambda entry: entry.epoch)
        floor = entries[above - 1].epoch if above else epoch
        return EpochStart(floor, entries[above].start_offset)

    def epoch_for(self, offset: int) -> int:
        """The epoch in which the record at `offset` was written, -1 if not known."""
        above = bisect_right(self._entries, offset, key=lambda entry: entry.start_offset)
        return self._entries[above - 1].epoch if above else UNDEFINED

    def truncate_from_end(self, offset: int) -> None:
        """Forget the epochs that began at `offset` or later."""
        entries = self._entries
        if entries and entries[-1].start_offset >= offset:
            while entries and entries[-1].start_offset >= offset:
                entries.pop()
            self._save_forgotten()

    def truncate_from_start(self, offset: int) -> None:
        """The log begins at `offset` now: so does the epoch that holds it."""
        entries = self._entries
        above = bisect_right(entries, offset, key=lambda entry: entry.start_offset)
        if above and entries[0].start_offset < offset:
            entries[:above] = [EpochStart(entries[above - 1].epoch, offset)]
            self._save_forgotten()

    def clear(self) -> None:
        if self._entries:
            self._entries.clear()
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
        lines = [f"{entry.epoch} {entry.start_offset}\n" for entry in self._entries]
        write_durably(self.path, f"0\n{len(lines)}\n{''.join(lines)}".encode(), None)
        self._changed, self._stored = False, True
