"""What is wrong with a Produce as it came, whoever leads: judged before anything is appended."""

from typing import TYPE_CHECKING

from ottla.errors import ErrorCode, KafkaError
from ottla.log.validation import LEGACY_OVERHEAD, NotOneBatch, check_alone, next_batch
from ottla.wire.compression import Codec
from ottla.wire.messages.produce import PartitionProduceData, ProduceRequest
from ottla.wire.record_batch import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    HEADER_SIZE,
    LENGTH_AND_MAGIC,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    TRANSACTIONAL,
)

if TYPE_CHECKING:
    from ottla.broker.cluster_view import ClusterView

FIRST_WITH_ZSTD = 7


def check_batch(data: PartitionProduceData, version: int) -> None:
    """What the request's version allows."""
    view = memoryview(data.records or b"")
    header = next_batch(view, 0)
    if header is None:
        raise NotOneBatch("There is no whole batch in the request.")
    if version < FIRST_WITH_ZSTD and header.codec == Codec.ZSTD:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            f"Version {version} of Produce does not know zstd.",
        )
    check_alone(view, header)


def refusal_of_all(request: ProduceRequest) -> KafkaError | None:
    """A first batch that cannot be read, or one of a transaction without its name, refuses the
    request. Kafka looks no further than the first batch of a transaction."""
    for topic in request.topic_data:
        for data in topic.partition_data:
            records = data.records
            if records is None or len(records) <= MAGIC_AT:
                continue
            length, magic = LENGTH_AND_MAGIC.unpack_from(records, LENGTH_AT)
            if length < LEGACY_OVERHEAD or magic > MAGIC:
                return KafkaError(ErrorCode.CORRUPT_MESSAGE, "A batch cannot be read.")
            if length + LOG_OVERHEAD > len(records) or magic < MAGIC:
                continue
            if records[ATTRIBUTES_AT] & TRANSACTIONAL:
                if request.transactional_id is not None:
                    return None
                return KafkaError(
                    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                    "A batch of a transaction comes without a transactional id.",
                )
    return None


def refusal_of_codecs(request: ProduceRequest, cluster: "ClusterView") -> KafkaError | None:
    """Versions before zstd look at codecs before they append anything; Kafka fails at one that it
    does not know. It does not look at batches of partitions that do not exist."""
    for topic in request.topic_data:
        for data in topic.partition_data:
            records = data.records
            if records is None or len(records) < HEADER_SIZE or records[MAGIC_AT] != MAGIC:
                continue
            is_unknown = records[ATTRIBUTES_AT] & CODEC_MASK > Codec.ZSTD
            if is_unknown and cluster.partition_state(topic.name, topic.topic_id, data.index):
                return KafkaError(ErrorCode.INVALID_RECORD, "A batch has an unknown codec.")
    return None
