"""A certificate that names a node lets nobody speak as another.

Kafka believes whatever number one tells who has CLUSTER_ACTION. Certificates that `ottla secure`
makes say which node they are for, and so a key that was stolen from one node is good for that node
only: not to fetch as another replica, vote as another voter or send another's heartbeats.
"""

from typing import TYPE_CHECKING, Any

from ottla.errors import ErrorCode, KafkaError
from ottla.security.principals import node_of

if TYPE_CHECKING:
    from ottla.broker.transport.context import RequestContext

CLAIMS = {
    "vote": "replica_id",
    "fetch_snapshot": "replica_id",
    "begin_quorum_epoch": "leader_id",
    "end_quorum_epoch": "leader_id",
    "update_raft_voter": "voter_id",
    "controller_registration": "controller_id",
    "broker_registration": "broker_id",
    "broker_heartbeat": "broker_id",
    "alter_partition": "broker_id",
    "assign_replicas_to_dirs": "broker_id",
    "allocate_producer_ids": "broker_id",
}
"""Where a request says which node asks: at its top, or in each partition."""


def check_claims(context: "RequestContext", request: Any) -> None:
    if context.peer.certificate is None:
        return
    for claimed in _claimed(context.api.name, request):
        if not may_speak_as(context, claimed):
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


def may_speak_as(context: "RequestContext", claimed: int) -> bool:
    certificate = context.peer.certificate
    named = None if certificate is None else node_of(certificate)
    return named is None or claimed < 0 or claimed == named


def fetching_replica(request: Any) -> int:
    """-1 for a consumer; since version 15 it stands in a place of its own."""
    return max(int(request.replica_state.replica_id), int(request.replica_id))


def _claimed(api: str, request: Any) -> list[int]:
    if api == "fetch":
        return [fetching_replica(request)]
    field = CLAIMS.get(api)
    if field is None:
        return []
    if hasattr(request, field):
        return [int(getattr(request, field))]
    return [
        int(getattr(partition, field)) for topic in request.topics for partition in topic.partitions
    ]
