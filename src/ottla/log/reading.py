"""Reading batches out of a segment file: on the loop, or off it where pages are cold."""

from collections.abc import Callable
from typing import NamedTuple

from ottla.log.files import FileHandle
from ottla.log.indexes import OffsetIndex
from ottla.log.segment import find_in
from ottla.wire.compression import Buffer

SEARCH_BYTES = 8 * 1024  # read with the data, to find the batch behind the nearest index entry


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
        return b"" if data is None else data

    def run_resident(self) -> Buffer | None:
        """None where the disk would have to be waited for."""
        return self._walk(self.handle.read_resident) if self.offsets.loaded else None

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
            if size > self.bytes_max and not self.at_least_one:
                break
            stop = min(at + max(size, self.bytes_max), self.limit - position)
            if stop <= len(chunk):
                return memoryview(chunk)[at:stop]
            return read(position + at, stop - at)
        return b""


def read_first(spans: list[SegmentRead]) -> Buffer:
    """The first that is not empty: the batches looked for may begin in the next segment."""
    for span in spans:
        data = span.run()
        if len(data):
            return data
    return b""
