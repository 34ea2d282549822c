"""Walking the batches of a segment file in big steps."""

from collections.abc import Iterator

from ottla.log.files import FileHandle
from ottla.wire.checksum import crc32c
from ottla.wire.record_batch import CRC_START, HEADER, HEADER_SIZE, MAGIC, BatchHeader

CHUNK = 4 * 1024 * 1024


def scan(
    handle: FileHandle, start: int, stop: int, *, check: bool = False
) -> Iterator[tuple[int, BatchHeader]]:
    """Headers of whole batches in a file, in big steps; ends at the first that is not sound."""
    unpack, make, position = HEADER.unpack_from, BatchHeader._make, start
    while position + HEADER_SIZE <= stop:
        chunk = handle.read(position, min(CHUNK, stop - position))
        view, at, end = memoryview(chunk), 0, len(chunk)
        while at + HEADER_SIZE <= end:
            header = make(unpack(chunk, at))
            size = header.length + 12
            if header.magic != MAGIC or size < HEADER_SIZE or position + at + size > stop:
                return
            if check:
                if at + size > end:
                    break  # the next chunk starts with it
                if crc32c(view[at + CRC_START : at + size]) != header.crc:
                    return
            yield position + at, header
            at += size
        if end < HEADER_SIZE:
            return
        if at == 0:  # larger than a chunk
            whole = handle.read(position, size)
            if crc32c(memoryview(whole)[CRC_START:]) != header.crc:
                return
            yield position, header
            at = size
        position += at


def scan_batches(handle: FileHandle, stop: int) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """Whole batches from the beginning on, each checked; ends at the first that is not sound."""
    position, chunk_bytes = 0, CHUNK
    while position + HEADER_SIZE <= stop:
        chunk = handle.read(position, min(chunk_bytes, stop - position))
        view, at, size = memoryview(chunk), 0, HEADER_SIZE
        while at + HEADER_SIZE <= len(chunk):
            header = BatchHeader._make(HEADER.unpack_from(chunk, at))
            size = header.size
            if header.magic != MAGIC or size < HEADER_SIZE or position + at + size > stop:
                return
            if at + size > len(chunk):
                break  # the next chunk starts with it
            if crc32c(view[at + CRC_START : at + size]) != header.crc:
                return
            yield position + at, header, view[at : at + size]
            at += size
        if at == 0 and len(chunk) < size:
            if len(chunk) < min(chunk_bytes, stop - position):
                return  # the file ends before it does
            chunk_bytes = size
            continue
        chunk_bytes = CHUNK
        position += at
