"""Record batches of magic 2: the header, the records inside, and how to build both.

Headers are read without looking at records; records are walked only by those who must. What a
broker accepts from a producer is decided in `log.validation`.
"""

from collections.abc import Iterator, Sequence
from struct import Struct
from struct import error as StructError
from typing import NamedTuple

from ottla.errors import ErrorCode, KafkaError
from ottla.wire.checksum import crc32c
from ottla.wire.compression import Buffer, Codec, compress, decompress
from ottla.wire.varint import read_varint, varint

HEADER = Struct(">qiibIhiqqqhii")
HEADER_SIZE = 61
LOG_OVERHEAD = 12  # base offset and length, which the length does not count
PREFIX = Struct(">qii")  # base offset, length, leader epoch: all that a leader replaces
PREFIX_SIZE = 16
CRC_START = 21  # the checksum covers everything from the attributes on
LENGTH_AT = 8
MAGIC_AT = 16
ATTRIBUTES_AT = 22  # their lower byte, which has all of them
COUNT_AT = slice(57, 61)
LENGTH_AND_MAGIC = Struct(">i4xB")  # at LENGTH_AT: all that tells whether a batch can be read
_LENGTH = Struct(">i")
_AFTER_CRC = Struct(">hiqqqhii")
_BEFORE_ATTRIBUTES = Struct(">qiibI")

MAGIC = 2
NO_PRODUCER = -1
NO_SEQUENCE = -1
NO_TIMESTAMP = -1
NO_LEADER_EPOCH = -1

CODEC_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40

_ONE_BYTE = 128
_NONE = 1  # as a varint: -1, in place of a length
RECORD_BODY_MIN = 6  # attributes, two deltas, no key, no value, no headers

ABORT_MARKER = 0
COMMIT_MARKER = 1
_CONTROL_KEY = Struct(">hh")  # version, type
_MARKER_VALUE = Struct(">hi")  # version, epoch of the coordinator

Headers = tuple[tuple[str, bytes | None], ...]
_new = tuple.__new__
"""Makes a named tuple without a call of Python's, which its class would cost: they are many."""


class BatchHeader(NamedTuple):
    """The 61 bytes in front of a batch's records."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int  # type: ignore[assignment]  # tuples have a method of that name

    @property
    def size(self) -> int:
        return LOG_OVERHEAD + self.length

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        if self.base_sequence < 0:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def log_append_time(self) -> bool:
        return bool(self.attributes & LOG_APPEND_TIME)

    @property
    def delete_horizon(self) -> int | None:
        """When tombstones and markers in it may go: the cleaner keeps that in base_timestamp."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None


class Record(NamedTuple):
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class NewRecord(NamedTuple):
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


def corrupt(message: str) -> KafkaError:
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, message)


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    try:
        return _new(BatchHeader, HEADER.unpack_from(buffer, position))
    except StructError as error:
        raise corrupt(f"The batch at {position} ends within its header.") from error


def iterate_batches(buffer: Buffer) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of each whole batch; CORRUPT_MESSAGE where a length or a magic lies.

    A batch cut short at the end is left out: fetches and files end like that by design.
    """
    position, end = 0, len(buffer)
    while end - position > MAGIC_AT:
        (length,) = _LENGTH.unpack_from(buffer, position + LENGTH_AT)
        if length < HEADER_SIZE - LOG_OVERHEAD:
            raise corrupt(f"The batch at {position} claims a length of {length} bytes.")
        if buffer[position + MAGIC_AT] != MAGIC:
            raise corrupt(f"The batch at {position} has magic {buffer[position + MAGIC_AT]}.")
        if position + LOG_OVERHEAD + length > end:
            return
        yield position, read_header(buffer, position)
        position += LOG_OVERHEAD + length


def crc_is_valid(buffer: Buffer, position: int, header: BatchHeader) -> bool:
    view = memoryview(buffer)[position + CRC_START : position + header.size]
    return bool(crc32c(view) == header.crc)


def payload_of(
    buffer: Buffer, position: int, header: BatchHeader, limit: int | None = None
) -> Buffer:
    """The records of a batch as plain bytes."""
    payload = memoryview(buffer)[position + HEADER_SIZE : position + header.size]
    return decompress(header.codec, payload, limit)


def iterate_records(
    buffer: Buffer, position: int, header: BatchHeader, limit: int | None = None
) -> Iterator[Record]:
    """Every record of the batch at `position`, decompressed; CORRUPT_MESSAGE where they lie."""
    return read_records(bytes(payload_of(buffer, position, header, limit)), header)


def read_records(payload: bytes, header: BatchHeader) -> Iterator[Record]:
    """Every record of a payload that is not compressed (any more)."""
    at, total, base_offset = 0, len(payload), header.base_offset
    base_timestamp = header.base_timestamp
    appended_at = header.max_timestamp if header.log_append_time else None
    try:
        for _ in range(header.count):
            size, at = read_varint(payload, at)
            end = at + size
            if size < 0 or end > total:
                raise ValueError("a record longer than its batch")
            delta, at = read_varint(payload, at + 1)  # the byte skipped is attributes, unused
            timestamp = base_timestamp + delta if appended_at is None else appended_at
            delta, at = read_varint(payload, at)
            key, at = (None, at + 1) if payload[at] == _NONE else _read_bytes(payload, at)
            value, at = (None, at + 1) if payload[at] == _NONE else _read_bytes(payload, at)
            headers, at = ((), at + 1) if payload[at] == 0 else _read_headers(payload, at)
            if at != end:
                raise ValueError("a record whose fields do not fill it")
            yield _new(Record, (base_offset + delta, timestamp, key, value, headers))
    except (IndexError, ValueError) as error:
        raise corrupt(f"A record at offset {header.base_offset} and on is malformed.") from error
    if at != len(payload):
        raise corrupt(f"{len(payload) - at} bytes follow the last of {header.count} records.")


def skim_records(payload: Buffer, header: BatchHeader) -> Iterator[tuple[int, bool]]:
    """Timestamp and "has a key" of each record in a plain payload; proves its count on the way.

    A third of the cost of `iterate_records`, for those who only check.
    """
    plain, at, base = bytes(payload), 0, header.base_timestamp
    total = len(plain)
    try:
        for _ in range(header.count):
            size = plain[at]
            if size < _ONE_BYTE:  # a varint of one byte, which most are, read in place
                size = (size >> 1) ^ -(size & 1)
                at += 1
            else:
                size, at = read_varint(plain, at)
            end = at + size
            if size < RECORD_BODY_MIN or end > total:
                raise ValueError("a record longer than its batch")
            delta, at = read_varint(plain, at + 1)
            while plain[at] >= _ONE_BYTE:  # the offset's delta
                at += 1
            if at + 1 >= end:
                raise ValueError("a record without a key's length")
            yield base + delta, not plain[at + 1] & 1  # an odd number is a negative one: no key
            at = end
    except (IndexError, ValueError) as error:
        raise corrupt(f"A record at offset {header.base_offset} and on is malformed.") from error
    if at != len(plain):
        raise corrupt(f"{len(plain) - at} bytes follow the last of {header.count} records.")


def _read_bytes(payload: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = read_varint(payload, at)
    if size < 0:
        return None, at
    end = at + size
    if end > len(payload):
        raise ValueError("a field longer than its batch")
    return payload[at:end], end


def _read_headers(payload: bytes, at: int) -> tuple[Headers, int]:
    count, at = read_varint(payload, at)
    if not 0 <= count <= len(payload) - at:
        raise ValueError("more headers than bytes")
    headers = []
    for _ in range(count):
        name, at = _read_bytes(payload, at)
        if name is None:
            raise ValueError("a header without a name")
        value, at = _read_bytes(payload, at)
        headers.append((name.decode(errors="replace"), value))
    return tuple(headers), at


def build_batch(
    records: Sequence[NewRecord],
    *,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
    producer_id: int = NO_PRODUCER,
    producer_epoch: int = -1,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    codec: Codec = Codec.NONE,
    log_append_time: int | None = None,
) -> bytes:
    """One batch with consecutive offsets from `base_offset` on.

    With `log_append_time` every record counts as written then, whatever its own timestamp.
    """
    base_timestamp = records[0].timestamp
    payload = b"".join(
        encode_record(delta, record.timestamp - base_timestamp, record)
        for delta, record in enumerate(records)
    )
    attributes = codec | (TRANSACTIONAL if transactional else 0) | (CONTROL if control else 0)
    max_timestamp = max(record.timestamp for record in records)
    if log_append_time is not None:
        attributes |= LOG_APPEND_TIME
        max_timestamp = log_append_time
    return seal_batch(
        BatchHeader(
            base_offset=base_offset,
            length=0,
            leader_epoch=leader_epoch,
            magic=MAGIC,
            crc=0,
            attributes=attributes,
            last_offset_delta=len(records) - 1,
            base_timestamp=base_timestamp,
            max_timestamp=max_timestamp,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            count=len(records),
        ),
        compress(codec, payload),
    )


def encode_record(offset_delta: int, timestamp_delta: int, record: NewRecord | Record) -> bytes:
    key, value, headers = record.key, record.value, record.headers
    fields = (
        b"\x00",
        varint(timestamp_delta),
        varint(offset_delta),
        b"\x01" if key is None else varint(len(key)) + key,
        b"\x01" if value is None else varint(len(value)) + value,
        _encode_headers(headers) if headers else b"\x00",
    )
    body = b"".join(fields)
    return varint(len(body)) + body


def _encode_headers(headers: Headers) -> bytes:
    fields = [_sized(name.encode()) + _sized(value) for name, value in headers]
    return varint(len(headers)) + b"".join(fields)


def _sized(field: bytes | None) -> bytes:
    return b"\x01" if field is None else varint(len(field)) + field


def seal_batch(header: BatchHeader, payload: Buffer) -> bytes:
    """The batch with this header and (already compressed) payload; length and CRC are computed."""
    after_crc = _AFTER_CRC.pack(*header[5:])
    crc = crc32c(payload, crc32c(after_crc))
    length = HEADER_SIZE - LOG_OVERHEAD + len(payload)
    front = _BEFORE_ATTRIBUTES.pack(header.base_offset, length, header.leader_epoch, MAGIC, crc)
    return b"".join((front, after_crc, payload))


def build_marker(
    *,
    commit: bool,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytes:
    """The control batch that ends a transaction in one partition."""
    return build_batch(
        [
            NewRecord(
                timestamp,
                control_key(COMMIT_MARKER if commit else ABORT_MARKER),
                _MARKER_VALUE.pack(0, coordinator_epoch),
            )
        ],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def control_key(kind: int) -> bytes:
    """The key of a control record: version 0, then its type."""
    return _CONTROL_KEY.pack(0, kind)


def read_control_type(record: Record) -> int:
    """ABORT_MARKER, COMMIT_MARKER, or a type of the quorum's."""
    if record.key is None or len(record.key) < _CONTROL_KEY.size:
        raise corrupt(f"The control record at offset {record.offset} has no type.")
    return int(_CONTROL_KEY.unpack_from(record.key)[1])


def read_coordinator_epoch(record: Record) -> int:
    if record.value is None or len(record.value) < _MARKER_VALUE.size:
        raise corrupt(f"The transaction marker at offset {record.offset} has no epoch.")
    return int(_MARKER_VALUE.unpack_from(record.value)[1])
