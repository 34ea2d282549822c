"""A compacted topic that holds a state: created or checked, and where its partitions are led.

What is read from and written to it is `topic_state`.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True)
class StateTopic:
    name: str
    partitions: int = 1  # as it is created
    replicas: int = 3  # at most as many as there are brokers; -1: the brokers' default
    in_one_order: bool = True  # more than one partition is refused
    settings: Mapping[str, str] = field(default_factory=dict)  # as it is created


class Led(NamedTuple):
    """Where each partition is led, and the id of their topic."""

    addresses: tuple[Address, ...]
    topic_id: bytes
    cluster_id: str

    @property
    def partitions(self) -> range:
        return range(len(self.addresses))


async def leaders_of(client: WireClient, topic: str) -> Led | None:
    """None while one of its partitions has no leader, or there is no such topic."""
    found = await _described(client, topic)
    if found is None:
        return None
    answer, described = found
    brokers = {one.node_id: (one.host, one.port) for one in answer.brokers}
    leaders = {one.partition_index: one.leader_id for one in described.partitions}
    if not leaders or not brokers.keys() >= set(leaders.values()):
        return None
    addresses = tuple(brokers[leaders[index]] for index in sorted(leaders))
    return Led(addresses, described.topic_id, answer.cluster_id or "")


async def ensure(client: WireClient, topic: StateTopic, timeout_s: float) -> Led:
    """The topic, created where it is missing; OttlaError for one that cannot hold a state."""
    async with asyncio.timeout(timeout_s):
        while True:
            found = await _described(client, topic.name)
            if found is None:
                await _create(client, topic)
            else:
                await _check(client, topic, found[1])
                led = await leaders_of(client, topic.name)
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


async def _create(client: WireClient, topic: StateTopic) -> None:
    answer = await client.ask_any(MetadataRequest(topics=[]), MetadataResponse)
    settings = {**topic.settings, "cleanup.policy": "compact"}
    replicas = min(topic.replicas, len(answer.brokers))
    wanted = CreatableTopic(
        name=topic.name,
        num_partitions=topic.partitions,
        replication_factor=replicas if topic.replicas < 0 else max(1, replicas),
        configs=[CreatableTopicConfig(name=name, value=said) for name, said in settings.items()],
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
        raise OttlaError(f"Topic {topic.name} cannot be created: {reason.rstrip('.')}.")


async def _check(client: WireClient, topic: StateTopic, described: MetadataResponseTopic) -> None:
    if topic.in_one_order and len(described.partitions) > 1:
        raise OttlaError(
            f"Topic {topic.name} has {len(described.partitions)} partitions. Records that depend "
            "on each other need one order: name a topic with one partition."
        )
    asked = DescribeConfigsResource(
        resource_type=_TOPIC_RESOURCE,
        resource_name=topic.name,
        configuration_keys=["cleanup.policy"],
    )
    answer = await client.ask_any(
        DescribeConfigsRequest(resources=[asked]), DescribeConfigsResponse
    )
    for result in answer.results:
        for config in result.configs:
            if config.name == "cleanup.policy" and config.value != "compact":
                raise OttlaError(
                    f"Topic {topic.name} has cleanup.policy={config.value}: old records would be "
                    "lost. Set cleanup.policy=compact."
                )
