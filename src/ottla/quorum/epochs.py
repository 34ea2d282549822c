"""Which epoch wrote which offsets: the row of (epoch, first offset) of a log.

Two logs that agree on the epoch of an offset agree on all before it; so truncation is by epochs.
"""

from typing import NamedTuple


class EpochStart(NamedTuple):
    epoch: int
    start: int


class Epochs:
    """A log's epochs, in order. The end of the log is told by the caller."""

    def __init__(self, entries: list[EpochStart] | None = None) -> None:
        self.entries = entries or []

    @property
    def last(self) -> int:
        return self.entries[-1].epoch if self.entries else 0

    def assign(self, epoch: int, start: int) -> bool:
        """Note that `epoch` writes from `start` on; whether that is new."""
        if self.entries and self.entries[-1].epoch >= epoch:
            return False
        while self.entries and self.entries[-1].start >= start:
            self.entries.pop()
        self.entries.append(EpochStart(epoch, start))
        return True

    def end_of(self, epoch: int, log_end: int) -> tuple[int, int]:
        """The largest epoch at or below `epoch`, and where it ends; epoch -1 where none is."""
        end = log_end
        for entry in reversed(self.entries):
            if entry.epoch <= epoch:
                return entry.epoch, end
            end = entry.start
        return -1, -1

    def epoch_at(self, offset: int) -> int:
        """The epoch of the record at `offset`; -1 where the log does not say."""
        for entry in reversed(self.entries):
            if entry.start <= offset:
                return entry.epoch
        return -1

    def cut_from(self, offset: int) -> None:
        """Forget what starts at or beyond `offset`: the log was truncated there."""
        while self.entries and self.entries[-1].start >= offset:
            self.entries.pop()

    def cut_before(self, offset: int) -> None:
        """Forget epochs that end at or before `offset`: the log starts there now."""
        covering = [entry for entry in self.entries if entry.start <= offset]
        if covering:
            kept = [EpochStart(covering[-1].epoch, offset)]
            self.entries = kept + [entry for entry in self.entries if entry.start > offset]

    def to_checkpoint(self) -> bytes:
        lines = [
            "0",
            str(len(self.entries)),
            *(f"{epoch} {start}" for epoch, start in self.entries),
        ]
        return ("\n".join(lines) + "\n").encode()
