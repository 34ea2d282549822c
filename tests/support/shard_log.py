"""A partition of an internal topic in memory, for tests of coordinators."""

import asyncio
from struct import pack_into

from ottla.errors import ErrorCode, KafkaError
from ottla.wire.record_batch import Record, iterate_batches, iterate_records, read_header


class MemoryLog:
    """Commits at once, or only when told (`commit`) with `replicated=True`."""

    def __init__(self, *, replicated: bool = False, max_batch_bytes: int = 1 << 20) -> None:
        self.leader_epoch = 0
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.high_watermark = 0
        self.max_batch_bytes = max_batch_bytes
        self.batches: list[bytes] = []
        self.refuse_appends: ErrorCode | None = None
        self.refuse_reads: ErrorCode | None = None
        self.is_heard = True
        self._replicated = replicated
        self._moved = asyncio.Event()
        self._led = True

    @property
    def may_append(self) -> bool:
        return self.refuse_appends is None

    def append(self, batch: bytes, now_ms: int) -> int:
        if self.refuse_appends is not None:
            raise KafkaError(self.refuse_appends)
        stored = bytearray(batch)
        pack_into(">q", stored, 0, self.log_end_offset)
        self.batches.append(bytes(stored))
        self.log_end_offset = read_header(stored).next_offset
        if not self._replicated:
            self.high_watermark = self.log_end_offset
        return self.log_end_offset

    def commit(self, upto: int | None = None) -> None:
        self.high_watermark = self.log_end_offset if upto is None else upto
        self._wake()

    def depose(self) -> None:
        self._led = False
        self._wake()

    def forget_before(self, offset: int) -> None:
        self.log_start_offset = max(self.log_start_offset, offset)

    async def committed(self, end_offset: int) -> None:
        while self.high_watermark < end_offset:
            if not self._led:
                raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            await self._moved.wait()

    async def read(self, offset: int, max_bytes: int) -> bytes:
        if self.refuse_reads is not None:
            raise KafkaError(self.refuse_reads)
        found = [batch for batch in self.batches if read_header(batch).next_offset > offset]
        return b"".join(found)[: max(max_bytes, len(found[0]))] if found else b""

    def records(self) -> list[Record]:
        data = b"".join(self.batches)
        return [
            record
            for position, header in iterate_batches(data)
            if not header.is_control
            for record in iterate_records(data, position, header)
        ]

    def reopened(self) -> "MemoryLog":
        """The same records under a new leader."""
        log = MemoryLog(replicated=self._replicated, max_batch_bytes=self.max_batch_bytes)
        log.leader_epoch = self.leader_epoch + 1
        log.batches = list(self.batches)
        log.log_end_offset = self.log_end_offset
        log.high_watermark = self.high_watermark
        return log

    def _wake(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()
