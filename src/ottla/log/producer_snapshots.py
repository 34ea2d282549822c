"""Files of producer states: `<offset>.snapshot` holds what is known up to that offset."""

from collections.abc import Collection
from pathlib import Path
from struct import Struct

from ottla.log.files import SNAPSHOT, file_name, read_file
from ottla.log.producers import NO_TRANSACTION, ProducerState, SequencedBatch
from ottla.wire.checksum import crc32c

VERSION = 1
_HEAD = Struct(">hI")
_COUNT = Struct(">i")
# producer id, epoch, last sequence, last offset, offset delta, timestamp, coordinator epoch,
# first offset of the open transaction
_ENTRY = Struct(">qhiqiqiq")
_SEQUENCE_MASK = 2**31 - 1


def encode_snapshot(states: dict[int, ProducerState]) -> bytes:
    parts = [_COUNT.pack(len(states))]
    for producer_id, state in sorted(states.items()):
        last = state.batches[-1] if state.batches else None
        parts.append(
            _ENTRY.pack(
                producer_id,
                state.epoch,
                last.last_sequence if last else -1,
                last.last_offset if last else -1,
                last.last_offset - last.first_offset if last else 0,
                state.last_timestamp,
                state.coordinator_epoch,
                state.transaction_start,
            )
        )
    body = b"".join(parts)
    return _HEAD.pack(VERSION, crc32c(body)) + body


def decode_snapshot(content: bytes) -> dict[int, ProducerState]:
    """ValueError where the file is not whole."""
    if len(content) < _HEAD.size + _COUNT.size:
        raise ValueError("a producer snapshot ends within its header")
    version, crc = _HEAD.unpack_from(content)
    body = memoryview(content)[_HEAD.size :]
    if version != VERSION or crc != crc32c(body):
        raise ValueError("a producer snapshot has an unknown version or a wrong checksum")
    (count,) = _COUNT.unpack_from(body)
    if len(body) != _COUNT.size + count * _ENTRY.size:
        raise ValueError("a producer snapshot is not as long as its count says")
    states = {}
    for fields in _ENTRY.iter_unpack(body[_COUNT.size :]):
        producer_id, epoch, sequence, offset, delta, timestamp, coordinator_epoch, start = fields
        batches = []
        if offset >= 0:
            first = (sequence - delta) & _SEQUENCE_MASK if sequence >= 0 else sequence
            batches = [SequencedBatch(first, sequence, offset - delta, offset, timestamp)]
        start = start if start >= 0 else NO_TRANSACTION
        states[producer_id] = ProducerState(epoch, coordinator_epoch, timestamp, start, batches)
    return states


class ProducerSnapshots:
    """The snapshot files of one log directory."""

    __slots__ = ("directory", "offsets")

    def __init__(self, directory: Path, offsets: Collection[int] = ()) -> None:
        self.directory = directory
        self.offsets = sorted(offsets)

    def path(self, offset: int) -> Path:
        return self.directory / file_name(offset, SNAPSHOT)

    @property
    def latest(self) -> int | None:
        return self.offsets[-1] if self.offsets else None

    def write(self, offset: int, content: bytes) -> None:
        with open(self.path(offset), "wb", buffering=0) as file:
            file.write(content)
        self.remember(offset)

    def remember(self, offset: int) -> None:
        if offset not in self.offsets:
            self.offsets = sorted([*self.offsets, offset])

    def load_latest(self) -> tuple[int, dict[int, ProducerState]] | None:
        """The newest snapshot that can be read; broken ones are removed on the way."""
        while self.offsets:
            offset = self.offsets[-1]
            try:
                return offset, decode_snapshot(read_file(str(self.path(offset))))
            except (ValueError, FileNotFoundError):
                self.remove(offset)
        return None

    def remove(self, offset: int) -> None:
        if offset in self.offsets:
            self.offsets.remove(offset)
        self.path(offset).unlink(missing_ok=True)

    def remove_outside(self, log_start_offset: int, log_end_offset: int) -> None:
        for offset in list(self.offsets):
            if offset > log_end_offset or offset <= log_start_offset:
                self.remove(offset)

    def remove_strays(self, segment_bases: Collection[int]) -> None:
        """Keep one per segment, and the newest of all if it is ahead of the last segment."""
        bases = set(segment_bases)
        strays = [offset for offset in self.offsets if offset not in bases]
        if strays and bases and strays[-1] > max(bases):
            strays.pop()
        for offset in strays:
            self.remove(offset)
