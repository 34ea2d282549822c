"""Client quotas, as the metadata has them, counted against what requests took on this node.

Bytes in of Produce, bytes out of Fetch and ShareFetch, and the event loop's time of everything: a
client over more than one quota is throttled for the longest. Changes of topics and partitions are
counted by the active controller (`controller.mutation_quotas`), which says so in its answer.
"""

from collections.abc import Callable

from ottla.broker.accounting import Usage
from ottla.broker.api import Quota
from ottla.config import Settings
from ottla.metadata.image import Delta, Image
from ottla.security.quotas import (
    CONSUMER_BYTE_RATE,
    PRODUCER_BYTE_RATE,
    QUOTAS_OF_CLIENTS,
    REQUEST_PERCENTAGE,
    ByteQuota,
)
from ottla.security.rates import Rate, SampleWindow


class ClientQuotas:
    """Counts as soon as there is a quota for anybody, and costs nothing before."""

    def __init__(self, settings: Settings, now: Callable[[], float]) -> None:
        window = self._window = SampleWindow(
            settings.int("quota.window.num"), settings.int("quota.window.size.seconds")
        )
        self._now = now
        self._produced = ByteQuota(PRODUCER_BYTE_RATE, lambda: Rate(window))
        self._fetched = ByteQuota(CONSUMER_BYTE_RATE, lambda: Rate(window))
        self._busy = ByteQuota(REQUEST_PERCENTAGE, lambda: Rate(window))
        self.is_counting = False

    def load(self, image: Image) -> None:
        for quota in (self._produced, self._fetched, self._busy):
            quota.load(image.client_quotas)
        self.is_counting = any(
            key in values for values in image.client_quotas.values() for key in QUOTAS_OF_CLIENTS
        )

    def image_changed(self, image: Image, delta: Delta) -> None:
        if delta.quotas:
            self.load(image)

    def account(self, usage: Usage) -> int:
        now_ms, throttle_ms = int(self._now() * 1000), 0
        who = usage.principal, usage.client_id
        if self._busy.is_set and usage.is_answered:
            throttle_ms, _ = self._busy.record(*who, usage.seconds * 100, now_ms)
            throttle_ms = min(throttle_ms, self._window.sample_ms)
        if usage.api.quota is Quota.PRODUCE and self._produced.is_set:
            produced_ms, _ = self._produced.record(*who, usage.bytes_in, now_ms)
            throttle_ms = max(throttle_ms, produced_ms)
        elif usage.api.quota is Quota.FETCH and self._fetched.is_set:
            fetched_ms, metered = self._fetched.record(*who, usage.bytes_out, now_ms)
            throttle_ms = max(throttle_ms, fetched_ms)
            if throttle_ms and metered is not None and usage.is_withheld:
                metered.meter.count(now_ms, -usage.bytes_out)
        return throttle_ms

    def fetch_bytes_max(self, principal: str, client_id: str | None) -> int | None:
        if not self._fetched.is_set:
            return None
        metered = self._fetched.of(principal, client_id, int(self._now() * 1000))
        return None if metered is None else int(metered.limit * self._window.least_s)
