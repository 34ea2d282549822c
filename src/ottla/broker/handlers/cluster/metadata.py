"""Metadata: who is there, and who leads what.

A topic asked for by name that is not there may be made (`auto.create.topics.enable`); the client is
told that it is unknown and asks again, as with Apache Kafka.

Versions: 0 leaves out brokers that are gone, 1 null means all topics, 4 the client may forbid
making topics, 5 offline replicas, 6 LISTENER_NOT_FOUND, 7 leader epochs, 8 allowed operations,
10 topic ids in answers, 12 topics by id (where one is, names do not count), 13 an error of its own.
"""

from collections.abc import Awaitable

from ottla.broker.access import CLUSTER, Resource, authorized_operations
from ottla.broker.cluster_view import ClusterView
from ottla.broker.forwarding import origin_of
from ottla.broker.internal_topics import INTERNAL_TOPICS
from ottla.broker.services import BrokerServices
from ottla.broker.transport.context import RequestContext
from ottla.controller.naming import why_missing
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import ZERO_UUID, Uuid
from ottla.metadata.image import NO_LEADER, PartitionRegistration, Topic
from ottla.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

TOPICS_BY_ID = 12


def handle(
    request: MetadataRequest, context: RequestContext, services: BrokerServices
) -> MetadataResponse | Awaitable[MetadataResponse]:
    _check(request, context.api_version)
    if services.suspects.exist or (request.topics and len(services.cluster.image.brokers) > 1):
        return _when_settled(request, context, services)
    return _describe_and_create(request, context, services)


def _check(request: MetadataRequest, version: int) -> None:
    for topic in request.topics or ():
        if version < TOPICS_BY_ID and (topic.name is None or topic.topic_id != ZERO_UUID):
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, f"Version {version} asks for topics by their names."
            )
        if topic.name is None and topic.topic_id == ZERO_UUID:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "A topic has neither a name nor an id.")


async def _when_settled(
    request: MetadataRequest, context: RequestContext, services: BrokerServices
) -> MetadataResponse:
    await services.presence.look_for(_leaders(request, services.cluster))
    return _describe_and_create(request, context, services)


def _leaders(request: MetadataRequest, cluster: ClusterView) -> set[int]:
    """The other brokers that a client will turn to."""
    image = cluster.image
    leaders: set[int] = set()
    for asked in request.topics or ():
        named = image.topics_by_name.get(asked.name) if asked.name is not None else None
        topic = named or image.topics_by_id.get(asked.topic_id)
        if topic is not None:
            leaders.update(partition.leader for partition in topic.partitions.values())
    return leaders - {NO_LEADER, cluster.node_id}


def _describe_and_create(
    request: MetadataRequest, context: RequestContext, services: BrokerServices
) -> MetadataResponse:
    response = describe(request, context, services)
    missing = [
        topic.name
        for topic in response.topics
        if topic.name is not None and topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ]
    may_create = request.allow_auto_topic_creation
    if missing and may_create and services.cluster.settings.flag("auto.create.topics.enable"):
        services.topics_on_demand.create(missing, origin_of(context))
    return response


def refuse(request: MetadataRequest, error: KafkaError) -> MetadataResponse:
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(
                error_code=error.code, name=topic.name or "", topic_id=topic.topic_id
            )
            for topic in request.topics or ()
        ],
        error_code=error.code,
    )


def describe(
    request: MetadataRequest, context: RequestContext, services: BrokerServices
) -> MetadataResponse:
    view = View(context, services)
    unknown_ids, topics = _asked_for(request, view)
    if request.include_topic_authorized_operations:
        for topic in topics:
            topic.topic_authorized_operations = authorized_operations(
                services.cluster.access, context, Resource.TOPIC, topic.name or ""
            )
    response = MetadataResponse(
        brokers=view.brokers(),
        cluster_id=services.cluster.cluster_id,
        controller_id=view.controller_id(),
        topics=unknown_ids + topics,
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = authorized_operations(
            services.cluster.access, context, Resource.CLUSTER, CLUSTER
        )
    return response


def _asked_for(
    request: MetadataRequest, view: "View"
) -> tuple[list[MetadataResponseTopic], list[MetadataResponseTopic]]:
    """Of unknown ids, and of topics: first those that are there; each once."""
    image = view.cluster.image
    if request.topics is None or (view.version == 0 and not request.topics):
        return [], [view.topic(topic) for topic in image.topics_by_name.values()]
    by_id = dict.fromkeys(topic.topic_id for topic in request.topics)
    by_id.pop(ZERO_UUID, None)
    if by_id:
        found = [image.topics_by_id[one] for one in by_id if one in image.topics_by_id]
        unknown = [_unknown_id(one) for one in by_id if one not in image.topics_by_id]
        return unknown, [view.topic(topic) for topic in found]
    names = dict.fromkeys(topic.name for topic in request.topics if topic.name is not None)
    named = [image.topics_by_name[name] for name in names if name in image.topics_by_name]
    missing = [_missing(name) for name in names if name not in image.topics_by_name]
    return [], [view.topic(topic) for topic in named] + missing


def _unknown_id(topic_id: Uuid) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id
    )


def _missing(name: str) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=why_missing(name), name=name, is_internal=name in INTERNAL_TOPICS
    )


class View:
    """The image as a client of one listener sees it."""

    def __init__(self, context: RequestContext, services: BrokerServices) -> None:
        self.cluster = services.cluster
        self._suspects = services.suspects
        self.version = context.api_version
        self._listener_name = context.listener_name
        self._reachable = {
            node.id: listener
            for node in services.cluster.image.brokers.values()
            if not node.fenced and (listener := node.listener(context.listener_name)) is not None
        }

    def brokers(self) -> list[MetadataResponseBroker]:
        nodes = self.cluster.image.brokers
        listed = dict(self._reachable)
        for node_id in self._suspects.left_lately(self.cluster.clock.monotonic()):
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
        if self.cluster.node_id in self._reachable:
            return self.cluster.node_id
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

    def _partition(self, index: int, partition: PartitionRegistration) -> MetadataResponsePartition:
        replicas, in_sync = list(partition.replicas), list(partition.isr)
        leader = partition.leader
        error = ErrorCode.NONE
        if self.version == 0:
            replicas = [node for node in replicas if node in self._reachable]
            in_sync = [node for node in in_sync if node in self._reachable]
        if leader not in self._reachable:
            tells_listener = leader in self.cluster.image.brokers and self.version >= 6
            error = (
                ErrorCode.LISTENER_NOT_FOUND if tells_listener else ErrorCode.LEADER_NOT_AVAILABLE
            )
            leader = -1
        elif len(replicas) < len(partition.replicas) or len(in_sync) < len(partition.isr):
            error = ErrorCode.REPLICA_NOT_AVAILABLE
        return MetadataResponsePartition(
            error_code=error,
            partition_index=index,
            leader_id=leader,
            leader_epoch=partition.leader_epoch,
            replica_nodes=replicas,
            isr_nodes=in_sync,
            offline_replicas=[
                node for node in partition.replicas if not self._online(node, partition)
            ],
        )

    def _online(self, node_id: int, partition: PartitionRegistration) -> bool:
        if node_id not in self._reachable:
            return False
        return self.cluster.image.brokers[node_id].holds(partition.directory(node_id))
