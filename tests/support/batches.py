"""Record batches built byte by byte, so that a test can also build wrong ones."""

import struct
from collections.abc import Sequence

import crc32c

HEADER = struct.Struct(">qiibIhiqqqhii")
CRC_END = 21  # the checksum covers what follows it


def varint(number: int) -> bytes:
    """Zigzag, as records use it."""
    encoded = bytearray()
    rest = (number << 1) ^ (number >> 63)
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


def record(delta: int, value: bytes | None, key: bytes | None = None) -> bytes:
    def nullable(content: bytes | None) -> bytes:
        return varint(-1) if content is None else varint(len(content)) + content

    body = b"\0" + varint(0) + varint(delta) + nullable(key) + nullable(value) + varint(0)
    return varint(len(body)) + body


def batch(
    values: Sequence[bytes | None],
    *,
    key: bytes | None = None,
    magic: int = 2,
    attributes: int = 0,
    timestamp: int = 1_700_000_000_000,
    producer_id: int = -1,
    producer_epoch: int = -1,
    sequence: int = -1,
    count: int | None = None,
    last_offset_delta: int | None = None,
    crc: int | None = None,
    base_offset: int = 0,
) -> bytes:
    """A batch of uncompressed records. `count`, `last_offset_delta` and `crc` may lie."""
    records = b"".join(record(delta, value, key) for delta, value in enumerate(values))
    last = len(values) - 1 if last_offset_delta is None else last_offset_delta
    total = len(values) if count is None else count
    length = HEADER.size - 12 + len(records)

    def header(checksum: int) -> bytes:
        return HEADER.pack(
            base_offset,
            length,
            -1,
            magic,
            checksum,
            attributes,
            last,
            timestamp,
            timestamp,
            producer_id,
            producer_epoch,
            sequence,
            total,
        )

    covered = (header(0) + records)[CRC_END:]
    return header(crc32c.crc32c(covered) if crc is None else crc) + records
