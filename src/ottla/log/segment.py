"""One segment: a file of batches, its indexes, and what must be known to roll and to search it."""

import os
from collections.abc import Sequence
from pathlib import Path
from struct import Struct
from zlib import crc32

from ottla.log.config import LogConfig
from ottla.log.files import (
    INDEX,
    LOG,
    SEGMENT_SUFFIXES,
    TIME_INDEX,
    TRANSACTION_INDEX,
    FileHandle,
    OpenFiles,
    file_name,
)
from ottla.log.indexes import OffsetIndex, TimeIndex, TransactionIndex
from ottla.log.scanning import scan
from ottla.wire.compression import Buffer
from ottla.wire.record_batch import HEADER_SIZE, LOG_OVERHEAD, read_header

RELATIVE_OFFSET_MAX = 2**31 - 1
SCAN_BYTES = 64 * 1024
# base offset, length, then the delta of the last offset: all that a search needs of a batch
_BOUNDS = Struct(">qi11xi")
_BOUNDS_SIZE = 27


class Segment:
    __slots__ = (
        "aborted",
        "base_offset",
        "bytes_since_index_entry",
        "created_ms",
        "directory",
        "files",
        "first_timestamp",
        "index",
        "index_is_full",
        "is_new",
        "jitter_ms",
        "log_path",
        "max_timestamp",
        "max_timestamp_offset",
        "size",
        "times",
        "unsynced",
    )

    def __init__(
        self,
        directory: Path,
        base_offset: int,
        files: OpenFiles,
        config: LogConfig,
        *,
        now_ms: int,
        size: int = 0,
        fresh: bool = True,
    ) -> None:
        self.directory = directory
        self.base_offset = base_offset
        self.files = files
        stem = (
            f"{directory}/{file_name(base_offset, '')}"  # a thousand logs open faster without Path
        )
        self.log_path = stem + LOG
        self.size = size
        self.index = OffsetIndex(stem + INDEX, base_offset, fresh=fresh)
        self.times = TimeIndex(stem + TIME_INDEX, base_offset, fresh=fresh)
        self.aborted = TransactionIndex(stem + TRANSACTION_INDEX, fresh=fresh)
        self.created_ms = now_ms
        self.bytes_since_index_entry = 0
        self.index_is_full = False
        self.is_new = fresh
        self.unsynced = False
        self.first_timestamp: int | None = None  # of the first batch; None until known
        self.max_timestamp: int | None = -1 if fresh else None  # None: ask the time index
        self.max_timestamp_offset = base_offset
        spread = min(config.segment_jitter_ms, config.segment_ms)
        self.jitter_ms = crc32(self.log_path.encode()) % spread if spread > 0 else 0

    @property
    def handle(self) -> FileHandle:
        """The open file. Only a new segment makes it: one that was dropped must not come back."""
        if self.is_new:
            handle = self.files.get(self.log_path, create=True)
            self.is_new = False
            return handle
        return self.files.get(self.log_path)

    # --- writing

    def write(self, buffers: Sequence[Buffer], size: int) -> None:
        """Put buffers at the end. A write that fails leaves no trace."""
        position, fd = self.size, self.handle.fd
        try:
            written = os.pwritev(fd, buffers, position)
            while written < size:
                rest = memoryview(b"".join(buffers))[written:]
                written += os.pwrite(fd, rest, position + written)
        except OSError:
            os.ftruncate(fd, position)
            raise
        self.size = position + size
        self.unsynced = True

    def note(
        self, last_offset: int, timestamp: int, position: int, size: int, config: LogConfig
    ) -> None:
        """Take a batch that was written into the indexes."""
        if self.first_timestamp is None and position == 0:
            self.first_timestamp = timestamp
        if timestamp > self.largest_timestamp():
            self.max_timestamp = timestamp
            self.max_timestamp_offset = last_offset
        if self.bytes_since_index_entry > config.index_interval_bytes:
            self.index.append(last_offset, position)
            self.times.append_if_later(self.largest_timestamp(), self.max_timestamp_offset)
            self.bytes_since_index_entry = 0
            self.index_is_full = self.index.is_full(config.index_bytes_max) or self.times.is_full(
                config.index_bytes_max
            )
        self.bytes_since_index_entry += size

    def largest_timestamp(self) -> int:
        if self.max_timestamp is None:
            self.max_timestamp, self.max_timestamp_offset = self.times.last()
        return self.max_timestamp

    def retention_timestamp(self) -> int:
        """The largest timestamp; the file's own where no record has one."""
        timestamp = self.largest_timestamp()
        return timestamp if timestamp >= 0 else int(os.stat(self.log_path).st_mtime * 1000)

    def should_roll(
        self, config: LogConfig, size: int, timestamp: int, last_offset: int, now_ms: int
    ) -> bool:
        if not self.size:
            return last_offset - self.base_offset > RELATIVE_OFFSET_MAX
        return (
            self.size > config.segment_bytes - size
            or last_offset - self.base_offset > RELATIVE_OFFSET_MAX
            or self._waited_ms(timestamp, now_ms) > config.segment_ms - self.jitter_ms
            or self.index_is_full
        )

    def _waited_ms(self, timestamp: int, now_ms: int) -> int:
        first = self.load_first_timestamp()
        return timestamp - first if first >= 0 else now_ms - self.created_ms

    def load_first_timestamp(self) -> int:
        if self.first_timestamp is None:
            if self.size < HEADER_SIZE:
                return -1
            self.first_timestamp = read_header(self.handle.read(0, HEADER_SIZE)).max_timestamp
        return self.first_timestamp

    # --- becoming inactive, durable, gone

    def seal(self) -> None:
        """Bring the files into the state of a segment that takes no more batches."""
        self.times.append_if_later(self.largest_timestamp(), self.max_timestamp_offset)
        self.index.save()
        self.times.save()

    def index_paths(self) -> list[str]:
        paths = [self.index.path, self.times.path]
        return [*paths, self.aborted.path] if len(self.aborted) else paths

    def release(self) -> None:
        """Let go of the indexes' memory; they are loaded again when somebody reads here."""
        self.index.release()
        self.times.release()

    def truncate_to(self, offset: int) -> None:
        found = self.find(offset)
        self.index.truncate_to(offset)
        self.times.truncate_to(offset)
        self.aborted.truncate_to(offset)
        if found is not None:
            os.ftruncate(self.handle.fd, found[0])
            self.size = found[0]
            self.unsynced = True
        if self.size == 0:
            self.first_timestamp = None
        self.bytes_since_index_entry = 0
        self.reload_largest_timestamp(self.size)

    def reload_largest_timestamp(self, stop: int) -> None:
        """From the time index, and the batches behind its last entry up to position `stop`."""
        self.max_timestamp, self.max_timestamp_offset = self.times.last()
        start = self.index.lookup(self.max_timestamp_offset)
        for _, header in scan(self.handle, start, stop):
            if header.max_timestamp > self.max_timestamp:
                self.max_timestamp, self.max_timestamp_offset = (
                    header.max_timestamp,
                    header.last_offset,
                )

    def rename(self, old: str, new: str) -> list[Path]:
        """Give the files another ending, e.g. '.deleted' instead of ''; their new paths.

        Their names may be another segment's then, while threads still read here: each index knows
        its new one, and no handle is left that was opened by the old one.
        """
        renamed = []
        for suffix in SEGMENT_SUFFIXES:
            source = self.directory / file_name(self.base_offset, suffix + old)
            if source.exists():
                target = self.directory / file_name(self.base_offset, suffix + new)
                os.rename(source, target)
                renamed.append(target)
        for index in (self.index, self.times, self.aborted):
            index.path = f"{self.directory}/{file_name(self.base_offset, index.suffix + new)}"
        self.files.forget(self.log_path)
        return renamed

    # --- searching

    def find(self, offset: int) -> tuple[int, int] | None:
        """Position and size of the first batch that ends at or after `offset`."""
        position, end, handle = self.index.lookup(offset), self.size, self.handle
        while position < end:
            chunk = handle.read(position, min(SCAN_BYTES, end - position))
            found, consumed = find_in(chunk, offset)
            if found is not None:
                return position + consumed, found
            if consumed == 0:
                return None
            position += consumed
        return None

    def next_offset(self) -> int:
        """The offset after the last batch, found through the index."""
        next_offset = self.base_offset
        for _, header in scan(self.handle, self.index.last_position(), self.size):
            next_offset = header.next_offset
        return next_offset


def find_in(chunk: Buffer, offset: int) -> tuple[int | None, int]:
    """(size, position) of the first batch that ends at or after `offset`.

    Without one in the chunk: (None, bytes walked); the next batch to look at starts there. One
    with a length that cannot be counts as found: nothing behind it can be.
    """
    position, end, read = 0, len(chunk) - _BOUNDS_SIZE, _BOUNDS.unpack_from
    while position <= end:
        base, length, delta = read(chunk, position)
        if base + delta >= offset or length <= 0:
            return max(length, 0) + LOG_OVERHEAD, position
        position += length + LOG_OVERHEAD
    return None, position
