"""Which voters held from which offset on: a change counts once it is written, not once committed.

So a log that is cut falls back to the voters before the cut.
"""

from bisect import bisect_left
from typing import Generic, TypeVar

from ottla.quorum.voters import VoterSet
from ottla.wire.message import Message
from ottla.wire.records.quorum import KRaftVersionRecord, VotersRecord

T = TypeVar("T")


class Timeline(Generic[T]):
    """Values by the offset that set them."""

    def __init__(self, initial: T) -> None:
        self.offsets: list[int] = []
        self.values: list[T] = []
        self.initial = initial

    @property
    def last(self) -> T:
        return self.values[-1] if self.values else self.initial

    @property
    def last_offset(self) -> int:
        """The offset that set the last value; -1 where no record of the log did."""
        return self.offsets[-1] if self.offsets else -1

    def note(self, offset: int, value: T) -> None:
        self.cut_from(offset)
        self.offsets.append(offset)
        self.values.append(value)

    def value_before(self, offset: int) -> T:
        """The value that the records below `offset` leave."""
        index = bisect_left(self.offsets, offset)
        return self.values[index - 1] if index else self.initial

    def cut_from(self, offset: int) -> None:
        index = bisect_left(self.offsets, offset)
        del self.offsets[index:]
        del self.values[index:]


class VoterHistory:
    def __init__(self, static: VoterSet) -> None:
        self.static = static
        self._voters: Timeline[VoterSet] = Timeline(static)
        self._versions: Timeline[int] = Timeline(0)

    @property
    def voters(self) -> VoterSet:
        return self._voters.last

    @property
    def kraft_version(self) -> int:
        return self._versions.last

    @property
    def last_offset(self) -> int:
        """Where the voters last changed; -1: they are static, or formatting set them."""
        return self._voters.last_offset

    def note_voters(self, offset: int, voters: VoterSet) -> None:
        self._voters.note(offset, voters)

    def note_version(self, offset: int, version: int) -> None:
        self._versions.note(offset, version)

    def note_record(self, offset: int, record: Message) -> None:
        """Heed a control record, if it is about voters."""
        match record:
            case KRaftVersionRecord():
                self._versions.note(offset, record.k_raft_version)
            case VotersRecord():
                self._voters.note(offset, VoterSet.from_record(record))

    def cut_from(self, offset: int) -> None:
        self._voters.cut_from(offset)
        self._versions.cut_from(offset)

    def at(self, end_offset: int) -> tuple[int, VoterSet]:
        """kraft.version and voters as the records below `end_offset` leave them."""
        return self._versions.value_before(end_offset), self._voters.value_before(end_offset)

    def start_from(self, last_offset: int, version: int, voters: VoterSet | None) -> None:
        """Begin anew from a snapshot whose last record was at `last_offset` (-1: formatting)."""
        self._voters = Timeline(self.static)
        self._versions = Timeline(0)
        if version > 0 and voters is not None:
            if last_offset < 0:
                self._voters.initial = voters
                self._versions.initial = version
            else:
                self._voters.note(last_offset, voters)
                self._versions.note(last_offset, version)
