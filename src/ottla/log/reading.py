"""Reading batches out of a segment file: on the loop what is little and in memory, else off it.

Whoever reads much keeps nobody else waiting: copying megabytes takes milliseconds even where no
disk is waited for. What a disk gives back is checked: a batch with a bit flipped is read by nobody.
Most clients would not notice it.
"""

from collections.abc import Callable
from struct import Struct
from typing import NamedTuple

from ottla.errors import ErrorCode, KafkaError
from ottla.log.files import FileHandle
from ottla.log.indexes import OffsetIndex
from ottla.log.scanning import scan
from ottla.log.segment import find_in
from ottla.wire.checksum import crc32c
from ottla.wire.compression import Buffer
from ottla.wire.record_batch import CRC_START, HEADER_SIZE, LOG_OVERHEAD

SEARCH_BYTES = 8 * 1024  # read with the data, to find the batch behind the nearest index entry
AT_ONCE_BYTES = 128 * 1024
"""More than that a thread reads, in memory or not."""
AHEAD_BYTES = 8 * 1024 * 1024
"""Is on its way from the disk when a reader of cold pages comes back for what follows."""
BATCHES_MAX = 4096
OLD_MAGIC = (0, 1)  # as Kafka wrote before 0.11; their checksums lie elsewhere
_CHECKED = Struct(">qi4xbI2xi")  # base offset, length, magic, checksum, last offset delta


class Damage(KafkaError):
    """The batch that holds `offset` is not what was written."""

    def __init__(self, offset: int) -> None:
        super().__init__(
            ErrorCode.CORRUPT_MESSAGE, f"The batch at offset {offset} is damaged on this disk."
        )
        self.offset = offset

    def __reduce__(self) -> tuple[type["Damage"], tuple[int]]:
        """A child process may be the one that finds it."""
        return Damage, (self.offset,)


class Read(NamedTuple):
    """Bytes from the batch that holds the asked offset on; the last batch may be cut short.

    `cold` means that they are many, or not in memory yet: run `fetch_cold()` in a thread. How many
    they will be at most is known before where they were found (`bytes_expected`), else it is None.
    `more` tells of those, and of whole batches: behind them lies more that could be read.
    """

    data: Buffer
    cold: bool = False
    job: Callable[[], Buffer] | None = None
    bytes_expected: int | None = None
    more: bool = False

    def fetch_cold(self) -> Buffer:
        return self.job() if self.job is not None else self.data


NOTHING = Read(b"")


class FileSpan(NamedTuple):
    """Where in a segment's file the batches lie, and they themselves if they came along."""

    start: int
    size: int
    data: Buffer | None = None


NOWHERE = FileSpan(0, 0, b"")


class SegmentRead(NamedTuple):
    """What is needed to read from a segment without touching the segment itself."""

    handle: FileHandle
    offsets: OffsetIndex
    offset: int
    bytes_max: int
    limit: int  # position where the readable part ends
    at_least_one: bool

    def run(self) -> Buffer:
        """In a thread."""
        place = self._find(self.handle.read)
        if place is None or not place.size:
            return b""
        read_ahead(self.handle, place.start + place.size, self.limit)
        data = place.data
        return self._checked(self.handle.read(place.start, place.size) if data is None else data)

    def find_resident(self) -> "FileSpan | None":
        """None where the disk would have to be waited for even to find them."""
        return self._find(self.handle.read_resident) if self.offsets.loaded else None

    def read_resident(self, place: "FileSpan") -> Buffer | None:
        """None where there is much to read, or a disk to be waited for."""
        if place.size > AT_ONCE_BYTES:
            return None
        data = place.data
        if data is None:
            data = self.handle.read_resident(place.start, place.size)
        return None if data is None else self._checked(data)

    def _find(self, read: Callable[[int, int], Buffer | None]) -> "FileSpan | None":
        """Little is read along with the search, so that the tail of a log costs one call."""
        position = self.offsets.lookup(self.offset)
        while position < self.limit:
            rest = min(self.limit - position, self.bytes_max + SEARCH_BYTES)
            chunk = read(position, rest if rest <= AT_ONCE_BYTES else SEARCH_BYTES)
            if chunk is None:
                return None
            size, at = find_in(chunk, self.offset)
            if size is None:
                if at == 0:
                    break
                position += at
                continue
            if at + size > self.limit - position:
                raise self._damage()
            if size > self.bytes_max and not self.at_least_one:
                return NOWHERE
            stop = min(at + max(size, self.bytes_max), self.limit - position)
            data = memoryview(chunk)[at:stop] if stop <= len(chunk) else None
            return FileSpan(position + at, stop - at, data)
        if position > self.limit:  # a length led beyond the end
            raise self._damage()
        return NOWHERE

    def _checked(self, data: Buffer) -> Buffer:
        sound = sound_bytes(data)
        if sound == len(data):
            return data
        if sound == 0:
            raise self._damage()
        return memoryview(data)[:sound]

    def _damage(self) -> Damage:
        """Where it begins, by a walk from the nearest index entry on, or from the start."""
        for start in (self.offsets.lookup(self.offset), 0):
            offset = self.offsets.base_offset
            for _, header in scan(self.handle, start, self.limit, check=True):
                offset = header.next_offset
            if offset > self.offsets.base_offset:
                break
        return Damage(offset)


class TailRead(NamedTuple):
    """Whole batches that were written not long ago, at a place that is known."""

    handle: FileHandle
    start: int
    size: int
    limit: int  # position where the file ended

    def run(self) -> Buffer:
        """In a thread. What never left memory is as it was written; what a disk gave back, now or
        ahead, may not be."""
        if self.handle.never_left_memory(self.start, self.size):
            return self.handle.read(self.start, self.size)
        read_ahead(self.handle, self.start + self.size, self.limit)
        data = self.handle.read(self.start, self.size)
        sound = sound_bytes(data)
        if sound == 0:
            raise Damage(int.from_bytes(data[:8], "big"))
        return memoryview(data)[:sound]


def read_ahead(handle: FileHandle, position: int, limit: int) -> None:
    """Let the disk go on behind what is being read, unless that is in memory: one page tells."""
    size = min(AHEAD_BYTES, limit - position)
    if size > 0 and handle.read_resident(position + size - 1, 1) is None:
        handle.will_need(position, size)


def read_first(spans: list[SegmentRead]) -> Buffer:
    """The first that is not empty: the batches looked for may begin in the next segment."""
    for span in spans:
        data = span.run()
        if len(data):
            return data
    return b""


def sound_bytes(data: Buffer) -> int:
    """How much comes before the first damaged batch; one cut short at the end is no damage.

    Of very many small batches the first ones are enough: the reader comes back for the rest.
    """
    view = memoryview(data)
    position, size, next_offset = 0, len(view), -1
    for _ in range(BATCHES_MAX):
        if position + HEADER_SIZE > size:
            return size
        base, length, magic, crc, delta = _CHECKED.unpack_from(view, position)
        end = position + LOG_OVERHEAD + length
        if (end > size and length > 0) or magic in OLD_MAGIC:
            return size
        if base < next_offset or delta < 0 or crc32c(view[position + CRC_START : end]) != crc:
            return position
        position, next_offset = end, base + delta + 1
    return position
