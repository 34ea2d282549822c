"""What a member answers for records it took, in either of the two requests that carry it."""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from typing import Protocol

from ottla.broker.share.sessions import Partition, SessionKey
from ottla.broker.share.shares import AcknowledgementBatch, Shares
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share.acknowledging import Acknowledge
from ottla.ids import Uuid
from ottla.metadata.image import Image

WITH_RENEW = 2


class AnsweredPartition(Protocol):
    partition_index: int

    @property
    def acknowledgement_batches(self) -> Sequence[AcknowledgementBatch]: ...


class AnsweredTopic(Protocol):
    topic_id: Uuid

    @property
    def partitions(self) -> Sequence[AnsweredPartition]: ...


Outcomes = dict[Partition, KafkaError | None]


async def acknowledge(
    shares: Shares,
    image: Image,
    key: SessionKey,
    topics: Iterable[AnsweredTopic],
    *,
    version: int,
    is_renewal: bool,
) -> Outcomes:
    """How it went with each partition; one without batches is told of only beside others. All
    are begun before the first is waited for."""
    outcomes: Outcomes = {}
    asked: dict[Partition, Sequence[AcknowledgementBatch]] = {}
    for topic in topics:
        for part in topic.partitions:
            partition = (topic.topic_id, part.partition_index)
            batches = part.acknowledgement_batches
            refusal = _refusal(image, partition, batches, version, is_renewal)
            if refusal is not None:
                outcomes[partition] = KafkaError(refusal)
            else:
                asked[partition] = batches
    if not any(asked.values()):
        return outcomes
    begun: dict[Partition, Awaitable[None]] = {}
    for partition, batches in asked.items():
        outcomes[partition] = None
        try:
            if batches:
                begun[partition] = shares.acknowledge(key, *partition, batches)
        except KafkaError as refusal:
            outcomes[partition] = refusal
    written = await asyncio.gather(*map(_written, begun.values()))
    return outcomes | dict(zip(begun, written, strict=True))


async def _written(answer: Awaitable[None]) -> KafkaError | None:
    try:
        await answer
    except KafkaError as refusal:
        return refusal
    return None


def _refusal(
    image: Image,
    partition: Partition,
    batches: Sequence[AcknowledgementBatch],
    version: int,
    is_renewal: bool,
) -> ErrorCode | None:
    topic = image.topics_by_id.get(partition[0])
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if not _is_well_formed(batches, version, is_renewal):
        return ErrorCode.INVALID_REQUEST
    if partition[1] not in topic.partitions:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return None


def _is_well_formed(
    batches: Sequence[AcknowledgementBatch], version: int, is_renewal: bool
) -> bool:
    """In order, with one type for all records or one for each, and renewals only as announced."""
    last_type = Acknowledge.RENEW if version >= WITH_RENEW and is_renewal else Acknowledge.REJECT
    last_offset = -1
    for batch in batches:
        types, count = batch.acknowledge_types, batch.last_offset - batch.first_offset + 1
        if count < 1 or batch.first_offset < last_offset or not types:
            return False
        if len(types) not in (1, count) or not 0 <= min(types) <= max(types) <= last_type:
            return False
        last_offset = batch.last_offset
    return True
