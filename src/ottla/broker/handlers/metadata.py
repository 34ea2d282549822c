"""Metadata: who is there, and who leads what. Topics asked for by name may be made on the way.

Versions: 1 null means all topics, 4 the client may forbid making topics, 5 offline replicas,
7 leader epochs, 8 allowed operations, 10 topic ids, 12 topics by id.
"""

from collections.abc import Awaitable

from ottla.broker.authorized import CLUSTER_OPERATIONS, TOPIC_OPERATIONS
from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.broker.internal_topics import INTERNAL_TOPICS
from ottla.broker.topics_on_demand import create_on_demand
from ottla.controller.naming import why_missing
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import ZERO_UUID
from ottla.metadata.image import NO_LEADER, Partition, Topic
from ottla.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


def handle(
    request: MetadataRequest, context: RequestContext, broker: Broker
) -> MetadataResponse | Awaitable[MetadataResponse]:
    if broker.suspects.exist or (request.topics and len(broker.image.brokers) > 1):
        return _when_settled(request, context, broker)
    return _describe_or_create(request, context, broker)


async def _when_settled(
    request: MetadataRequest, context: RequestContext, broker: Broker
) -> MetadataResponse:
    await broker.presence.look_for(_leaders(request, broker))
    response = _describe_or_create(request, context, broker)
    return response if isinstance(response, MetadataResponse) else await response


def _leaders(request: MetadataRequest, broker: Broker) -> set[int]:
    """The other brokers that a client will turn to."""
    image = broker.image
    leaders: set[int] = set()
    for asked in request.topics or ():
        named = image.topics_by_name.get(asked.name) if asked.name is not None else None
        topic = named or image.topics_by_id.get(asked.topic_id)
        if topic is not None:
            leaders.update(partition.leader for partition in topic.partitions.values())
    return leaders - {NO_LEADER, broker.node_id}


def _describe_or_create(
    request: MetadataRequest, context: RequestContext, broker: Broker
) -> MetadataResponse | Awaitable[MetadataResponse]:
    missing = [
        topic.name
        for topic in request.topics or ()
        if topic.name is not None and topic.name not in broker.image.topics_by_name
    ]
    may_create = request.allow_auto_topic_creation
    if missing and may_create and broker.settings.flag("auto.create.topics.enable"):
        return _create_and_describe(missing, request, context, broker)
    return describe(request, context, broker, {})


async def _create_and_describe(
    missing: list[str], request: MetadataRequest, context: RequestContext, broker: Broker
) -> MetadataResponse:
    refused = await create_on_demand(missing, broker)
    return describe(request, context, broker, refused)


def refuse(request: MetadataRequest, error: KafkaError) -> MetadataResponse:
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(error_code=error.code, name=topic.name, topic_id=topic.topic_id)
            for topic in request.topics or ()
        ],
        error_code=error.code,
    )


def describe(
    request: MetadataRequest,
    context: RequestContext,
    broker: Broker,
    refused: dict[str, ErrorCode],
) -> MetadataResponse:
    view = View(context, broker)
    asks_for_all = request.topics is None or (context.api_version == 0 and not request.topics)
    if asks_for_all:
        topics = [view.topic(topic) for topic in broker.image.topics_by_name.values()]
    else:
        assert request.topics is not None
        topics = [_asked_for(topic, view, refused) for topic in request.topics]
    if request.include_topic_authorized_operations:
        for topic in topics:
            if topic.error_code == ErrorCode.NONE:
                topic.topic_authorized_operations = TOPIC_OPERATIONS
    response = MetadataResponse(
        brokers=view.brokers(),
        cluster_id=broker.cluster_id,
        controller_id=view.controller_id(),
        topics=topics,
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response


def _asked_for(
    asked: MetadataRequestTopic, view: "View", refused: dict[str, ErrorCode]
) -> MetadataResponseTopic:
    image = view.broker.image
    if asked.topic_id != ZERO_UUID:
        found = image.topics_by_id.get(asked.topic_id)
        if found is not None:
            return view.topic(found)
        return MetadataResponseTopic(
            error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=asked.topic_id
        )
    if asked.name is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "A topic has neither a name nor an id.")
    found = image.topics_by_name.get(asked.name)
    if found is not None:
        return view.topic(found)
    code = refused.get(asked.name) or why_missing(asked.name)
    return MetadataResponseTopic(
        error_code=code, name=asked.name, is_internal=asked.name in INTERNAL_TOPICS
    )


class View:
    """The image as a client of one listener sees it."""

    def __init__(self, context: RequestContext, broker: Broker) -> None:
        self.broker = broker
        self.version = context.api_version
        self._listener_name = context.listener_name
        self._reachable = {
            node.id: listener
            for node in broker.image.brokers.values()
            if not node.fenced and (listener := node.listener(context.listener_name)) is not None
        }

    def brokers(self) -> list[MetadataResponseBroker]:
        nodes = self.broker.image.brokers
        listed = dict(self._reachable)
        for node_id in self.broker.suspects.left_lately(self.broker.now()):
            listener = nodes[node_id].listener(self._listener_name) if node_id in nodes else None
            if listener is not None:
                listed[node_id] = listener
        return [
            MetadataResponseBroker(
                node_id=node_id, host=listener.host, port=listener.port, rack=nodes[node_id].rack
            )
            for node_id, listener in listed.items()
        ]

    def controller_id(self) -> int:
        """Any broker will do: all of them pass on what is for the controller."""
        if self.broker.node_id in self._reachable:
            return self.broker.node_id
        return next(iter(self._reachable), -1)

    def topic(self, topic: Topic) -> MetadataResponseTopic:
        return MetadataResponseTopic(
            name=topic.name,
            topic_id=topic.id,
            is_internal=topic.name in INTERNAL_TOPICS,
            partitions=[
                self._partition(index, partition)
                for index, partition in sorted(topic.partitions.items())
            ],
        )

    def _partition(self, index: int, partition: Partition) -> MetadataResponsePartition:
        leader = partition.leader
        error = ErrorCode.NONE
        if leader not in self._reachable:
            known = self.broker.image.brokers.get(leader)
            lacks_listener = known is not None and not known.fenced and self.version >= 6
            error = (
                ErrorCode.LISTENER_NOT_FOUND if lacks_listener else ErrorCode.LEADER_NOT_AVAILABLE
            )
            leader = -1
        return MetadataResponsePartition(
            error_code=error,
            partition_index=index,
            leader_id=leader,
            leader_epoch=partition.leader_epoch,
            replica_nodes=list(partition.replicas),
            isr_nodes=list(partition.isr),
            offline_replicas=[
                node for node in partition.replicas if not self._online(node, partition)
            ],
        )

    def _online(self, node_id: int, partition: Partition) -> bool:
        if node_id not in self._reachable:
            return False
        return self.broker.image.brokers[node_id].holds(partition.directory(node_id))
