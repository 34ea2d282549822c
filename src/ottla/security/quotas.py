"""Whose quota a request counts for, and what is left of it: Apache Kafka's rules. Pure.

A quota is set for a user, a client id, both together, or for all that have none of their own (the
default). The nearest counts, in this order: user and client id, user and any client id, user, any
user and client id, any user and any client id, any user, client id, any client id. Who shares a
quota follows from its place: a user's is shared by all its connections, a default is had by each.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from ottla.metadata.image import QuotaEntity
from ottla.security.rates import Rate, TokenBucket

PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
CONNECTION_CREATION_RATE = "connection_creation_rate"


class EntityType(StrEnum):
    USER = "user"
    CLIENT_ID = "client-id"
    IP = "ip"


QUOTAS_OF_CLIENTS = (
    PRODUCER_BYTE_RATE,
    CONSUMER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    CONTROLLER_MUTATION_RATE,
)
"""Set for users and client ids; the one for addresses is CONNECTION_CREATION_RATE."""

IDLE_MS_MAX = 3_600_000
SWEEP_MS = 60_000
RESOLVED_MAX = 10_000


class Measured(Protocol):
    def idle_ms(self, now_ms: int) -> int: ...


M = TypeVar("M", bound=Measured)
Tags = tuple[str, str]
"""Who shares what is measured: user and client id; an empty one does not count."""


class Metered(Generic[M]):
    """What somebody has had, and the limit of it."""

    __slots__ = ("limit", "meter")

    def __init__(self, meter: M, limit: float) -> None:
        self.meter = meter
        self.limit = limit


class ClientQuota(Generic[M]):
    """One kind of quota (bytes produced, say) for all clients."""

    def __init__(self, key: str, new_meter: Callable[[], M]) -> None:
        self._key = key
        self._new_meter = new_meter
        self._limits: dict[QuotaEntity, float] = {}
        self._levels: set[frozenset[str]] = set()
        self._meters: dict[Tags, M] = {}
        self._resolved: dict[tuple[str, str | None], Metered[M] | None] = {}
        self._swept_ms = 0

    @property
    def is_set(self) -> bool:
        """For anybody at all."""
        return bool(self._limits)

    def load(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        """Those that hold from now on; what was measured stays."""
        self._limits = {
            entity: values[self._key]
            for entity, values in quotas.items()
            if self._key in values and not _is_of_addresses(entity)
        }
        self._levels = {frozenset(kind for kind, _ in entity) for entity in self._limits}
        self._resolved.clear()

    def of(self, principal: str, client_id: str | None, now_ms: int) -> Metered[M] | None:
        """None: there is no limit."""
        asked = principal, client_id
        try:
            return self._resolved[asked]
        except KeyError:
            pass
        if now_ms - self._swept_ms >= SWEEP_MS or len(self._resolved) >= RESOLVED_MAX:
            self._sweep(now_ms)
        tags = self._tags(principal.partition(":")[2], client_id or "")
        limit = self._limit(*tags)
        found = None
        if limit is not None:
            meter = self._meters.get(tags)
            if meter is None:
                meter = self._meters[tags] = self._new_meter()
            found = Metered(meter, limit)
        self._resolved[asked] = found
        return found

    def _sweep(self, now_ms: int) -> None:
        """Clients choose their ids, and may choose many."""
        self._swept_ms = now_ms
        self._resolved.clear()
        for tags in [one for one, m in self._meters.items() if m.idle_ms(now_ms) >= IDLE_MS_MAX]:
            del self._meters[tags]

    def _tags(self, user: str, client_id: str) -> Tags:
        """Where quotas of one level are set, all are measured at that level."""
        if len(self._levels) == 1:
            (level,) = self._levels
            return (
                user if EntityType.USER in level else "",
                client_id if EntityType.CLIENT_ID in level else "",
            )
        for entity, tags in (
            (_both(user, client_id), (user, client_id)),
            (_both(user, None), (user, client_id)),
            (_user(user), (user, "")),
            (_both(None, client_id), (user, client_id)),
            (_both(None, None), (user, client_id)),
            (_user(None), (user, "")),
        ):
            if entity in self._limits:
                return tags
        return "", client_id

    def _limit(self, user: str, client_id: str) -> float | None:
        wanted: Sequence[QuotaEntity]
        if user and client_id:
            wanted = (
                _both(user, client_id),
                _both(user, None),
                _both(None, client_id),
                _both(None, None),
            )
        elif user:
            wanted = _user(user), _user(None)
        elif client_id:
            wanted = _client(client_id), _client(None)
        else:
            return None
        return next((self._limits[one] for one in wanted if one in self._limits), None)


class ByteQuota(ClientQuota[Rate]):
    """Bytes, or hundredths of the event loop's time, in a second."""

    def record(
        self, principal: str, client_id: str | None, value: float, now_ms: int
    ) -> tuple[int, Metered[Rate] | None]:
        """For how many milliseconds the client is throttled, and where it was counted."""
        metered = self.of(principal, client_id, now_ms)
        if metered is None:
            return 0, None
        metered.meter.count(now_ms, value)
        return metered.meter.throttle_ms(now_ms, metered.limit), metered


class Charge:
    """One request's changes of partitions. Strict: once the bucket is overdrawn nothing is done;
    else everything is, and the client waits (KIP-599)."""

    __slots__ = ("_is_strict", "_metered", "_now_ms", "_until_ms")

    def __init__(
        self, metered: Metered[TokenBucket], now_ms: Callable[[], int], *, is_strict: bool
    ) -> None:
        self._metered = metered
        self._now_ms = now_ms
        self._is_strict = is_strict
        self._until_ms = 0

    def take(self, partitions: int) -> bool:
        """Whether they may be changed."""
        bucket, limit, now_ms = self._metered.meter, self._metered.limit, self._now_ms()
        if self._is_strict:
            throttle_ms = bucket.throttle_ms(now_ms, limit)
            if throttle_ms == 0:
                bucket.take(now_ms, limit, partitions)
        else:
            bucket.take(now_ms, limit, partitions)
            throttle_ms = bucket.throttle_ms(now_ms, limit)
        if throttle_ms > 0:
            self._until_ms = now_ms + throttle_ms
        return throttle_ms == 0 or not self._is_strict

    @property
    def throttle_ms(self) -> int:
        """What is left of it when the answer goes out."""
        return max(self._until_ms - self._now_ms(), 0) if self._until_ms else 0


def _is_of_addresses(entity: QuotaEntity) -> bool:
    return any(kind == EntityType.IP for kind, _ in entity)


def _user(name: str | None) -> QuotaEntity:
    return ((EntityType.USER, name),)


def _client(client_id: str | None) -> QuotaEntity:
    return ((EntityType.CLIENT_ID, client_id),)


def _both(user: str | None, client_id: str | None) -> QuotaEntity:
    return (EntityType.CLIENT_ID, client_id), (EntityType.USER, user)
