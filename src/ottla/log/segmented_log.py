"""A row of segments as one log: reading by offset and by time, and letting segments go.

What batches mean (producers, epochs, what is committed) is `partition_log`'s part.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ottla.errors import ErrorCode, KafkaError
from ottla.ids import TopicPartition
from ottla.log.config import LogConfig
from ottla.log.files import DELETED, OpenFiles
from ottla.log.health import DirectoryHealth
from ottla.log.reading import NOTHING, Damage, Read, SegmentRead, TailRead, read_first
from ottla.log.scanning import scan
from ottla.log.segment import Segment
from ottla.log.tail import Found, Tail, TailCache
from ottla.log.timestamps import TimestampOffset, find_by_timestamp, find_max_timestamp
from ottla.ports.chance import SYSTEM_CHANCE, Chance
from ottla.ports.disk import Sync, sync
from ottla.wire.compression import Buffer

WARM_SEGMENTS = 3
TAIL_AT_ONCE_BYTES = 1024 * 1024
"""Of what is at the head: replicas and consumers there should not wait for a thread."""


class LogResources(NamedTuple):
    """What all logs of a process share."""

    files: OpenFiles
    tails: TailCache
    sync: Sync = sync
    chance: Chance = SYSTEM_CHANCE


class SegmentedLog:
    def __init__(
        self,
        path: Path,
        topic_partition: TopicPartition,
        config: LogConfig,
        resources: LogResources,
        segments: list[Segment],
        *,
        log_start_offset: int,
        log_end_offset: int,
        health: DirectoryHealth,
    ) -> None:
        self.path = path
        self.topic_partition = topic_partition
        self.config = config
        self.resources = resources
        self.segments = segments
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.health = health
        self._damage: Damage | None = None
        self.truncations = 0  # how often its end was cut off: what was known of it then may be void
        self.set_aside_count = 0  # of segments: a search in a thread may miss them, or what came
        self.abandoned = False  # its files are nobody's any more: their loss is no failure
        self.tail = Tail(resources.tails, log_end_offset, self.active.size)
        self._warm: deque[Segment] = deque()
        self._deleted: list[tuple[int, Path]] = []  # (time to remove it, a renamed file)
        self.changed()

    def changed(self) -> None:
        """Whoever looks after logs looks at this one; what they look at is changed with this."""
        self.health.changes.logs[self] = None

    def reconfigure(self, config: LogConfig) -> None:
        self.config = config
        self.changed()

    @property
    def damage(self) -> Damage | None:
        """What a reader or the cleaner has found."""
        return self._damage

    @damage.setter
    def damage(self, damage: Damage | None) -> None:
        self._damage = damage
        self.health.changes.damages += 1

    @property
    def active(self) -> Segment:
        return self.segments[-1]

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self.segments)

    def read(self, offset: int, max_bytes: int, *, upto: int, at_least_one: bool = True) -> Read:
        """From the batch that holds `offset`, batches that end by `upto`; empty where none do.

        OFFSET_OUT_OF_RANGE below the log's start and beyond its end.
        """
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Offset {offset} of {self.topic_partition} is outside of "
                f"{self.log_start_offset} to {self.log_end_offset}.",
            )
        if offset >= upto:
            return NOTHING
        found = self.tail.find(offset, max_bytes, upto, at_least_one)
        if found is None:
            return self._read_segments(offset, max_bytes, upto, at_least_one)
        if found.data is not None:
            return Read(found.data, more=found.end_offset < upto)
        return self._read_tail(found, upto)

    def _read_tail(self, found: Found, upto: int) -> Read:
        """Large batches: of them only the position is kept, and for long."""
        place = TailRead(
            self.active.handle, found.start, found.stop - found.start, self.active.size
        )
        if place.size <= TAIL_AT_ONCE_BYTES and place.start >= place.handle.from_disk_upto:
            data = place.handle.read_resident(place.start, place.size)
            if data is not None:
                return Read(data)
        job = partial(self._off_loop, place.run)
        return Read(b"", True, job, place.size, more=found.end_offset < upto)

    def _read_segments(self, offset: int, max_bytes: int, upto: int, at_least_one: bool) -> Read:
        spans: list[SegmentRead] = []
        for n in range(self.segment_number(offset), len(self.segments)):
            segment = self.segments[n]
            if segment.base_offset >= upto or len(spans) == 2:
                break
            if segment.size == 0:  # cleaning may leave nothing of a segment
                continue
            last = n + 1 == len(self.segments)
            ends = self.log_end_offset if last else self.segments[n + 1].base_offset
            limit = segment.size if upto >= ends else self.position_in(segment, upto)
            if not last:
                self.keep_warm(segment)
            spans.append(
                SegmentRead(segment.handle, segment.index, offset, max_bytes, limit, at_least_one)
            )
        try:
            for span in spans:
                place = span.find_resident()
                data = None if place is None else span.read_resident(place)
                if data is None:
                    job = partial(self._off_loop, partial(read_first, spans))
                    if place is None:
                        return Read(b"", True, job)
                    more = span is not spans[-1] or place.start + place.size < span.limit
                    return Read(b"", True, job, place.size, more)
                if len(data):
                    return Read(data)
        except Damage as damage:
            self.damage = self.damage or damage
            raise
        return NOTHING

    def _off_loop(self, read: Callable[[], Buffer]) -> Buffer:
        """In a thread."""
        try:
            return read()
        except Damage as damage:
            self.damage = self.damage or damage
            raise

    def keep_warm(self, segment: Segment) -> None:
        """Of the segments that take no more batches only those last read keep indexes in memory."""
        if segment not in self._warm:
            self._warm.append(segment)
            if len(self._warm) > WARM_SEGMENTS:
                self._warm.popleft().release()

    def position_in(self, segment: Segment, offset: int) -> int:
        """Where in `segment` the batch with `offset` begins; its size if there is none."""
        if segment is self.active:
            position = self.tail.position_of(offset)
            if position is not None:
                return position
        found = segment.find(offset)
        return segment.size if found is None else found[0]

    def segment_number(self, offset: int) -> int:
        """The place of the segment whose range holds `offset`."""
        at = bisect_right(self.segments, offset, key=lambda segment: segment.base_offset)
        return max(at - 1, 0)

    def batch_start(self, offset: int) -> int:
        """Where the batch that holds `offset`, or comes next, begins; `offset` where none does."""
        for segment in self.segments[self.segment_number(offset) :]:
            for _, header in scan(segment.handle, segment.index.lookup(offset), segment.size):
                if header.last_offset >= offset:
                    return header.base_offset
        return offset

    def aborted_transactions(self, start: int, end: int) -> list[tuple[int, int]]:
        """(producer id, first offset) of the aborted transactions that touch [start, end)."""
        found: list[tuple[int, int]] = []
        for segment in self.segments[self.segment_number(start) :]:
            for aborted in segment.aborted.ending_from(start):
                if aborted.first_offset < end:
                    found.append((aborted.producer_id, aborted.first_offset))
                if aborted.last_stable_offset >= end:
                    return found
        return found

    def indexed_end(self, start: int, end: int) -> int:
        """How far [start, end) reaches for one who knows the index alone, as Apache Kafka does when
        it looks for aborted transactions: to the next entry, or else to the end of the segment."""
        number = self.segment_number(start)
        entry = self.segments[number].index.offset_at_or_after(end)
        if entry is not None:
            return entry
        after = self.segments[number + 1 : number + 2]
        return after[0].base_offset if after else self.log_end_offset

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record as late as `timestamp`. May read much: run it in a thread."""
        return find_by_timestamp(self.segments, timestamp, self.log_start_offset)

    def max_timestamp(self) -> TimestampOffset | None:
        """The record with the largest timestamp. May read much: run it in a thread."""
        return find_max_timestamp(self.segments)

    # --- changing the files

    def _write(self, buffers: Sequence[Buffer], size: int) -> None:
        try:
            self.active.write(buffers, size)
        except OSError as error:
            raise self.health.report(error) from error

    def set_aside(self, segments: Sequence[Segment], now_ms: int) -> None:
        """Take files out of the way; they stay a while for those who still read from them."""
        self.set_aside_count += len(segments)
        due = now_ms + self.config.file_delete_delay_ms
        for segment in segments:
            self._deleted += [(due, path) for path in segment.rename("", DELETED)]

    def forget_old_files(self) -> None:
        """All segments are others now."""
        self.set_aside_count += 1
        self._warm.clear()
        self._deleted = []

    def take_deleted(self, now_ms: int) -> list[Path]:
        """Renamed files whose time has come; the caller removes them."""
        due = [path for at, path in self._deleted if at <= now_ms]
        if due:
            self._deleted = [(at, path) for at, path in self._deleted if at > now_ms]
        return due

    def abandon(self) -> None:
        """Let go of files without writing: the directory failed, or the log is being deleted."""
        self.abandoned = True
        for segment in self.segments:
            self.resources.files.forget(segment.log_path)
        self.tail.clear(self.log_end_offset, self.active.size)
