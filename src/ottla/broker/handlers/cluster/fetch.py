"""Fetch as the quorum's members ask it, on a controller's listener; a refusal is told here."""

from ottla.errors import ErrorCode, KafkaError
from ottla.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)


def refuse(request: FetchRequest, error: KafkaError) -> FetchResponse:
    """For each partition as well where topics still have names (to version 12), unless it is the
    quorum that refuses."""
    return FetchResponse(
        error_code=error.code,
        responses=[
            FetchableTopicResponse(
                topic=topic.topic,
                partitions=[
                    PartitionData(
                        partition_index=one.partition, error_code=error.code, high_watermark=-1
                    )
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
            if topic.topic and error.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        ],
    )
