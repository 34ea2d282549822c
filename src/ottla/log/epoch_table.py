"""Which leader epoch wrote which offsets: the row of (epoch, first offset) of a log. Pure.

Two logs that agree on the epoch of an offset agree on all before it; so truncation is by epochs
(KIP-101, KIP-279). Partitions and the metadata log have one each.
"""

from bisect import bisect_right
from typing import NamedTuple

UNDEFINED = -1


class EpochStart(NamedTuple):
    """An epoch and an offset of it: its first, or in an answer the one where it ended."""

    epoch: int
    start_offset: int


class EpochTable:
    """Epochs with their first offsets, both rising. The end of the log is told by the caller."""

    __slots__ = ("_entries",)

    def __init__(self, entries: list[EpochStart] | None = None) -> None:
        self._entries = entries or []

    @classmethod
    def parse(cls, text: str) -> "EpochTable":
        """What a leader-epoch-checkpoint says; ValueError where it is not whole."""
        lines = text.split("\n")
        entries = [EpochStart(*map(int, line.split())) for line in lines[2:] if line]
        if len(lines) < 2 or int(lines[0]) != 0 or int(lines[1]) != len(entries):
            raise ValueError("not a whole leader-epoch-checkpoint")
        return cls(entries)

    def render(self) -> str:
        lines = [f"{entry.epoch} {entry.start_offset}\n" for entry in self._entries]
        return f"0\n{len(lines)}\n{''.join(lines)}"

    @property
    def entries(self) -> tuple[EpochStart, ...]:
        return tuple(self._entries)

    def copy(self) -> "EpochTable":
        return EpochTable(list(self._entries))

    @property
    def latest(self) -> int:
        """The newest epoch, -1 before the first."""
        return self._entries[-1].epoch if self._entries else UNDEFINED

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Epoch `epoch` begins at `start_offset`, unless it or a later one is known already;
        whether that is new."""
        entries = self._entries
        if epoch < 0 or (entries and epoch <= entries[-1].epoch):
            return False
        while entries and entries[-1].start_offset >= start_offset:
            entries.pop()
        entries.append(EpochStart(epoch, start_offset))
        return True

    def end_of(self, epoch: int, log_end_offset: int) -> EpochStart:
        """The largest epoch that is not above `epoch`, and where it ended; (-1, -1) below all."""
        entries = self._entries
        above = bisect_right(entries, epoch, key=lambda entry: entry.epoch)
        if not above:
            return EpochStart(UNDEFINED, UNDEFINED)
        end = entries[above].start_offset if above < len(entries) else log_end_offset
        return EpochStart(entries[above - 1].epoch, end)

    def epoch_for(self, offset: int) -> int:
        """The epoch in which the record at `offset` was written, -1 if not known."""
        above = bisect_right(self._entries, offset, key=lambda entry: entry.start_offset)
        return self._entries[above - 1].epoch if above else UNDEFINED

    def truncate_from_end(self, offset: int) -> bool:
        """Forget the epochs that began at `offset` or later; whether there were any."""
        entries = self._entries
        known = len(entries)
        while entries and entries[-1].start_offset >= offset:
            entries.pop()
        return len(entries) < known

    def truncate_from_start(self, offset: int) -> bool:
        """The log begins at `offset` now: so does the epoch that holds it. Whether that is new."""
        entries = self._entries
        above = bisect_right(entries, offset, key=lambda entry: entry.start_offset)
        if not above or entries[0].start_offset == offset:
            return False
        entries[:above] = [EpochStart(entries[above - 1].epoch, offset)]
        return True
