"""One replica of one partition: what may be appended, what is committed, what may go.

Not here: reading (`segmented_log`), rolling and flushing (`durable_log`), opening and recovery
(`recovery`), what retention drops (`retention`), cleaning (`compaction`). Who leads and what is
committed is told from outside, through the high watermark.
"""

from typing import NamedTuple

from ottla.errors import ErrorCode, KafkaError
from ottla.log.durable_log import DurableLog
from ottla.log.reading import Read
from ottla.log.rebuilding import apply_to_producers, read_marker, rebuild_producers
from ottla.log.retention import droppable
from ottla.log.segment import Segment
from ottla.log.segmented_log import LogResources
from ottla.log.tail import LARGEST_KEPT
from ottla.log.validation import (
    Accepted,
    AppendOrigin,
    NotOneBatch,
    accept,
    check_alone,
    next_batch,
)
from ottla.wire.compression import Buffer
from ottla.wire.record_batch import (
    LOG_OVERHEAD,
    PREFIX,
    PREFIX_SIZE,
    BatchHeader,
    corrupt,
    crc_is_valid,
    iterate_batches,
)

__all__ = ["AppendOrigin", "Appended", "LogResources", "PartitionLog", "Read"]


class Appended(NamedTuple):
    first_offset: int
    last_offset: int
    append_time: int  # -1 unless the topic stamps batches on arrival
    log_start_offset: int
    duplicate: bool = False  # an idempotent batch that was already there, at these offsets
    flush_due: bool = False  # flush.messages: acknowledge only after a flush


class PartitionLog(DurableLog):
    _first_batch = (-1, -1)
    """A start of the log, and where the batch that holds it begins."""

    @property
    def last_stable_offset(self) -> int:
        """Everything below is decided: what read_committed may see."""
        unstable = self.producers.transactions.first_unstable_offset
        if unstable is None or unstable >= self.high_watermark:
            return self.high_watermark
        return unstable if unstable >= self.log_start_offset else self._first_batch_start()

    def _first_batch_start(self) -> int:
        """Records of an open transaction were deleted: the batch where the log starts now is told
        instead, and that may begin before the start, as it may for Kafka."""
        if self._first_batch[0] != self.log_start_offset:
            self._first_batch = (self.log_start_offset, self.batch_start(self.log_start_offset))
        return self._first_batch[1]

    # --- append

    @property
    def flush_due(self) -> bool:
        """Nobody may be told of the log's end before a flush: flush.messages says so."""
        return self._flush_due(self.log_end_offset - 1) and not self.abandoned

    def append_as_leader(
        self,
        batches: Buffer,
        *,
        leader_epoch: int,
        now_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        strict_marker_epoch: bool = False,
        proven: Accepted | None = None,
    ) -> Appended:
        """Check, give offsets and write. Clients send one batch; the quorum may send several.

        `proven` is the one batch, where it was checked beforehand.

        With `strict_marker_epoch` a transaction marker must carry a newer epoch than the
        transaction (transaction.version 2).
        """
        if self.health.failure is not None or self.health.full:
            self.health.refuse(client=origin is AppendOrigin.CLIENT)
        if proven is not None:
            return self._append(proven, leader_epoch, now_ms, origin, strict_marker_epoch)
        view = memoryview(batches)
        header = next_batch(view, 0)
        if header is None:
            raise NotOneBatch("There is no whole batch in the request.")
        if origin is AppendOrigin.CLIENT:
            check_alone(view, header)
        first_offset = self.log_end_offset
        position, appended = 0, None
        while header is not None:
            accepted = accept(view, position, header, self.config, origin, now_ms)
            position += header.length + LOG_OVERHEAD
            header = next_batch(view, position) if position < len(view) else None
            appended = self._append(accepted, leader_epoch, now_ms, origin, strict_marker_epoch)
        assert appended is not None
        if appended.duplicate or appended.first_offset == first_offset:
            return appended
        return appended._replace(first_offset=first_offset)

    def _append(
        self, accepted: Accepted, leader_epoch: int, now_ms: int, origin: AppendOrigin, strict: bool
    ) -> Appended:
        header, batch, append_time = accepted
        base, size = self.log_end_offset, header.length + LOG_OVERHEAD
        last_offset, timestamp = base + header.last_offset_delta, header.max_timestamp
        self._roll_if_due(size, timestamp, last_offset, now_ms)  # even where it is refused then
        marker = None
        if header.producer_id >= 0:
            if origin is AppendOrigin.CLIENT:
                seen = self.producers.find_duplicate(header)
                if seen is not None:
                    first, last, when = seen.first_offset, seen.last_offset, seen.timestamp
                    start, flush_due = self.log_start_offset, self._flush_due(last)
                    return Appended(first, last, when, start, True, flush_due)
            if header.is_control:
                marker = read_marker(batch, 0, header)
                self.producers.check_marker(header, marker, strict=strict)
            else:
                self.producers.check(header, sequenced=origin is AppendOrigin.CLIENT)
        prefix = PREFIX.pack(base, header.length, leader_epoch)
        kept = None
        if size <= LARGEST_KEPT:
            kept = b"".join((prefix, batch[PREFIX_SIZE:]))
            self._write((kept,), size)
        else:
            self._write((prefix, batch[PREFIX_SIZE:]), size)
        self.epochs.assign(leader_epoch, base)
        self._took(last_offset, timestamp, self.active.size - size, size, kept)
        if header.producer_id >= 0:
            stored = BatchHeader(base, header.length, leader_epoch, *header[3:])
            apply_to_producers(self.producers, self.active, stored, marker)
        flush_due = self._flush_due(last_offset)
        return Appended(base, last_offset, append_time, self.log_start_offset, False, flush_due)

    def _flush_due(self, last_offset: int) -> bool:
        return last_offset + 1 - self.recovery_point >= self.config.flush_messages

    def _took(
        self, last_offset: int, timestamp: int, position: int, size: int, kept: bytes | None
    ) -> None:
        """A batch is in the active segment: move the log's end and take it into the indexes."""
        self.active.note(last_offset, timestamp, position, size, self.config)
        self.log_end_offset = self.producers.end_offset = last_offset + 1
        self.unflushed_bytes += size
        self.changed()
        self.tail.add(last_offset + 1, position + size, kept)

    def append_as_follower(self, batches: Buffer, *, now_ms: int) -> Appended | None:
        """Append batches of a leader as they are; None where not one of them was whole.

        The caller fetches from the log's end: what is already here must not come again.
        """
        self.health.refuse(client=False)
        first_offset, next_offset = self.log_end_offset, self.log_end_offset
        view = memoryview(batches)
        found = list(iterate_batches(view))
        for position, header in found:
            if header.base_offset < next_offset:
                raise KafkaError(
                    ErrorCode.UNKNOWN_SERVER_ERROR,
                    f"The leader of {self.topic_partition} sent offset {header.base_offset}; "
                    f"{next_offset} is the next.",
                )
            if not crc_is_valid(view, position, header):
                raise corrupt(f"A batch at offset {header.base_offset} came damaged.")
            next_offset = header.next_offset
        if not found:
            return None
        if sum(header.size for _, header in found) <= self.config.segment_bytes:
            self._append_replicas(view, found, now_ms)
        else:
            for one in found:
                self._append_replicas(view, [one], now_ms)
        flush_due = self._flush_due(next_offset - 1)
        return Appended(
            first_offset, next_offset - 1, -1, self.log_start_offset, flush_due=flush_due
        )

    def _append_replicas(
        self, view: memoryview, found: list[tuple[int, BatchHeader]], now_ms: int
    ) -> None:
        """Write batches that lie side by side with one call."""
        start, first = found[0]
        stop, last = found[-1][0] + found[-1][1].size, found[-1][1]
        timestamp = max(header.max_timestamp for _, header in found)
        self._roll_if_due(stop - start, timestamp, last.last_offset, now_ms, at=first.base_offset)
        shift = self.active.size - start
        self._write((view[start:stop],), stop - start)
        for position, header in found:
            batch = view[position : position + header.size]
            self.epochs.assign(header.leader_epoch, header.base_offset)
            kept = bytes(batch) if header.size <= LARGEST_KEPT else None
            at = position + shift
            self._took(header.last_offset, header.max_timestamp, at, header.size, kept)
            if header.producer_id >= 0:
                marker = read_marker(batch, 0, header) if header.is_control else None
                apply_to_producers(self.producers, self.active, header, marker)

    # --- rolling

    def _roll_if_due(
        self, size: int, timestamp: int, last_offset: int, now_ms: int, at: int | None = None
    ) -> None:
        if size > self.config.segment_bytes:
            raise KafkaError(
                ErrorCode.RECORD_LIST_TOO_LARGE,
                f"A batch of {size} bytes does not fit into a segment of "
                f"{self.config.segment_bytes} bytes.",
            )
        if self.active.should_roll(self.config, size, timestamp, last_offset, now_ms):
            try:
                self.roll(now_ms, at=at)
            except OSError as error:
                raise self.health.report(error) from error

    def skip_to(self, offset: int, *, now_ms: int) -> None:
        """There are no records up to `offset`: the log goes on from there."""
        self.roll(now_ms, at=offset)
        self.log_end_offset = self.producers.end_offset = offset

    # --- what others decide

    def advance_high_watermark(self, offset: int) -> bool:
        """Everything below `offset` is committed; False if that was known."""
        offset = min(offset, self.log_end_offset)
        if offset <= self.high_watermark:
            return False
        self.high_watermark = offset
        self.changed()
        self.producers.transactions.advance_high_watermark(offset)
        return True

    def truncate_to(self, offset: int, *, now_ms: int) -> None:
        """Drop everything from `offset` on: a follower gives up what its new leader lacks."""
        if offset >= self.log_end_offset:
            # An epoch in which this replica led and wrote nothing may be unknown to its leader.
            self.epochs.truncate_from_end(offset)
            return
        if offset < self.segments[0].base_offset:
            self.truncate_fully_and_start_at(offset, now_ms=now_ms)
            return
        keep = self.segment_number(offset) + 1
        self._drop(self.segments[keep:], now_ms)
        del self.segments[keep:]
        self.active.truncate_to(offset)
        start = self.log_start_offset = min(self.log_start_offset, offset)
        self._ends_at(offset)
        oldest_ms = now_ms - self.config.producer_expiration_ms
        rebuild_producers(self.producers, self.snapshots, self.segments, start, offset, oldest_ms)
        # The markers that were found again are replicated; nobody may be told of that any more.
        self.producers.transactions.advance_high_watermark(self.high_watermark)

    def truncate_fully_and_start_at(self, offset: int, *, now_ms: int) -> None:
        """Drop everything and begin anew: a follower fell behind its leader's first offset."""
        self._drop(self.segments, now_ms)
        files = self.resources.files
        self.segments = [Segment(self.path, offset, files, self.config, now_ms=now_ms)]
        self.active.handle  # noqa: B018  (creates the file)
        self.epochs.clear()
        self.log_start_offset = offset
        self._ends_at(offset)
        self.snapshots.remove_outside(offset, offset)
        self.producers.replace({}, offset)

    def _ends_at(self, offset: int) -> None:
        self.truncations += 1
        self.health.changes.cuts += 1
        self.changed()
        self.log_end_offset = offset
        self.high_watermark = min(self.high_watermark, offset)
        self.high_watermark = max(self.high_watermark, self.log_start_offset)
        self.recovery_point = min(self.recovery_point, offset)
        self.cleaned_upto = min(self.cleaned_upto, offset)
        self.epochs.truncate_from_end(offset)
        self.tail.clear(offset, self.active.size)

    def delete_records_before(self, offset: int) -> None:
        """Move the log's start; segments that lie before it go with the next retention run."""
        if offset > self.high_watermark:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Records up to {offset} of {self.topic_partition} cannot be deleted: "
                f"only those below {self.high_watermark} are committed.",
            )
        self.move_start(offset)

    def move_start(self, offset: int) -> None:
        if offset <= self.log_start_offset:
            return
        self.log_start_offset = offset
        self.high_watermark = max(self.high_watermark, offset)
        self.changed()
        self.epochs.truncate_from_start(offset)
        self.producers.on_log_start(offset)

    def enforce_retention(self, now_ms: int) -> int:
        """Drop the oldest segments by time, size and log start; how many went."""
        count = droppable(self, now_ms)
        if count == 0:
            return 0
        if count == len(self.segments):
            self.roll(now_ms)
        dropped = self.segments[:count]
        self.segments = self.segments[count:]
        self.move_start(self.segments[0].base_offset)
        self._drop(dropped, now_ms)
        return count

    def _drop(self, segments: list[Segment], now_ms: int) -> None:
        self.set_aside(segments, now_ms)
        for segment in segments:
            if segment.base_offset in self.snapshots.offsets:
                self.snapshots.remove(segment.base_offset)

    def replace_segments(self, at: int, count: int, new: Segment, now_ms: int) -> None:
        """A cleaned segment stands for `count` others, from the one with its name on."""
        first, *others = self.segments[at : at + count]
        self.set_aside([first], now_ms)
        self._drop(others, now_ms)
        self.segments[at : at + count] = [new]
        self.changed()
