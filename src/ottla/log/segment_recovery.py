"""Reading what may not have been flushed before a crash: the first damage ends the log.

Indexes and leader epochs are made anew from the batches on the way; producers come afterwards
(`rebuilding`).
"""

import os
from logging import getLogger

from ottla.log.config import LogConfig
from ottla.log.damage import keep_segments, keep_what_follows
from ottla.log.epochs import LeaderEpochs
from ottla.log.scanning import scan
from ottla.log.segment import RELATIVE_OFFSET_MAX, Segment

logger = getLogger(__name__)


def recover_segments(
    segments: list[Segment], epochs: LeaderEpochs, config: LogConfig, recovery_point: int
) -> int:
    """Check everything from the recovery point on, or from further back where an index is not to
    be trusted: the offset it began at. The first damage ends the log."""
    first = max(
        (n for n, segment in enumerate(segments) if segment.base_offset <= recovery_point),
        default=0,
    )
    checked_from = recovery_point
    for n in range(first, len(segments)):
        segment = segments[n]
        size = segment.size
        checked_from = min(checked_from, _recover_segment(segment, epochs, config, recovery_point))
        if segment.size < size:
            logger.warning(
                "cut %d bytes that were not written whole off %s",
                size - segment.size,
                segment.log_path,
            )
            keep_segments(segments[n + 1 :])
            del segments[n + 1 :]
            break
        if n + 1 < len(segments):
            segment.seal()
    return checked_from


def _end_of_flushed(segment: Segment, recovery_point: int) -> int:
    """Where the batches below the recovery point end; 0 if they are not all there: a disk may
    forget what it said was safe."""
    end, next_offset = 0, -1
    for position, header in scan(segment.handle, segment.index.last_position(), segment.size):
        if header.last_offset >= recovery_point:
            return position
        end, next_offset = position + header.size, header.next_offset
    return end if next_offset == recovery_point else 0


def _recover_segment(
    segment: Segment, epochs: LeaderEpochs, config: LogConfig, recovery_point: int = 0
) -> int:
    """Rebuild indexes and epochs of a segment from `recovery_point` on; cut at the first damage.

    Below the recovery point batches and index entries were flushed, and are trusted if they agree.
    Returns the offset from which on transactions have to be looked for anew.
    """
    start = 0
    if recovery_point > segment.base_offset and segment.index.is_sane(segment.size):
        segment.index.truncate_to(recovery_point)
        segment.times.truncate_to(recovery_point)
        start = _end_of_flushed(segment, recovery_point)
        segment.reload_largest_timestamp(start)
    if start == 0:
        segment.index.clear()
        segment.times.clear()
        segment.max_timestamp = -1
    segment.bytes_since_index_entry = start - segment.index.last_position()
    checked_from = recovery_point if start else segment.base_offset
    segment.aborted.truncate_to(checked_from)
    end, latest = start, epochs.latest
    for position, header in scan(segment.handle, start, segment.size, check=True):
        if header.last_offset - segment.base_offset > RELATIVE_OFFSET_MAX:
            break
        segment.note(header.last_offset, header.max_timestamp, position, header.size, config)
        if header.leader_epoch > latest:
            latest = header.leader_epoch
            epochs.assign(latest, header.base_offset)
        end = position + header.size
    if end < segment.size:
        keep_what_follows(segment, end)
        os.ftruncate(segment.handle.fd, end)
        segment.size = end
    segment.unsynced = True
    return checked_from
