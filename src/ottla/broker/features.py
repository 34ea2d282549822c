"""What a request needs that its cluster may not have switched on."""

from typing import TYPE_CHECKING

from ottla.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from ottla.broker.broker import Broker

SHARE_GROUPS = "share.version"
STREAMS_GROUPS = "streams.version"


def require(broker: "Broker", feature: str, level: int = 1) -> None:
    if broker.image.features.get(feature, 0) < level:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            f"This cluster has not switched on {feature} {level}; its features can be upgraded.",
        )
