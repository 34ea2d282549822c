"""What a leader accepts from a producer, as Kafka's broker decides it.

Header and checksum, then the records: as many as the header says and nothing else (`proving`).
Their contents are looked at where the answer depends on them: keys on compacted topics, timestamps
outside the topic's limits.
"""

from enum import Enum
from struct import Struct
from typing import NamedTuple

from ottla.errors import ErrorCode, KafkaError
from ottla.log.config import NEVER_MS, LogConfig
from ottla.wire.checksum import crc32c
from ottla.wire.columns import read_columns
from ottla.wire.compression import Buffer, Codec, compress
from ottla.wire.proving import prove_records
from ottla.wire.record_batch import (
    CODEC_MASK,
    CONTROL,
    CRC_START,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    BatchHeader,
    corrupt,
    payload_of,
    read_header,
    seal_batch,
    skim_records,
)

LEGACY_OVERHEAD = 14  # the least length any magic can have
_LENGTH = Struct(">i")
# What is checked without a thread: each is a matter of milliseconds.
WALKED_AT_ONCE = 2_000  # records that are looked at one by one
PROVEN_AT_ONCE = 20_000  # records that are only counted
UNPACKED_AT_ONCE = 256 * 1024  # bytes of a compressed batch


class AppendOrigin(Enum):
    CLIENT = "client"
    COORDINATOR = "coordinator"  # group and transaction state, and transaction markers
    QUORUM = "quorum"  # the leader of the metadata log


class Accepted(NamedTuple):
    header: BatchHeader
    batch: memoryview  # as it shall be stored, but for the first sixteen bytes
    append_time: int  # -1 unless the topic stamps batches on arrival


class InvalidRecords(KafkaError):
    """A refusal that names the records at fault: (index, sentence) for each."""

    def __init__(self, code: ErrorCode, message: str, records: list[tuple[int, str]]) -> None:
        super().__init__(code, message)
        self.records = records


class NotOneBatch(KafkaError):
    """What came is not one whole batch: no log was asked."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.INVALID_RECORD, message)


def invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, message)


def next_batch(view: memoryview, position: int) -> BatchHeader | None:
    """The header at `position`, None where no whole batch is left; lies are refused."""
    left = len(view) - position
    if left <= MAGIC_AT:
        return None
    (length,) = _LENGTH.unpack_from(view, position + 8)
    if length < LEGACY_OVERHEAD:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"A batch claims a length of {length} bytes.")
    magic = view[position + MAGIC_AT]
    if magic > MAGIC:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"A batch has magic {magic}.")
    if left < LOG_OVERHEAD + length:
        return None
    if magic < MAGIC:
        raise NotOneBatch(f"Only batches of magic {MAGIC} are accepted, not {magic}.")
    if length < HEADER_SIZE - LOG_OVERHEAD:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"A batch claims a length of {length} bytes.")
    return read_header(view, position)


def check_alone(view: memoryview, header: BatchHeader) -> None:
    """A client sends one batch per partition."""
    if header.size < len(view) and next_batch(view, header.size) is not None:
        raise NotOneBatch("A produce request holds one batch per partition.")


def takes_long(header: BatchHeader, config: LogConfig, now_ms: int) -> bool:
    """Whether to check a client's batch would hold up an event loop."""
    if header.count <= WALKED_AT_ONCE and header.length <= UNPACKED_AT_ONCE:
        return False
    if header.count > PROVEN_AT_ONCE or (config.compact and header.count > WALKED_AT_ONCE):
        return True
    if header.codec and header.length > UNPACKED_AT_ONCE:
        return True
    recompress = config.codec is not None and header.codec != config.codec
    return recompress or _may_be_out_of_time(header, config, now_ms)


def accept(
    view: memoryview,
    position: int,
    header: BatchHeader,
    config: LogConfig,
    origin: AppendOrigin,
    now_ms: int,
) -> Accepted:
    """Check one batch, and rewrite it where the topic's options ask for that."""
    size = header.length + LOG_OVERHEAD
    if size > config.message_bytes_max and origin is not AppendOrigin.QUORUM:
        raise _too_large(size, config)
    batch = view[position : position + size]
    if crc32c(batch[CRC_START:]) != header.crc:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "The batch's checksum does not match.")
    if header.attributes & CODEC_MASK > Codec.ZSTD:
        raise invalid(f"Compression codec {header.codec} is unknown.")
    if origin is AppendOrigin.QUORUM:
        return Accepted(header, batch, -1)
    if origin is AppendOrigin.CLIENT:
        _check_client_header(header)
        plain, spread_ms = _prove(header, batch)
        largest = _check_records(header, plain, spread_ms, config, now_ms)
        return _rewrite(header, batch, plain, largest, config, now_ms)
    return _rewrite(header, batch, None, header.max_timestamp, config, now_ms)


def _check_client_header(header: BatchHeader) -> None:
    if header.base_offset != 0:
        raise invalid(f"The batch's base offset should be 0, but it is {header.base_offset}.")
    delta, count = header.last_offset_delta, header.count
    if delta < 0 or count <= 0:
        raise invalid(f"The batch claims {count} records.")
    if delta + 1 != count:
        raise invalid(f"The batch spans {delta + 1} offsets with {count} records.")
    if header.attributes & CONTROL:
        raise invalid("Clients may not write control batches.")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise invalid(f"Producer {header.producer_id} sent sequence {header.base_sequence}.")


def _prove(header: BatchHeader, batch: memoryview) -> tuple[bytes, int]:
    """The plain records, once it is certain that they are what the header counts; and how far at
    most their timestamps are from the first."""
    plain = bytes(payload_of(batch, 0, header))
    try:
        spread_ms = prove_records(plain, header.count, in_order=header.codec != Codec.NONE)
    except (IndexError, ValueError) as error:
        raise invalid(
            f"The batch claims {header.count} records, and its bytes are not that: {error}."
        ) from error
    return plain, spread_ms


def _check_records(
    header: BatchHeader, plain: bytes, spread_ms: int, config: LogConfig, now_ms: int
) -> int:
    """The largest timestamp; the header's, unless each record has to be looked at."""
    in_time = not _may_be_out_of_time(header, config, now_ms, spread_ms)
    if in_time and not config.compact:
        return header.max_timestamp
    newest = now_ms + config.timestamp_after_max_ms
    oldest = now_ms - config.timestamp_before_max_ms
    try:
        columns = read_columns(plain, header.count)
    except (IndexError, ValueError) as error:
        raise corrupt("A record of the batch is malformed.") from error
    largest = header.base_timestamp + max(columns.timestamps)
    smallest = header.base_timestamp + min(columns.timestamps)
    in_time = config.log_append_time or (oldest <= smallest and largest <= newest)
    if in_time and not (config.compact and None in columns.keys):
        return max(largest, -1)
    return _check_each(header, plain, config, oldest, newest)


def _check_each(
    header: BatchHeader, plain: bytes, config: LogConfig, oldest: int, newest: int
) -> int:
    """Some may have to be refused: by name."""
    largest = -1
    keyless: list[tuple[int, str]] = []
    out_of_time: list[tuple[int, str]] = []
    records = skim_records(plain, header)
    for index, (timestamp, has_key) in enumerate(records):
        largest = max(largest, timestamp)
        if config.compact and not has_key:
            keyless.append((index, "A compacted topic takes only records with a key."))
        elif not config.log_append_time and not (timestamp == -1 or oldest <= timestamp <= newest):
            out_of_time.append(
                (index, f"Timestamp {timestamp} is outside of {oldest} to {newest}.")
            )
    if keyless:
        raise InvalidRecords(
            ErrorCode.INVALID_RECORD,
            "Some records have no key; a compacted topic needs one.",
            keyless,
        )
    if out_of_time:
        raise InvalidRecords(
            ErrorCode.INVALID_TIMESTAMP,
            "Some timestamps are outside of the topic's limits.",
            out_of_time,
        )
    return largest


def _may_be_out_of_time(
    header: BatchHeader, config: LogConfig, now_ms: int, spread_ms: int = 0
) -> bool:
    """Without a lower limit the first timestamp and the largest mostly settle the matter."""
    if config.log_append_time:
        return False
    if config.timestamp_before_max_ms != NEVER_MS:
        return True
    newest = now_ms + config.timestamp_after_max_ms
    return header.max_timestamp > newest or header.base_timestamp + spread_ms > newest


def _rewrite(
    header: BatchHeader,
    batch: memoryview,
    plain: bytes | None,
    largest: int,
    config: LogConfig,
    now_ms: int,
) -> Accepted:
    """`plain` are the records without compression, where they were looked at, `largest` is their
    largest timestamp: a header that says something else would mislead retention."""
    stamp = config.log_append_time
    attributes = header.attributes
    lies = largest != header.max_timestamp or bool(attributes & LOG_APPEND_TIME)
    recompress = config.codec is not None and header.codec != config.codec and not header.is_control
    if not recompress and not stamp and not lies:
        return Accepted(header, batch, -1)
    append_time = now_ms if stamp else -1
    attributes &= ~LOG_APPEND_TIME
    if stamp:
        attributes |= LOG_APPEND_TIME
    payload: Buffer = batch[HEADER_SIZE:]
    if recompress:
        _check_producer(header)
        assert config.codec is not None
        attributes = (attributes & ~CODEC_MASK) | config.codec
        if plain is None:
            payload = payload_of(batch, 0, header)
        payload = compress(
            config.codec, payload if plain is None else plain, config.compression_level
        )
    renewed = seal_batch(
        header._replace(attributes=attributes, max_timestamp=now_ms if stamp else largest),
        payload,
    )
    if len(renewed) > config.message_bytes_max:
        raise _too_large(len(renewed), config)
    return Accepted(read_header(renewed), memoryview(renewed), append_time)


def _check_producer(header: BatchHeader) -> None:
    """Kafka builds a batch that it compresses anew itself, and only then asks for this."""
    if header.producer_id >= 0 and header.producer_epoch < 0:
        raise invalid(f"Producer {header.producer_id} sent epoch {header.producer_epoch}.")
    if header.producer_id < 0 and header.is_transactional:
        raise invalid("A batch of a transaction has no producer id.")


def _too_large(size: int, config: LogConfig) -> KafkaError:
    return KafkaError(
        ErrorCode.MESSAGE_TOO_LARGE,
        f"The batch of {size} bytes exceeds the limit of {config.message_bytes_max} bytes.",
    )
