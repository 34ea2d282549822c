"""Reading batches out of a segment file: on the loop, or off it where pages are cold.

What a disk gives back is checked: a batch with a bit flipped is read by nobody. Most clients would
not notice it.
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

    `cold` means that pages are not in memory yet: run `fetch_cold()` in a thread.
    """

    data: Buffer
    cold: bool = False
    job: Callable[[], Buffer] | None = None

    def fetch_cold(self) -> Buffer:
        return self.job() if self.job is not None else self.data


NOTHING = Read(b"")


class SegmentRead(NamedTuple):
    """What is needed to read from a segment without touching the segment itself."""

    handle: FileHandle
    offsets: OffsetIndex
    offset: int
    bytes_max: int
    limit: int  # position where the readable part ends
    at_least_one: bool

    def run(self) -> Buffer:
        data = self._walk(self.handle.read)
        return b"" if data is None else self._checked(data)

    def run_resident(self) -> Buffer | None:
        """None where the disk would have to be waited for."""
        data = self._walk(self.handle.read_resident) if self.offsets.loaded else None
        return None if data is None else self._checked(data)

    def _walk(self, read: Callable[[int, int], Buffer | None]) -> Buffer | None:
        position = self.offsets.lookup(self.offset)
        while position < self.limit:
            chunk = read(position, min(self.limit - position, self.bytes_max + SEARCH_BYTES))
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
                return b""
            stop = min(at + max(size, self.bytes_max), self.limit - position)
            if stop <= len(chunk):
                return memoryview(chunk)[at:stop]
            return read(position + at, stop - at)
        if position > self.limit:  # a length led beyond the end
            raise self._damage()
        return b""

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
