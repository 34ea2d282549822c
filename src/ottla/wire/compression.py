"""The five codecs of record batches, as Kafka's clients frame them.

Native code does the work. Every decompression has a cap on its output, and memory is only taken as
it is filled, so a small payload cannot ask for a large allocation.
"""

from enum import IntEnum
from mmap import mmap
from struct import Struct
from typing import TypeAlias

import cramjam

from ottla.errors import ErrorCode, KafkaError

Buffer: TypeAlias = bytes | bytearray | memoryview


class Codec(IntEnum):
    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


CODEC_BY_NAME = {
    "uncompressed": Codec.NONE,
    "none": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}

OUTPUT_FLOOR = 16 * 1024 * 1024
OUTPUT_RATIO = 16
SCRATCH_BYTES = 2 * 1024 * 1024

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\x00\x00\x00\x01" * 2  # version, oldest reader that understands
_XERIAL_BLOCK = 32 * 1024
_LENGTH = Struct(">i")

# Kafka's reader takes only frames of independent blocks: flags 0x60, blocks of 64 KiB, and the
# checksum of these two bytes.
_LZ4_HEADER = b"\x04\x22\x4d\x18\x60\x40\x82"
_LZ4_BLOCK = 64 * 1024
_LZ4_LENGTH = Struct("<I")
_LZ4_STORED = 1 << 31  # the block is plain
_LZ4_END = bytes(4)


def output_limit(size: int) -> int:
    """How much a payload of `size` bytes may decompress to when nobody says otherwise."""
    return max(OUTPUT_FLOOR, OUTPUT_RATIO * size)


def compress(codec: Codec, payload: Buffer, level: int | None = None) -> bytes:
    match codec:
        case Codec.NONE:
            return bytes(payload)
        case Codec.GZIP:
            return bytes(cramjam.gzip.compress(payload, 6 if level is None or level < 0 else level))
        case Codec.SNAPPY:
            return _compress_xerial(memoryview(payload))
        case Codec.LZ4:
            return _compress_lz4(memoryview(payload))
        case Codec.ZSTD:
            return bytes(cramjam.zstd.compress(payload, 3 if level is None else level))


def decompress(codec: int, payload: Buffer, limit: int | None = None) -> Buffer:
    """The plain bytes, or CORRUPT_MESSAGE where they do not decode or exceed the limit."""
    if codec == Codec.NONE:
        return payload
    limit = output_limit(len(payload)) if limit is None else limit
    try:
        match codec:
            case Codec.GZIP:
                return _decompress_into(cramjam.gzip, payload, limit)
            case Codec.SNAPPY:
                return _decompress_snappy(memoryview(payload), limit)
            case Codec.LZ4:
                return _decompress_into(cramjam.lz4, payload, limit)
            case Codec.ZSTD:
                return _decompress_into(cramjam.zstd, payload, limit)
    except cramjam.DecompressionError as error:
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE,
            f"The {Codec(codec).name.lower()} payload of {len(payload)} bytes does not decompress "
            f"within {limit} bytes: {error}.",
        ) from error
    raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"Compression codec {codec} is unknown.")


# Room for usual payloads, as many as were ever used at once: fresh pages cost more than codecs.
_scratch: list[mmap] = []


def _decompress_into(module: object, payload: Buffer, limit: int) -> bytes:
    into = module.decompress_into  # type: ignore[attr-defined]
    size: int
    if limit >= SCRATCH_BYTES:
        scratch = _take_scratch()
        try:
            size = into(payload, scratch)
            return scratch[:size]
        except cramjam.DecompressionError:
            pass  # too large for it, or not to be read at all
        finally:
            _scratch.append(scratch)
    # An anonymous mapping costs nothing until it is written: the cap is an address range, not RAM.
    with mmap(-1, limit) as room:
        size = into(payload, room)
        return room[:size]


def _take_scratch() -> mmap:
    try:
        return _scratch.pop()
    except IndexError:
        return mmap(-1, SCRATCH_BYTES)


def _compress_xerial(payload: memoryview) -> bytes:
    parts = [_XERIAL_HEADER]
    for start in range(0, len(payload), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(payload[start : start + _XERIAL_BLOCK]))
        parts += (_LENGTH.pack(len(block)), block)
    return b"".join(parts)


def _compress_lz4(payload: memoryview) -> bytes:
    parts = [_LZ4_HEADER]
    for start in range(0, len(payload), _LZ4_BLOCK):
        plain = payload[start : start + _LZ4_BLOCK]
        block = bytes(cramjam.lz4.compress_block(plain, store_size=False))
        if len(block) < len(plain):
            parts += (_LZ4_LENGTH.pack(len(block)), block)
        else:
            parts += (_LZ4_LENGTH.pack(len(plain) | _LZ4_STORED), bytes(plain))
    parts.append(_LZ4_END)
    return b"".join(parts)


def _decompress_snappy(payload: memoryview, limit: int) -> bytes:
    if payload[:8] != _XERIAL_MAGIC:  # librdkafka and others may send one bare block
        return _decompress_block(payload, limit)
    parts: list[bytes] = []
    position, end, left = 16, len(payload), limit
    while position < end:
        if end - position < 4:
            raise cramjam.DecompressionError("a snappy block ends before its length")
        (size,) = _LENGTH.unpack_from(payload, position)
        position += 4
        if not 0 < size <= end - position:
            raise cramjam.DecompressionError(f"a snappy block claims {size} bytes")
        parts.append(_decompress_block(payload[position : position + size], left))
        left -= len(parts[-1])
        position += size
    return b"".join(parts)


def _decompress_block(block: memoryview, limit: int) -> bytes:
    size = cramjam.snappy.decompress_raw_len(block)
    if size > limit:
        raise cramjam.DecompressionError(f"a snappy block claims to hold {size} bytes")
    room = bytearray(size)
    cramjam.snappy.decompress_raw_into(block, room)
    return bytes(room)
