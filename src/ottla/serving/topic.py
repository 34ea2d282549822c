"""A compacted topic of one partition: created or checked, and where its leader is.

What is read from and written to it is `topic_state`.
"""

import asyncio
from typing import NamedTuple

from ottla.client.wire_client import Address, WireClient
from ottla.errors import ErrorCode, OttlaError
from ottla.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from ottla.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from ottla.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

RETRY_S = 0.1
_TOPIC_RESOURCE = 2
_NOT_YET = (
    ErrorCode.NONE,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
)


class Led(NamedTuple):
    """Where the partition is led, and the id of its topic."""

    address: Address
    topic_id: bytes
    cluster_id: str


async def leader_of(client: WireClient, topic: str) -> Led | None:
    """None while nobody leads it, or there is no such topic."""
    found = await _described(client, topic)
    if found is None:
        return None
    answer, described = found
    if not described.partitions:
        return None
    leader = described.partitions[0].leader_id
    for broker in answer.brokers:
        if broker.node_id == leader:
            return Led((broker.host, broker.port), described.topic_id, answer.cluster_id or "")
    return None


async def ensure(client: WireClient, topic: str, replicas: int, timeout_s: float) -> Led:
    """The topic, created where it is missing; OttlaError for one that cannot hold a state."""
    async with asyncio.timeout(timeout_s):
        while True:
            found = await _described(client, topic)
            if found is None:
                await _create(client, topic, replicas)
            else:
                await _check(client, topic, found[1])
                led = await leader_of(client, topic)
                if led is not None:
                    return led
            await asyncio.sleep(RETRY_S)


async def _described(
    client: WireClient, topic: str
) -> tuple[MetadataResponse, MetadataResponseTopic] | None:
    ask = MetadataRequest(
        topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
    )
    answer = await client.ask_any(ask, MetadataResponse)
    client.also_at((broker.host, broker.port) for broker in answer.brokers)
    (described,) = answer.topics
    if described.error_code not in _NOT_YET:
        raise OttlaError(f"Topic {topic}: {ErrorCode(described.error_code).name}.")
    if described.error_code in (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ):
        return None
    return answer, described


async def _create(client: WireClient, topic: str, replicas: int) -> None:
    answer = await client.ask_any(MetadataRequest(topics=[]), MetadataResponse)
    wanted = CreatableTopic(
        name=topic,
        num_partitions=1,
        replication_factor=max(1, min(replicas, len(answer.brokers))),
        configs=[CreatableTopicConfig(name="cleanup.policy", value="compact")],
    )
    request = CreateTopicsRequest(topics=[wanted], timeout_ms=10_000)
    controller = next(
        ((b.host, b.port) for b in answer.brokers if b.node_id == answer.controller_id), None
    )
    created = None
    if controller is not None:
        created = await client.ask(controller, request, CreateTopicsResponse)
    if created is None:
        created = await client.ask_any(request, CreateTopicsResponse)
    (result,) = created.topics
    if result.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
        reason = result.error_message or ErrorCode(result.error_code).name
        raise OttlaError(f"Topic {topic} cannot be created: {reason.rstrip('.')}.")


async def _check(client: WireClient, topic: str, described: MetadataResponseTopic) -> None:
    if len(described.partitions) > 1:
        raise OttlaError(
            f"Topic {topic} has {len(described.partitions)} partitions. Records that depend on "
            "each other need one order: name a topic with one partition."
        )
    asked = DescribeConfigsResource(
        resource_type=_TOPIC_RESOURCE,
        resource_name=topic,
        configuration_keys=["cleanup.policy"],
    )
    answer = await client.ask_any(
        DescribeConfigsRequest(resources=[asked]), DescribeConfigsResponse
    )
    for result in answer.results:
        for config in result.configs:
            if config.name == "cleanup.policy" and config.value != "compact":
                raise OttlaError(
                    f"Topic {topic} has cleanup.policy={config.value}: old records would be lost. "
                    f"Set cleanup.policy=compact."
                )
