"""FindCoordinator: which broker keeps a group, a transactional id, or a share group's partition.

It is the leader of the partition that the key's hash falls on. The internal topic is made with
the first question; the client is answered when that is done. v4 (KIP-699): several keys instead of
one; v6 (KIP-932): partitions of share groups.
"""

import asyncio
import re

from ottla.broker.cluster_view import ClusterView
from ottla.broker.internal_topics import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    create_internal_topic,
)
from ottla.broker.services import BrokerServices
from ottla.broker.transport.context import RequestContext
from ottla.coordination.java_hash import java_hash
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

GROUP, TRANSACTION, SHARE = 0, 1, 2
TOPICS = {GROUP: CONSUMER_OFFSETS, TRANSACTION: TRANSACTION_STATE, SHARE: SHARE_GROUP_STATE}
SEVERAL_KEYS_SINCE = 4
SHARE_SINCE = 6
SHARE_PARTITION = re.compile(r"(.*):[A-Za-z0-9_-]{22}(?:==)?:([+-]?[0-9]{1,10})", re.DOTALL)
WAIT_FOR_LEADER_S = 2.0
LOOK_EVERY_S = 0.01


async def handle(
    request: FindCoordinatorRequest, context: RequestContext, services: BrokerServices
) -> FindCoordinatorResponse:
    if services.suspects.exist:
        await services.suspects.settled()
    several = context.api_version >= SEVERAL_KEYS_SINCE
    keys = request.coordinator_keys if several else [request.key]
    found = [await _find(key, request.key_type, context, services) for key in keys]
    if several:
        return FindCoordinatorResponse(coordinators=found)
    only = found[0]
    return FindCoordinatorResponse(
        error_code=only.error_code,
        error_message=only.error_message,
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )


async def _find(
    key: str, key_type: int, context: RequestContext, services: BrokerServices
) -> Coordinator:
    try:
        _check(key, key_type, context.api_version)
        return await _leader(key, TOPICS[key_type], context, services)
    except KafkaError as refusal:
        return Coordinator(
            key=key, node_id=-1, port=-1, error_code=refusal.code, error_message=refusal.message
        )


def _check(key: str, key_type: int, api_version: int) -> None:
    if key_type not in TOPICS or (key_type == SHARE and api_version < SHARE_SINCE):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{key_type} is not a type of coordinator.")
    if key_type == SHARE and not _is_share_partition(key):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The key must be group:topic-id:partition.")


def _is_share_partition(key: str) -> bool:
    found = SHARE_PARTITION.fullmatch(key)
    return found is not None and bool(found[1].strip()) and -(2**31) <= int(found[2]) < 2**31


async def _leader(
    key: str, topic_name: str, context: RequestContext, services: BrokerServices
) -> Coordinator:
    if topic_name not in services.cluster.image.topics_by_name:
        await create_internal_topic(topic_name, services.cluster.settings, services.controller)
    deadline = services.cluster.clock.monotonic() + WAIT_FOR_LEADER_S
    found = _reachable_leader(key, topic_name, context, services.cluster)
    if found is not None and found.node_id != services.cluster.node_id:
        await services.presence.look_for([found.node_id])
    while True:
        found = _reachable_leader(key, topic_name, context, services.cluster)
        if found is not None:
            return found
        if services.cluster.clock.monotonic() >= deadline:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        await asyncio.sleep(LOOK_EVERY_S)


def _reachable_leader(
    key: str, topic_name: str, context: RequestContext, cluster: ClusterView
) -> Coordinator | None:
    topic = cluster.image.topics_by_name.get(topic_name)
    if topic is None or not topic.partitions:
        return None
    partition = topic.partitions[java_hash(key) % len(topic.partitions)]
    for node_id, host, port, _ in cluster.endpoints([partition.leader], context.listener_name):
        return Coordinator(key=key, node_id=node_id, host=host, port=port)
    return None


def refuse(request: FindCoordinatorRequest, error: KafkaError) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(
        error_code=error.code,
        error_message=error.message,
        node_id=-1,
        port=-1,
        coordinators=[
            Coordinator(key=key, node_id=-1, port=-1, error_code=error.code)
            for key in request.coordinator_keys
        ],
    )
