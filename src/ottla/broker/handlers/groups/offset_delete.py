"""OffsetDelete: a group forgets how far it was in topics that it no longer reads."""

from collections.abc import Sequence

from ottla.broker.services import GroupServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode
from ottla.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


async def handle(
    request: OffsetDeleteRequest, context: RequestContext, services: GroupServices
) -> OffsetDeleteResponse:
    unknown: list[OffsetDeleteResponseTopic] = []
    known: list[OffsetDeleteRequestTopic] = []
    for topic in request.topics:
        found = services.cluster.image.topics_by_name.get(topic.name)
        exists = () if found is None else found.partitions
        missing = [part for part in topic.partitions if part.partition_index not in exists]
        if missing or found is None:
            unknown.append(_unknown(topic.name, missing))
        topic.partitions = [part for part in topic.partitions if part.partition_index in exists]
        if topic.partitions:
            known.append(topic)
    request.topics = known
    response = await services.coordinator.delete_offsets(request)
    if unknown:
        response.topics = _merged(unknown, response.topics)
    return response


def _unknown(
    name: str, partitions: Sequence[OffsetDeleteRequestPartition]
) -> OffsetDeleteResponseTopic:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return OffsetDeleteResponseTopic(
        name=name,
        partitions=[
            OffsetDeleteResponsePartition(partition_index=part.partition_index, error_code=code)
            for part in partitions
        ],
    )


def _merged(
    refused: list[OffsetDeleteResponseTopic], answered: list[OffsetDeleteResponseTopic]
) -> list[OffsetDeleteResponseTopic]:
    """Each topic once, however often it was asked for."""
    merged: dict[str, OffsetDeleteResponseTopic] = {}
    for topic in (*refused, *answered):
        known = merged.setdefault(topic.name, topic)
        if known is not topic:
            known.partitions += topic.partitions
    return list(merged.values())
