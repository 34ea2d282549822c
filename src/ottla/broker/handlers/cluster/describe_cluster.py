"""DescribeCluster: the brokers, or (from version 1, KIP-919) the controllers, of this cluster."""

from ottla.broker.access import CLUSTER, Resource, authorized_operations
from ottla.broker.api import Listeners
from ottla.broker.cluster_view import ClusterView
from ottla.broker.services import ClusterServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BROKERS, CONTROLLERS = 1, 2


def handle(
    request: DescribeClusterRequest, context: RequestContext, services: ClusterServices
) -> DescribeClusterResponse:
    served = BROKERS if context.peer.listener_kind is Listeners.BROKER else CONTROLLERS
    if request.endpoint_type not in (BROKERS, CONTROLLERS):
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"There is no endpoint {request.endpoint_type}."
        )
    if request.endpoint_type != served:
        is_told_kinds = context.api_version >= 1
        raise KafkaError(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE if is_told_kinds else ErrorCode.INVALID_REQUEST,
            "The other kind of listener answers that.",
        )
    response = DescribeClusterResponse(
        endpoint_type=request.endpoint_type, cluster_id=services.cluster.cluster_id
    )
    if served == BROKERS:
        response.brokers = _brokers(request, context, services.cluster)
        response.controller_id = services.cluster.node_id
    else:
        response.brokers = _controllers(context, services.cluster)
        response.controller_id = services.cluster.controller_id
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = authorized_operations(
            services.cluster.access, context, Resource.CLUSTER, CLUSTER
        )
    return response


def _brokers(
    request: DescribeClusterRequest, context: RequestContext, cluster: ClusterView
) -> list[DescribeClusterBroker]:
    return [
        DescribeClusterBroker(
            broker_id=node.id,
            host=listener.host,
            port=listener.port,
            rack=node.rack,
            is_fenced=node.fenced,
        )
        for node in cluster.image.brokers.values()
        if (request.include_fenced_brokers or not node.fenced)
        and (listener := node.listener(context.listener_name)) is not None
    ]


def _controllers(context: RequestContext, cluster: ClusterView) -> list[DescribeClusterBroker]:
    return [
        DescribeClusterBroker(broker_id=node.id, host=listener.host, port=listener.port)
        for node in cluster.image.controllers.values()
        for listener in node.listeners
        if listener.name == context.listener_name
    ]
