"""When a node writes a snapshot of its image: after so many bytes of records, or so much time.

Every node decides for itself; the quorum writes the file and forgets the log before it.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

from ottla.metadata.publisher import Publisher
from ottla.metadata.snapshot import snapshot_values


class SnapshotLog(Protocol):
    async def write_snapshot(self, values: Iterable[bytes], end_offset: int, epoch: int) -> None:
        """Keep these as the state below `end_offset`."""


class Snapshotting:
    def __init__(
        self,
        publisher: Publisher,
        log: SnapshotLog,
        *,
        bytes_max: int,
        interval_ms: int,
        now: Callable[[], float],
    ) -> None:
        """An interval of 0 means: by bytes only."""
        self._publisher = publisher
        self._log = log
        self._bytes_max = bytes_max
        self._interval = interval_ms / 1000
        self._now = now
        self._since = now()
        self._bytes_before = publisher.bytes_applied
        self._writing: asyncio.Task[None] | None = None
        publisher.subscribe_committed(self._committed)

    def _committed(self) -> None:
        if self._writing is not None or self._publisher.in_transaction:
            return
        grown = self._publisher.bytes_applied - self._bytes_before
        late = self._interval > 0 and self._now() - self._since >= self._interval
        if grown and (grown >= self._bytes_max or late):
            self._writing = asyncio.get_running_loop().create_task(self._write())

    async def _write(self) -> None:
        try:
            if self._publisher.in_transaction:  # since it was decided; its end decides anew
                return
            image = self._publisher.image
            # All at once: the image changes while the file is being written.
            values, end_offset, epoch = list(snapshot_values(image)), image.offset + 1, image.epoch
            self._bytes_before = self._publisher.bytes_applied
            self._since = self._now()
            await self._log.write_snapshot(values, end_offset, epoch)
        finally:
            self._writing = None
