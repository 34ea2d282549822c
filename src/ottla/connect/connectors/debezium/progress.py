"""Progress where nothing was captured: offsets that move on, and heartbeats."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from ottla.connect.connector import Place, Progress
from ottla.connect.connectors.debezium.service_records import heartbeat_record
from ottla.connect.data import Record


def partition(prefix: str) -> Place:
    return {"server": prefix}


@dataclass(frozen=True, slots=True)
class ProgressSlice:
    """An offset without changes, with a heartbeat if it is time for one."""

    prefix: str
    offset: Place | None
    heartbeat_prefix: str | None = None
    task: int = 0

    def read(self) -> Iterator[Record | Progress]:
        if self.heartbeat_prefix is not None:
            now_ms = time.time_ns() // 1_000_000
            yield heartbeat_record(self.prefix, self.heartbeat_prefix, now_ms)
        if self.offset is not None:
            yield Progress(partition(self.prefix), self.offset)


class Heartbeats:
    """When the next one is due."""

    def __init__(self, every_s: float) -> None:
        """`every_s` 0: never."""
        self._every_s = every_s
        self._at = time.monotonic()

    def patience(self, timeout_s: float) -> float:
        """How long may be waited for something else."""
        if not self._every_s:
            return timeout_s
        return max(0.0, min(timeout_s, self._at + self._every_s - time.monotonic()))

    def is_due(self) -> bool:
        """Whether one is to be written now; the next is due an interval later."""
        now = time.monotonic()
        if not self._every_s or now - self._at < self._every_s:
            return False
        self._at = now
        return True
