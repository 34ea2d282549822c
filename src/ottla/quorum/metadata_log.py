"""The log of the quorum on disk: Kafka's segments, whole batches, cut by CRC where a crash tore it.

Kafka scans all of this log at every start and rebuilds its indexes from it, and so do we: the
positions of the batches are kept in memory, no index file is written.
"""

import logging
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

from ottla.errors import ErrorCode, KafkaError
from ottla.log.epoch_table import EpochTable
from ottla.ports.disk import Disk, File
from ottla.wire.record_batch import (
    BatchHeader,
    crc_is_valid,
    iterate_batches,
    read_header,
)

logger = logging.getLogger(__name__)

SEGMENT_BYTES = 1 << 30
SCAN_BYTES = 4 << 20
LEADER_EPOCHS = "leader-epoch-checkpoint"
_BESIDE = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")


class MetadataSegment:
    """One file of batches, with the place of each."""

    def __init__(self, base_offset: int, file: File) -> None:
        self.base_offset = base_offset
        self.file = file
        self.offsets = array("q")
        self.positions = array("q")

    def note(self, base_offset: int, position: int) -> None:
        self.offsets.append(base_offset)
        self.positions.append(position)

    def find(self, offset: int) -> int:
        """The index of the batch that holds `offset`."""
        return max(bisect_right(self.offsets, offset) - 1, 0)

    def cut(self, index: int) -> None:
        """Drop the batches from `index` on."""
        self.file.truncate(self.positions[index])
        del self.offsets[index:]
        del self.positions[index:]


class MetadataLog:
    def __init__(self, disk: Disk, directory: Path, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.disk = disk
        self.directory = directory
        self.segment_bytes = segment_bytes
        self.epochs = EpochTable()
        self.end_offset = 0
        self.segments: list[MetadataSegment] = []
        self._open()

    @property
    def start_offset(self) -> int:
        return self.segments[0].base_offset

    def append(self, batch: bytes, header: BatchHeader) -> None:
        """Append one batch that goes on where the log ends; durable after `sync`."""
        assert header.base_offset == self.end_offset, (header.base_offset, self.end_offset)
        active = self.segments[-1]
        if active.file.size and active.file.size + len(batch) > self.segment_bytes:
            self.roll()
            active = self.segments[-1]
        active.note(header.base_offset, active.file.size)
        active.file.append(batch)
        self.end_offset = header.next_offset
        if self.epochs.assign(header.leader_epoch, header.base_offset):
            self._write_epochs()

    def append_all(self, batches: bytes) -> None:
        """Append batches as a leader sent them, checked already."""
        for position, header in iterate_batches(batches):
            self.append(batches[position : position + header.size], header)

    def roll(self) -> None:
        """Begin a new segment, unless the last is empty."""
        active = self.segments[-1]
        if active.file.size:
            active.file.sync()
            self._new_segment(self.end_offset)

    def sync(self) -> None:
        """Make all that was appended durable; may run in a thread."""
        self.segments[-1].file.sync()

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one that holds `offset` on: at least one, unless at the end."""
        if not self.start_offset <= offset <= self.end_offset:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"Offset {offset} is not in the log.")
        if offset == self.end_offset:
            return b""
        segment = next(s for s in reversed(self.segments) if s.base_offset <= offset)
        first = segment.find(offset)
        begin = segment.positions[first]
        end = segment.file.size
        if end - begin > max_bytes:
            last = bisect_right(segment.positions, begin + max_bytes) - 1
            end = (
                segment.positions[max(last, first + 1)] if first + 1 < len(segment.offsets) else end
            )
        return segment.file.read(begin, end - begin)

    def truncate_to(self, offset: int) -> None:
        """Drop everything from `offset` on."""
        while len(self.segments) > 1 and self.segments[-1].base_offset >= offset:
            self._drop(self.segments.pop())
        active = self.segments[-1]
        keep = len([base for base in active.offsets if base < offset])
        if keep < len(active.offsets):
            active.cut(keep)
        active.file.sync()
        self.end_offset = max(offset, active.base_offset)
        self.epochs.truncate_from_end(offset)
        self._write_epochs()

    def restart_at(self, offset: int) -> None:
        """Drop everything and begin anew at `offset`, where a snapshot ends."""
        for segment in self.segments:
            self._drop(segment)
        self.segments = []
        self.epochs = EpochTable()
        self.end_offset = offset
        self._new_segment(offset)
        self._write_epochs()

    def delete_before(self, offset: int) -> None:
        """Drop whole segments below `offset`, which a snapshot covers."""
        while len(self.segments) > 1 and self.segments[1].base_offset <= offset:
            self._drop(self.segments.pop(0))
        self.epochs.truncate_from_start(self.start_offset)
        self._write_epochs()

    def close(self) -> None:
        for segment in self.segments:
            segment.file.close()

    def batches(self, offset: int, upto: int) -> Iterator[tuple[bytes, int, BatchHeader]]:
        """(buffer, position, header) of the batches from `offset` to `upto`, which is a border."""
        while offset < upto:
            data = self.read(offset, SCAN_BYTES)
            for position, header in iterate_batches(data):
                if header.base_offset >= upto:
                    return
                offset = header.next_offset
                yield data, position, header

    def _open(self) -> None:
        self.disk.make_directory(self.directory)
        names = self.disk.names(self.directory)
        bases = [int(name[:-4]) for name in names if name.endswith(".log") and name[:-4].isdigit()]
        for base in sorted(bases):
            if self.segments and base != self.end_offset:
                logger.warning("%s: dropping a segment at %d after a gap", self.directory, base)
                self._drop(MetadataSegment(base, self.disk.open(self._path(base))))
                continue
            segment = MetadataSegment(base, self.disk.open(self._path(base)))
            self.segments.append(segment)
            self.end_offset = base
            self._scan(segment)
        if not self.segments:
            self._new_segment(0)

    def _scan(self, segment: MetadataSegment) -> None:
        position, size = 0, SCAN_BYTES
        while position < segment.file.size:
            data = segment.file.read(position, size)
            taken = self._take_valid(segment, position, data)
            position += taken
            if not taken and len(data) < size:
                break
            size = SCAN_BYTES if taken else size * 2
        if position < segment.file.size:
            torn = segment.file.size - position
            logger.warning("%s: cut %d torn bytes", self._path(segment.base_offset), torn)
            segment.file.truncate(position)
            segment.file.sync()

    def _take_valid(self, segment: MetadataSegment, at: int, data: bytes) -> int:
        """Note the batches of `data` that follow on each other and are whole; their bytes."""
        position = 0
        try:
            for position, header in iterate_batches(data):
                follows = header.base_offset == self.end_offset
                if not (follows and crc_is_valid(data, position, header)):
                    return position
                segment.note(header.base_offset, at + position)
                self.end_offset = header.next_offset
                self.epochs.assign(header.leader_epoch, header.base_offset)
        except KafkaError:
            pass  # a length or magic that lies: the tail is torn there
        if not segment.offsets or segment.positions[-1] < at:
            return 0
        last = segment.positions[-1] - at
        return last + read_header(data, last).size

    def _new_segment(self, base_offset: int) -> MetadataSegment:
        segment = MetadataSegment(base_offset, self.disk.open(self._path(base_offset)))
        self.segments.append(segment)
        self.disk.sync_directory(self.directory)
        return segment

    def _drop(self, segment: MetadataSegment) -> None:
        segment.file.close()
        for ending in _BESIDE:
            self.disk.remove(self.directory / f"{segment.base_offset:020d}{ending}")
        self.disk.sync_directory(self.directory)

    def _path(self, base_offset: int) -> Path:
        return self.directory / f"{base_offset:020d}.log"

    def _write_epochs(self) -> None:
        self.disk.rewrite(self.directory / LEADER_EPOCHS, self.epochs.render().encode())
