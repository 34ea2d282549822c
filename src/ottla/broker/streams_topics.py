"""Topics that the broker makes for Kafka Streams applications."""

from collections.abc import Iterable

from ottla.broker.services import ActiveController
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.streams.topics import MissingTopic
from ottla.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

TIMEOUT_S = 3.0
"""A heartbeat waits for it: its member must hear from us within its session."""


async def make_topics(
    missing: Iterable[MissingTopic], controller: ActiveController
) -> dict[str, str]:
    """Why not, for those that could not be made."""
    topics = [_creatable(topic) for topic in missing]
    request = CreateTopicsRequest(topics=topics, timeout_ms=int(TIMEOUT_S * 1000))
    try:
        response = await controller.ask(request, CreateTopicsResponse, TIMEOUT_S)
    except KafkaError as error:
        return {topic.name: str(error) for topic in topics}
    return {
        topic.name: topic.error_message or ErrorCode(topic.error_code).name
        for topic in response.topics
        if topic.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
    }


def _creatable(topic: MissingTopic) -> CreatableTopic:
    return CreatableTopic(
        name=topic.name,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        configs=[CreatableTopicConfig(name=k, value=v) for k, v in topic.configs.items()],
    )
