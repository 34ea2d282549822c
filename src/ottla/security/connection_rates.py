"""How fast connections may be opened: at a broker, at one of its listeners, from one address. Pure.

As in Apache Kafka (KIP-612) a listener takes connections up one after another: one that comes too
soon for the listener's rate, or the broker's, waits, and those behind it wait as well. One that is
over its address's rate is not served at all: it is held for a while, and closed. Another node that
comes by a listener of its own is not counted for the broker.
"""

from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address
from typing import NamedTuple

from ottla.metadata.image import QuotaEntity
from ottla.security.quotas import CONNECTION_CREATION_RATE, IDLE_MS_MAX, SWEEP_MS, EntityType
from ottla.security.rates import Rate, SampleWindow

UNLIMITED = 2**31 - 1
Resolve = Callable[[str], Iterable[str]]


class Admission(NamedTuple):
    """What becomes of a new connection: after so long it is served, or closed."""

    wait_ms: int
    is_served: bool


AT_ONCE = Admission(0, True)


class ListenerRate:
    """One listener's; `free_ms` is when it takes up the next."""

    __slots__ = ("free_ms", "rate")

    def __init__(self, window: SampleWindow) -> None:
        self.rate = Rate(window)
        self.free_ms = 0


class ConnectionRates:
    def __init__(self, window: SampleWindow, resolve: Resolve) -> None:
        self._window = window
        self._resolve = resolve
        self._broker = Rate(window)
        self._listeners: dict[str, ListenerRate] = {}
        self._addresses: dict[str, Rate] = {}
        self._limits: dict[str, float] = {}
        self._default: float | None = None
        self._swept_ms = 0

    def load(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        """Those of addresses; a host's name stands for the addresses it has now."""
        self._limits, self._default = {}, None
        for entity, values in quotas.items():
            limit = values.get(CONNECTION_CREATION_RATE)
            if limit is None or len(entity) != 1 or entity[0][0] != EntityType.IP:
                continue
            name = entity[0][1]
            if name is None:
                self._default = limit
            else:
                self._limits |= dict.fromkeys(self._addresses_of(name), limit)

    def _addresses_of(self, name: str) -> Iterable[str]:
        try:
            return [str(ip_address(name))]
        except ValueError:
            return self._resolve(name)

    def admit(
        self, listener: str, host: str, now_ms: int, *, listener_limit: int, broker_limit: int
    ) -> Admission:
        limit = self._limits.get(host, self._default)
        if limit is None and listener_limit == broker_limit == UNLIMITED:
            return AT_ONCE
        taken_ms = self._take_up(listener, now_ms, listener_limit, broker_limit)
        if limit is None:
            return Admission(taken_ms - now_ms, True)
        over_ms = self._over(host, limit, taken_ms)
        if over_ms == 0:
            return Admission(taken_ms - now_ms, True)
        if broker_limit != UNLIMITED:
            self._broker.count(taken_ms, -1)
        if listener_limit != UNLIMITED:
            self._listeners[listener].rate.count(taken_ms, -1)
        return Admission(taken_ms - now_ms + over_ms, False)

    def _take_up(self, listener: str, now_ms: int, listener_limit: int, broker_limit: int) -> int:
        """When it is taken up; the next of the listener comes after it."""
        if listener_limit == broker_limit == UNLIMITED:
            return now_ms
        own = self._listeners.get(listener)
        if own is None:
            own = self._listeners[listener] = ListenerRate(self._window)
        at_ms, wait_ms = max(now_ms, own.free_ms), 0
        for rate, limit in ((self._broker, broker_limit), (own.rate, listener_limit)):
            if limit != UNLIMITED:
                rate.count(at_ms, 1)
                wait_ms = max(wait_ms, self._throttle_ms(rate, at_ms, limit))
        own.free_ms = at_ms + wait_ms
        return own.free_ms

    def _over(self, host: str, limit: float, now_ms: int) -> int:
        if now_ms - self._swept_ms >= SWEEP_MS:
            self._swept_ms = now_ms
            idle = [one for one, r in self._addresses.items() if r.idle_ms(now_ms) >= IDLE_MS_MAX]
            for one in idle:
                del self._addresses[one]
        rate = self._addresses.get(host)
        if rate is None:
            rate = self._addresses[host] = Rate(self._window)
        rate.count(now_ms, 1)
        throttle_ms = self._throttle_ms(rate, now_ms, limit)
        if throttle_ms:
            rate.count(now_ms, -1)  # it was not let in
        return throttle_ms

    def _throttle_ms(self, rate: Rate, now_ms: int, limit: float) -> int:
        if limit <= 0:
            return self._window.sample_ms
        return min(rate.throttle_ms(now_ms, limit), self._window.sample_ms)
