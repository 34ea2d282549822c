"""ShareAcknowledge: a member of a share group says what became of records it took.

v2 (KIP-1222): locks are renewed, if `IsRenewAck` says so; the answer tells how long they last.
"""

from ottla.broker.cluster_view import ClusterView
from ottla.broker.features import SHARE_GROUPS, require
from ottla.broker.services import ShareServices
from ottla.broker.share.acknowledging import Outcomes, acknowledge
from ottla.broker.share.sessions import CLOSING, OPENING, session_key
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import Uuid
from ottla.wire.messages.share_acknowledge import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)

LED_ELSEWHERE = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


async def handle(
    request: ShareAcknowledgeRequest, context: RequestContext, services: ShareServices
) -> ShareAcknowledgeResponse:
    require(services.cluster, SHARE_GROUPS)
    key = session_key(request.group_id, request.member_id)
    if request.share_session_epoch == OPENING:
        raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    services.shares.sessions.find(key, request.share_session_epoch)
    outcomes = await acknowledge(
        services.shares,
        services.cluster.image,
        key,
        request.topics,
        version=context.api_version,
        is_renewal=request.is_renew_ack,
    )
    if request.share_session_epoch == CLOSING:
        services.shares.close_session(key)
    lock_s = services.shares.queues.terms_of(key.group_id).lock_s
    return _response(services.cluster, context, outcomes, int(lock_s * 1000))


def _response(
    cluster: ClusterView, context: RequestContext, outcomes: Outcomes, lock_ms: int
) -> ShareAcknowledgeResponse:
    topics: dict[Uuid, list[PartitionData]] = {}
    leaders: set[int] = set()
    for (topic_id, index), refusal in outcomes.items():
        data = PartitionData(partition_index=index, current_leader=LeaderIdAndEpoch())
        topics.setdefault(topic_id, []).append(data)
        if refusal is None:
            continue
        data.error_code, data.error_message = refusal.code, refusal.message
        state = cluster.partition_state("", topic_id, index)
        if refusal.code in LED_ELSEWHERE and state is not None:
            data.current_leader.leader_id = state.leader
            data.current_leader.leader_epoch = state.leader_epoch
            leaders.add(state.leader)
    return ShareAcknowledgeResponse(
        responses=[
            ShareAcknowledgeTopicResponse(topic_id=topic_id, partitions=partitions)
            for topic_id, partitions in topics.items()
        ],
        acquisition_lock_timeout_ms=lock_ms,
        node_endpoints=[
            NodeEndpoint(node_id=node_id, host=host, port=port, rack=rack)
            for node_id, host, port, rack in cluster.endpoints(leaders, context.listener_name)
        ],
    )
