"""Topics that the broker keeps its own state in: made when they are first needed."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from ottla.config import Settings
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

if TYPE_CHECKING:
    from ottla.broker.services import ActiveController

CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
SHARE_GROUP_STATE = "__share_group_state"
CREATE_TIMEOUT_MS = 30_000


class InternalTopic(NamedTuple):
    """The options that say how it is made, and what is set on it."""

    partitions: str
    replication_factor: str
    configs: Mapping[str, str]  # name → its value, or the option that has it


INTERNAL_TOPICS = {
    CONSUMER_OFFSETS: InternalTopic(
        "offsets.topic.num.partitions",
        "offsets.topic.replication.factor",
        {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": "offsets.topic.segment.bytes",
        },
    ),
    TRANSACTION_STATE: InternalTopic(
        "transaction.state.log.num.partitions",
        "transaction.state.log.replication.factor",
        {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": "transaction.state.log.min.isr",
            "segment.bytes": "transaction.state.log.segment.bytes",
            "unclean.leader.election.enable": "false",
        },
    ),
    SHARE_GROUP_STATE: InternalTopic(
        "share.coordinator.state.topic.num.partitions",
        "share.coordinator.state.topic.replication.factor",
        {
            "cleanup.policy": "delete",
            "compression.type": "producer",
            "min.insync.replicas": "share.coordinator.state.topic.min.isr",
            "retention.ms": "-1",
            "segment.bytes": "share.coordinator.state.topic.segment.bytes",
        },
    ),
}


def new_topic(name: str, settings: Settings) -> CreatableTopic:
    """What to ask the controller for: an internal topic, or one of a client's as it comes."""
    made = INTERNAL_TOPICS.get(name)
    if made is None:
        return CreatableTopic(name=name, num_partitions=-1, replication_factor=-1)
    return CreatableTopic(
        name=name,
        num_partitions=settings.int(made.partitions),
        replication_factor=settings.int(made.replication_factor),
        configs=[
            CreatableTopicConfig(
                name=option, value=str(settings.int(value)) if "." in value else value
            )
            for option, value in made.configs.items()
        ],
    )


async def create_internal_topic(
    name: str, settings: Settings, controller: "ActiveController"
) -> None:
    """Return when the topic is there; COORDINATOR_NOT_AVAILABLE where that must wait."""
    topic = new_topic(name, settings)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=CREATE_TIMEOUT_MS)
    response = await controller.ask(request, CreateTopicsResponse)
    code = response.topics[0].error_code
    if code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
        raise KafkaError(
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
            f"{name} could not be made: {response.topics[0].error_message or ErrorCode(code).name}",
        )
