"""When a compacted log is cleaned, and how the cleaned segments take their place.

The cleaning itself runs in a child process (`cleaning_child`), so that appends and reads go on;
only renames happen here. The child stays until nothing is left to clean.
"""

import os
from logging import getLogger
from pathlib import Path
from typing import NamedTuple

from ottla.ids import TopicPartition
from ottla.log.cleaning import (
    CleanedGroup,
    CleaningPlan,
    CleaningResult,
    ProducerEnd,
    SourceSegment,
)
from ottla.log.cleaning_child import CleaningChild
from ottla.log.directory import LogDirectory
from ottla.log.files import CLEANED, SEGMENT_SUFFIXES, SWAP, file_name
from ottla.log.partition_log import PartitionLog
from ottla.log.reading import Damage
from ottla.log.segment import Segment

logger = getLogger(__name__)

RETRY_MS = 3_600_000  # damage stays, but it may have been room that was missing


class Dirtiness(NamedTuple):
    """How much there is to clean: bytes that were never cleaned, among all that could be."""

    ratio: float
    first_dirty: int
    first_uncleanable: int
    overdue: bool  # max.compaction.lag.ms has passed for some of it


def dirtiness(log: PartitionLog, now_ms: int) -> Dirtiness:
    first_dirty = max(log.log_start_offset, log.cleaned_upto)
    inactive = log.segments[:-1]
    dirty = [s for n, s in enumerate(inactive) if log.segments[n + 1].base_offset > first_dirty]
    limit = max(first_dirty, _uncleanable(log, dirty, now_ms))
    first_uncleanable = log.active.base_offset
    for n, segment in enumerate(inactive):
        if log.segments[n + 1].base_offset > limit:
            first_uncleanable = segment.base_offset
            break
    clean_bytes = sum(s.size for s in log.segments if s.base_offset < first_dirty)
    dirty_bytes = sum(s.size for s in dirty if s.base_offset < first_uncleanable)
    total = clean_bytes + dirty_bytes
    starts = [s.load_first_timestamp() for s in dirty]
    oldest = min((start for start in starts if start > 0), default=now_ms)
    overdue = dirty_bytes > 0 and oldest < now_ms - max(log.config.max_compaction_lag_ms, 0)
    ratio = dirty_bytes / total if total else 0.0
    return Dirtiness(ratio, first_dirty, first_uncleanable, overdue)


def _uncleanable(log: PartitionLog, dirty: list[Segment], now_ms: int) -> int:
    """Open transactions, the active segment and what is too young stay as they are."""
    limit = min(log.last_stable_offset, log.active.base_offset)
    lag = log.config.min_compaction_lag_ms
    if lag > 0:
        young = [s for s in dirty if s.retention_timestamp() > now_ms - lag]
        if young:
            limit = min(limit, young[0].base_offset)
    return limit


def plan_cleaning(log: PartitionLog, found: Dirtiness, now_ms: int) -> CleaningPlan:
    producers = {
        producer_id: ProducerEnd(
            state.batches[-1].last_offset if state.batches else -1, state.epoch
        )
        for producer_id, state in log.producers.states.items()
    }
    below = [s for s in log.segments[:-1] if s.base_offset < found.first_uncleanable]
    return CleaningPlan(
        str(log.path),
        tuple(SourceSegment(s.base_offset, s.size) for s in below),
        found.first_dirty,
        found.first_uncleanable,
        tuple(aborted for s in log.segments for aborted in s.aborted),
        producers,
        log.config,
        now_ms,
        log.truncations,
    )


def choose(logs: list[PartitionLog], now_ms: int) -> tuple[PartitionLog, Dirtiness] | None:
    """The dirtiest log that is worth it."""
    worth = []
    for log in logs:
        if log.config.compact and len(log.segments) > 1:
            found = dirtiness(log, now_ms)
            if found.overdue or found.ratio > log.config.min_cleanable_dirty_ratio:
                worth.append((log, found))
    return max(worth, key=lambda one: one[1].ratio, default=None)


def still_fits(log: PartitionLog, plan: CleaningPlan) -> bool:
    """A log that was cut may have grown again: it is another one then, of the same size maybe."""
    return (
        not log.abandoned
        and log.truncations == plan.truncations
        and _inactive(log).issuperset(plan.segments)
    )


def _inactive(log: PartitionLog) -> set[SourceSegment]:
    return {SourceSegment(segment.base_offset, segment.size) for segment in log.segments[:-1]}


def swap_in(log: PartitionLog, result: CleaningResult, now_ms: int) -> None:
    """Put cleaned segments in place."""
    for group in result.groups:
        _swap(log, group, now_ms)
    log.cleaned_upto = result.end_offset
    log.changed()


def _swap(log: PartitionLog, group: CleanedGroup, now_ms: int) -> None:
    """`.cleaned` → `.swap`: from here on a crash finishes it. Old segments go, `.swap` stays."""
    base = group.replaced[0].base_offset
    _rename(log.path, base, CLEANED, SWAP)
    replaced = {source.base_offset for source in group.replaced}
    at = next(n for n, segment in enumerate(log.segments) if segment.base_offset == base)
    new = Segment(
        log.path, base, log.resources.files, log.config, now_ms=now_ms, size=group.size, fresh=False
    )
    log.replace_segments(at, len(replaced), new, now_ms)
    _rename(log.path, base, SWAP, "")


def _rename(directory: Path, base: int, old: str, new: str) -> None:
    for suffix in reversed(SEGMENT_SUFFIXES):  # the log comes last: its name is what counts
        source = directory / file_name(base, suffix + old)
        if source.exists():
            os.rename(source, directory / file_name(base, suffix + new))


def discard(plan: CleaningPlan) -> None:
    """Remove what a cleaning wrote that came to nothing."""
    for source in plan.segments:
        for suffix in SEGMENT_SUFFIXES:
            name = file_name(source.base_offset, suffix + CLEANED)
            (Path(plan.directory) / name).unlink(missing_ok=True)


class Compactor:
    """Cleans the logs of a directory, one at a time, each in a child process."""

    def __init__(self, directory: LogDirectory) -> None:
        self.directory = directory
        self._failures: dict[PartitionLog, CleaningPlan] = {}
        self.child: CleaningChild | None = None  # only while there is much to do

    async def clean_dirtiest(self, now_ms: int) -> TopicPartition | None:
        """Turn to one log if one is dirty enough; which it was. None: nothing (more) to do."""
        chosen = choose(self._cleanable(now_ms), now_ms)
        if chosen is None:
            await self.stop()
            return None
        log, found = chosen
        plan = plan_cleaning(log, found, now_ms)
        result = await self._run(plan)
        if not still_fits(log, plan):
            discard(plan)
            return None
        if isinstance(result, CleaningResult):
            swap_in(log, result, now_ms)
            return log.topic_partition if result.end_offset > found.first_dirty else None
        discard(plan)
        logger.error("%s cannot be cleaned and stays as it is: %s", log.path, result)
        if isinstance(result, Damage):
            log.damage = log.damage or result
        self._failures[log] = plan
        return log.topic_partition

    def _cleanable(self, now_ms: int) -> list[PartitionLog]:
        """All but those that have failed lately and have not changed."""
        self._failures = {
            log: plan
            for log, plan in self._failures.items()
            if still_fits(log, plan) and now_ms < plan.now_ms + RETRY_MS
        }
        return [log for log in self.directory.logs.values() if log not in self._failures]

    async def _run(self, plan: CleaningPlan) -> CleaningResult | Damage | str:
        """What came of it; a text is what the child said before it died."""
        if self.child is None:
            self.child = await CleaningChild.start()
        result = await self.child.clean(plan)
        if isinstance(result, str):
            await self.stop()
        return result

    async def stop(self) -> None:
        """End the child; what a cleaning under way wrote is removed at the next start."""
        child, self.child = self.child, None
        if child is not None:
            await child.end()
