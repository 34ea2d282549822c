"""The sparse indexes beside a segment: by offset, by time, and of aborted transactions.

Entries live in memory in the file's own layout and are written in one piece when the segment
becomes inactive, at a flush and at a clean stop. A crash needs no index: recovery rebuilds them.
"""

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from struct import Struct
from threading import Lock
from typing import ClassVar, NamedTuple

from ottla.log.files import read_file

_LOADED = Lock()  # held for a moment, when entries that were read become an index's


class SparseIndex:
    """Sorted entries of fixed size, relative to a segment's base offset; loaded when first used."""

    entry: ClassVar[Struct]
    suffix: ClassVar[str]

    __slots__ = ("_entries", "base_offset", "path", "written")

    def __init__(self, path: str, base_offset: int, *, fresh: bool) -> None:
        self.path = path
        self.base_offset = base_offset
        self._entries: bytearray | None = bytearray() if fresh else None
        self.written = 0 if fresh else -1  # bytes of the file that are as they should be

    @property
    def entries(self) -> bytearray:
        entries = self._entries
        return self._load() if entries is None else entries

    def _load(self) -> bytearray:
        """Maybe in a thread, while the loop gives the file another name, and its own to another."""
        while True:
            path = self.path
            content = self._read(path)
            with _LOADED:
                entries = self._entries
                if entries is not None:  # somebody was faster, and may have added to them
                    return entries
                if path == self.path:
                    self.written = len(content)
                    self._entries = content
                    return content

    def _read(self, path: str) -> bytearray:
        try:
            content = bytearray(read_file(path))
        except FileNotFoundError:
            content = bytearray()
        # A killed Kafka leaves preallocated files: zeros behind the entries.
        used = len(content.rstrip(b"\0"))
        del content[-(-used // self.entry.size) * self.entry.size :]
        del content[len(content) - len(content) % self.entry.size :]
        return content

    @property
    def loaded(self) -> bool:
        return self._entries is not None

    def __len__(self) -> int:
        return len(self.entries) // self.entry.size

    def clear(self) -> None:
        self._entries = bytearray()
        self.written = 0

    def is_full(self, bytes_max: int) -> bool:
        return len(self) >= bytes_max // self.entry.size

    def _keep(self, count: int) -> None:
        del self.entries[count * self.entry.size :]
        self.written = min(self.written, len(self.entries))

    def save(self) -> None:
        """Write what the file lacks and cut what it should not have."""
        entries = self.entries
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if len(entries) > self.written:
                os.pwrite(fd, memoryview(entries)[self.written :], self.written)
            os.ftruncate(fd, len(entries))
        finally:
            os.close(fd)
        self.written = len(entries)

    def release(self) -> None:
        """Let go of the memory of entries that the file has."""
        if self._entries is not None and self.written == len(self._entries):
            self._entries = None


class OffsetIndex(SparseIndex):
    """Offset of the last record of a batch → the batch's position in the segment."""

    entry = Struct(">ii")
    suffix = ".index"
    __slots__ = ()

    def append(self, offset: int, position: int) -> None:
        self.entries.extend(self.entry.pack(offset - self.base_offset, position))

    def lookup(self, offset: int) -> int:
        """A position at or before the batch that holds `offset`."""
        entries, read = self.entries, self.entry.unpack_from
        slot = bisect_right(
            range(len(entries) // 8),
            offset - self.base_offset,
            key=lambda n: read(entries, n * 8)[0],
        )
        return int(read(entries, slot * 8 - 8)[1]) if slot else 0

    def position_before(self, position: int) -> int:
        """The last known start of a batch at or before `position`."""
        entries, read = self.entries, self.entry.unpack_from
        slot = bisect_right(
            range(len(entries) // 8), position, key=lambda n: read(entries, n * 8)[1]
        )
        return int(read(entries, slot * 8 - 8)[1]) if slot else 0

    def offset_at_or_after(self, offset: int) -> int | None:
        """The first offset that has an entry, from this one on."""
        entries, read = self.entries, self.entry.unpack_from
        count = len(entries) // 8
        slot = bisect_left(
            range(count), offset - self.base_offset, key=lambda n: read(entries, n * 8)[0]
        )
        return None if slot == count else self.base_offset + int(read(entries, slot * 8)[0])

    def last_position(self) -> int:
        entries = self.entries
        return int(self.entry.unpack_from(entries, len(entries) - 8)[1]) if entries else 0

    def truncate_to(self, offset: int) -> None:
        entries, read = self.entries, self.entry.unpack_from
        self._keep(
            bisect_left(
                range(len(entries) // 8),
                offset - self.base_offset,
                key=lambda n: read(entries, n * 8)[0],
            )
        )

    def is_sane(self, segment_size: int) -> bool:
        entries = self.entries
        if not entries:
            return True
        offset, position = self.entry.unpack_from(entries, len(entries) - 8)
        return bool(offset >= 0 and 0 < position < segment_size)


class TimeIndex(SparseIndex):
    """Largest timestamp so far → last offset of the first batch that has it."""

    entry = Struct(">qi")
    suffix = ".timeindex"
    __slots__ = ()

    def append_if_later(self, timestamp: int, offset: int) -> None:
        if timestamp > self.last()[0]:
            self.entries.extend(self.entry.pack(timestamp, offset - self.base_offset))

    def last(self) -> tuple[int, int]:
        entries = self.entries
        if not entries:
            return -1, self.base_offset
        timestamp, relative = self.entry.unpack_from(entries, len(entries) - 12)
        return timestamp, self.base_offset + relative

    def is_full(self, bytes_max: int) -> bool:
        return len(self) >= bytes_max // 12 - 1  # one place is kept for the entry of the roll

    def lookup(self, timestamp: int) -> int:
        """An offset at or before the first record that is as late as `timestamp`."""
        entries, read = self.entries, self.entry.unpack_from
        slot = bisect_right(
            range(len(entries) // 12), timestamp, key=lambda n: read(entries, n * 12)[0]
        )
        return self.base_offset + (read(entries, slot * 12 - 12)[1] if slot else 0)

    def truncate_to(self, offset: int) -> None:
        entries, read = self.entries, self.entry.unpack_from
        self._keep(
            bisect_left(
                range(len(entries) // 12),
                offset - self.base_offset,
                key=lambda n: read(entries, n * 12)[1],
            )
        )

    def is_sane(self) -> bool:
        entries = self.entries
        if not entries:
            return True
        first = self.entry.unpack_from(entries, 0)
        last = self.entry.unpack_from(entries, len(entries) - 12)
        return bool(last[0] >= first[0] and last[1] >= 0)


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int  # of the marker
    last_stable_offset: int


class TransactionIndex:
    """Aborted transactions whose marker lies in this segment. The file exists only if there are.

    In the file's own layout in memory, too: a producer that aborts all day leaves 34 bytes each
    time, not five objects. Markers come in the order of offsets, so a reader of the tail finds its
    place by halving.
    """

    suffix: ClassVar[str] = ".txnindex"
    entry: ClassVar[Struct] = Struct(">hqqqq")  # version first
    __slots__ = ("_entries", "path")

    def __init__(self, path: str, *, fresh: bool) -> None:
        self.path = path
        self._entries: bytearray | None = bytearray() if fresh else None

    @property
    def entries(self) -> bytearray:
        if self._entries is None:
            content = read_file(self.path) if os.path.exists(self.path) else b""
            self._entries = bytearray(content[: len(content) - len(content) % self.entry.size])
        return self._entries

    def __len__(self) -> int:
        return len(self.entries) // self.entry.size

    def __iter__(self) -> Iterator[AbortedTransaction]:
        return self._from(0)

    def ending_from(self, offset: int) -> Iterator[AbortedTransaction]:
        """Those whose marker is at `offset` or behind it."""
        entries, read, size = self.entries, self.entry.unpack_from, self.entry.size
        return self._from(
            bisect_left(range(len(self)), offset, key=lambda n: read(entries, n * size)[3])
        )

    def _from(self, number: int) -> Iterator[AbortedTransaction]:
        for _, *fields in self.entry.iter_unpack(self.entries[number * self.entry.size :]):
            yield AbortedTransaction(*fields)

    def append(self, aborted: AbortedTransaction) -> None:
        """Behind the last whole entry: after a crash a torn one may follow on it."""
        entries, packed = self.entries, self.entry.pack(0, *aborted)
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.pwrite(fd, packed, len(entries))
        finally:
            os.close(fd)
        entries += packed

    def clear(self) -> None:
        self._entries = bytearray()
        if os.path.exists(self.path):
            os.truncate(self.path, 0)

    def truncate_to(self, offset: int) -> None:
        """Keep what ended before `offset`. A power cut may leave zeros, or a part of an entry."""
        kept = (one for one in self if one.first_offset < one.last_offset < offset)
        self._entries = bytearray().join(self.entry.pack(0, *one) for one in kept)
        if os.path.exists(self.path):
            os.truncate(self.path, len(self._entries))
