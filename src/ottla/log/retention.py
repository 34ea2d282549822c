"""Which segments of a log have had their time. Pure but for a file's own date."""

from typing import Protocol

from ottla.log.config import LogConfig
from ottla.log.segment import Segment


class RetainedLog(Protocol):
    config: LogConfig
    segments: list[Segment]
    log_start_offset: int
    log_end_offset: int
    high_watermark: int


def droppable(log: RetainedLog, now_ms: int) -> int:
    """How many of the oldest segments may go now."""
    if not log.config.delete:
        return _below_start(log)
    return max(_below_start(log), _too_old(log, now_ms), _too_much(log))


def _ends(log: RetainedLog, n: int) -> int:
    return log.segments[n + 1].base_offset if n + 1 < len(log.segments) else log.log_end_offset


def _committed(log: RetainedLog, n: int) -> bool:
    """Only what is committed goes, and never an empty active segment."""
    last = n + 1 == len(log.segments)
    return log.high_watermark >= _ends(log, n) and not (last and log.segments[n].size == 0)


def _below_start(log: RetainedLog) -> int:
    count = 0
    while count + 1 < len(log.segments) and _ends(log, count) <= log.log_start_offset:
        count += 1
    return count


def _too_old(log: RetainedLog, now_ms: int) -> int:
    limit, count = log.config.retention_ms, 0
    if limit < 0:
        return 0
    while (
        count < len(log.segments)
        and _committed(log, count)
        and now_ms - log.segments[count].retention_timestamp() > limit
    ):
        count += 1
    return count


def _too_much(log: RetainedLog) -> int:
    limit, count = log.config.retention_bytes, 0
    if limit < 0:
        return 0
    excess = sum(segment.size for segment in log.segments) - limit
    while (
        count < len(log.segments)
        and _committed(log, count)
        and excess - log.segments[count].size >= 0
    ):
        excess -= log.segments[count].size
        count += 1
    return count
