"""Rights in Produce and Fetch, whose answers are bytes."""

from typing import TYPE_CHECKING, Any

from ottla.broker.access import CLUSTER, Operation, Resource
from ottla.broker.rights.nodes import fetching_replica, may_speak_as
from ottla.broker.transport.pending_reply import Body, ConnectionLost, PendingReply
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.codec import decode, encode
from ottla.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

if TYPE_CHECKING:
    from ottla.broker.cluster_view import ClusterView
    from ottla.broker.fetching.sessions import Key
    from ottla.broker.transport.context import RequestContext
    from ottla.wire.messages.fetch import FetchRequest

Refused = list[TopicProduceResponse]


def take_out_refused(
    request: ProduceRequest, context: "RequestContext", cluster: "ClusterView"
) -> Refused:
    """What may not be written is taken out of the request; its answers."""
    may = cluster.access.allows
    name = request.transactional_id
    if name is not None and not may(context, Operation.WRITE, Resource.TRANSACTIONAL_ID, name):
        code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        denied, request.topic_data = request.topic_data, []
        return [_refused(topic, code) for topic in denied]
    kept: list[TopicProduceData] = []
    refused: Refused = []
    for topic in request.topic_data:
        known = None if topic.name else cluster.image.topics_by_id.get(topic.topic_id)
        topic_name = topic.name or (known.name if known is not None else None)
        if topic_name is None or may(context, Operation.WRITE, Resource.TOPIC, topic_name):
            kept.append(topic)
        else:
            refused.append(_refused(topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    request.topic_data = kept
    return refused


def _refused(topic: TopicProduceData, code: ErrorCode) -> TopicProduceResponse:
    return TopicProduceResponse(
        name=topic.name,
        topic_id=topic.topic_id,
        partition_responses=[
            PartitionProduceResponse(index=data.index, error_code=code, base_offset=-1)
            for data in topic.partition_data
        ],
    )


def with_refused(
    reply: Body | PendingReply | None, refused: Refused, version: int
) -> Body | PendingReply:
    """The answer to the rest, completed. Without acks a closed connection says it."""
    if reply is None:
        raise ConnectionLost
    if not isinstance(reply, PendingReply):
        return completed(reply, refused, version)
    later = PendingReply()
    later.is_first = reply.is_first

    def arrived(body: Any) -> None:
        if body is None or isinstance(body, ConnectionLost):
            later.break_off()
        else:
            later.deliver(completed(body, refused, version))

    reply.then(arrived)
    return later


def completed(body: Body, refused: Refused, version: int) -> Body:
    response, _ = decode(ProduceResponse, version, memoryview(b"".join(body)), 0)
    response.responses += refused
    return [encode(response, version)]


class FetchRights:
    """Of one request: consumers need READ on each topic, replicas CLUSTER_ACTION for all."""

    __slots__ = ("_cluster", "_context", "_replica_id")

    def __init__(
        self, context: "RequestContext", cluster: "ClusterView", replica_id: int | None
    ) -> None:
        self._context = context
        self._cluster = cluster
        self._replica_id = replica_id  # None: a consumer

    def check(self, key: "Key") -> None:
        name, topic_id, _ = key
        if self._replica_id is not None:
            allowed = may_speak_as(self._context, self._replica_id) and self._cluster.access.allows(
                self._context, Operation.CLUSTER_ACTION, Resource.CLUSTER, CLUSTER
            )
        else:
            if not name:
                topic = self._cluster.image.topics_by_id.get(topic_id)
                if topic is None:
                    return  # whoever looks for it says so
                name = topic.name
            allowed = self._cluster.access.allows(
                self._context, Operation.READ, Resource.TOPIC, name
            )
        if not allowed:
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def fetch_rights(
    context: "RequestContext", cluster: "ClusterView", request: "FetchRequest", is_replica: bool
) -> FetchRights:
    return FetchRights(context, cluster, fetching_replica(request) if is_replica else None)
