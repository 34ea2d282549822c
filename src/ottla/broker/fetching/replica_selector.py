"""Which replica a consumer should read from: one in its own rack, if that has what it asks for.

Kafka's `RackAwareReplicaSelector` (KIP-392), by its Java name in `replica.selector.class`.
"""

from typing import TYPE_CHECKING

from ottla.replication.leader import Leader

if TYPE_CHECKING:
    from ottla.broker.cluster_view import ClusterView

RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def nearest_replica(cluster: "ClusterView", leader: Leader, rack: str, offset: int) -> int | None:
    """None: the leader itself is as good as any."""
    brokers = cluster.image.brokers
    here = brokers.get(cluster.node_id)
    if here is None or here.rack == rack:
        return None
    in_sync = leader.in_sync
    near = [
        (follower.end_offset, node_id)
        for node_id, follower in in_sync.followers.items()
        if node_id in in_sync.committed
        and 0 <= follower.log_start_offset <= offset <= follower.end_offset
        and (other := brokers.get(node_id)) is not None
        and other.active
        and other.rack == rack
    ]
    return max(near)[1] if near else None
