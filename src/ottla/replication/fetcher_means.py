"""What fetchers are made with. Not in `fetcher`, which a node that follows nobody never imports."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from ottla.log.partition_log import PartitionLog

Address = Callable[[int], tuple[str, int] | None]
Flushed = Callable[[PartitionLog, int], Awaitable[None]]
"""Waits until everything below an offset is on the disk."""


class FailureDetector(Protocol):
    """Whom to tell that a leader seems to have died, or that it answers."""

    def lost(self, broker_id: int) -> None: ...
    def found(self, broker_id: int) -> None: ...


class FetchLimits(NamedTuple):
    """Options `replica.fetch.*`."""

    wait_ms: int = 500
    min_bytes: int = 1
    response_bytes: int = 10 * 1024 * 1024
    partition_bytes: int = 1024 * 1024
    backoff_s: float = 0.1


class FetchingBroker(NamedTuple):
    """Who fetches: a leader counts nobody else's word, nor that of an earlier life (KIP-903)."""

    node_id: int
    epoch: Callable[[], int]
