"""How many partitions a client may create and delete (KIP-599): counted where it is decided.

Each creation and deletion of a partition takes a token from its client's bucket. From the versions
on that have a place for it, a request whose bucket is overdrawn is refused, topic by topic, with
THROTTLING_QUOTA_EXCEEDED; older ones are done, and their clients wait afterwards.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ottla.config.settings import Settings
from ottla.errors import ErrorCode, KafkaError
from ottla.metadata.image import Delta, Image
from ottla.security.quotas import CONTROLLER_MUTATION_RATE, Charge, ClientQuota
from ottla.security.rates import SampleWindow, TokenBucket

if TYPE_CHECKING:
    from ottla.wire.envelope import Origin

STRICT_SINCE = {"create_topics": 6, "delete_topics": 5, "create_partitions": 3}


class MutationQuotas:
    def __init__(self, settings: Settings, now: Callable[[], float]) -> None:
        window = SampleWindow(
            settings.int("controller.quota.window.num"),
            settings.int("controller.quota.window.size.seconds"),
        )
        self._now = now
        self._quota = ClientQuota(CONTROLLER_MUTATION_RATE, lambda: TokenBucket(window))

    def _now_ms(self) -> int:
        return int(self._now() * 1000)

    def load(self, image: Image) -> None:
        self._quota.load(image.client_quotas)

    def image_changed(self, image: Image, delta: Delta) -> None:
        if delta.quotas:
            self.load(image)

    def charge(self, api: str, origin: "Origin | None") -> Charge | None:
        """None: it is a node's own affair, or nothing that is counted, or there is no limit."""
        if origin is None or not self._quota.is_set or api not in STRICT_SINCE:
            return None
        metered = self._quota.of(origin.principal, origin.client_id, self._now_ms())
        if metered is None:
            return None
        return Charge(metered, self._now_ms, is_strict=origin.version >= STRICT_SINCE[api])


def take(charge: Charge | None, partitions: int) -> None:
    """So many partitions will come or go; KafkaError where they may not."""
    if charge is not None and not charge.take(partitions):
        raise KafkaError(
            ErrorCode.THROTTLING_QUOTA_EXCEEDED,
            "The quota on changes of topics and partitions is used up for now.",
        )
