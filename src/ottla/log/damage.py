"""Damage before the end of a log: not a torn tail, so what lies behind it is kept for people.

A crash tears the last write. Where sound batches follow on a bad one, bytes were changed or lost
that had been written whole. The log ends at the damage all the same, as Kafka's would: offsets must
have no holes, and a replica fetches the rest again. But with one replica what is cut off may be all
there is, so it stays in the directory under a name that neither Ottla nor Kafka reads.
"""

from logging import getLogger

from ottla.log.scanning import scan
from ottla.log.segment import Segment
from ottla.wire.record_batch import HEADER_SIZE, MAGIC, read_header

logger = getLogger(__name__)

DAMAGED = ".damaged"
_CHUNK = 1024 * 1024


def keep_what_follows(segment: Segment, end: int) -> None:
    """Copy what is about to be cut off at `end`, if it is more than a torn tail."""
    batches = _sound_batches_behind(segment, end)
    if batches == 0:
        return
    target = segment.log_path + DAMAGED
    with open(target, "wb", buffering=0) as kept:
        for position in range(end, segment.size, _CHUNK):
            kept.write(segment.handle.read(position, min(_CHUNK, segment.size - position)))
    logger.error(
        "%s is damaged at byte %d, before %d sound batches: the log ends there now. What was cut "
        "off is kept in %s; if there is no other replica, those records are lost to consumers",
        segment.log_path,
        end,
        batches,
        target,
    )


def keep_segments(segments: list[Segment]) -> None:
    """Those that stood behind the damage."""
    for segment in segments:
        for path in segment.rename("", DAMAGED):
            logger.error("%s followed on damage: kept as %s", segment.log_path, path)


def _sound_batches_behind(segment: Segment, end: int) -> int:
    if end + HEADER_SIZE > segment.size:
        return 0
    header = read_header(segment.handle.read(end, HEADER_SIZE))
    if header.magic != MAGIC or not HEADER_SIZE <= header.size < segment.size - end:
        return 0
    return sum(1 for _ in scan(segment.handle, end + header.size, segment.size, check=True))
