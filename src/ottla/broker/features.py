"""What a request needs that its cluster may not have switched on."""

from typing import TYPE_CHECKING

from ottla.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from ottla.broker.cluster_view import ClusterView

SHARE_GROUPS = "share.version"
STREAMS_GROUPS = "streams.version"


def require(cluster: "ClusterView", feature: str, level: int = 1) -> None:
    if cluster.image.features.get(feature, 0) < level:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            f"This cluster has not switched on {feature} {level}; its features can be upgraded.",
        )
