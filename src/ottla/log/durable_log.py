"""What of a log must outlive the process: rolling segments, flushes, snapshots, a clean stop."""

from pathlib import Path

from ottla.ids import TopicPartition, Uuid
from ottla.log.config import NEVER_MS, LogConfig
from ottla.log.epochs import LeaderEpochs
from ottla.log.flushing import FlushJob
from ottla.log.health import DirectoryHealth
from ottla.log.producer_snapshots import ProducerSnapshots, encode_snapshot
from ottla.log.producers import ProducerStates
from ottla.log.segment import Segment
from ottla.log.segmented_log import LogResources, SegmentedLog


class DurableLog(SegmentedLog):
    def __init__(
        self,
        path: Path,
        topic_partition: TopicPartition,
        topic_id: Uuid,
        config: LogConfig,
        resources: LogResources,
        segments: list[Segment],
        *,
        epochs: LeaderEpochs,
        producers: ProducerStates,
        snapshots: ProducerSnapshots,
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
        health: DirectoryHealth,
    ) -> None:
        super().__init__(
            path,
            topic_partition,
            config,
            resources,
            segments,
            log_start_offset=log_start_offset,
            log_end_offset=log_end_offset,
            health=health,
        )
        self.topic_id = topic_id
        self.epochs = epochs
        self.producers = producers
        self.snapshots = snapshots
        self.high_watermark = log_start_offset
        self.recovery_point = recovery_point
        self.cleaned_upto = 0  # everything below has been compacted
        self.unflushed_bytes = 0
        self._flushing: list[FlushJob] = []
        self._flush_asked_ms: int | None = None  # when unflushed batches were first noticed

    def roll(self, now_ms: int, at: int | None = None) -> None:
        """Begin a new segment at the log's end (or further on, where a leader's log has a gap)."""
        base = self.log_end_offset if at is None else max(at, self.log_end_offset)
        old = self.active
        if old.base_offset == base and old.size == 0:
            old.created_ms = now_ms
            return
        old.seal()
        self.keep_warm(old)
        new = Segment(self.path, base, self.resources.files, self.config, now_ms=now_ms)
        new.handle  # noqa: B018  (makes the file: its name holds the offset, should all others go)
        self.segments.append(new)
        self.changed()
        self.tail.clear(base, 0)
        self.producers.end_offset = base
        self.take_snapshot()

    def take_snapshot(self) -> None:
        """Write the producers' states at the log's end, unless that was done there already."""
        offset = self.producers.end_offset
        latest = self.snapshots.latest
        if offset > (self.log_start_offset if latest is None else latest):
            self.snapshots.write(offset, encode_snapshot(self.producers.states))

    def needs_flush(self, bytes_max: int, now_ms: int) -> bool:
        """By bytes since the last flush, by flush.ms, or because a segment was completed."""
        if self.recovery_point == self.log_end_offset:
            return False
        if self._flush_asked_ms is None:
            self._flush_asked_ms = now_ms
        return (
            self.unflushed_bytes >= bytes_max
            or now_ms - self._flush_asked_ms >= self.config.flush_ms
            or (len(self.segments) > 1 and self.segments[-2].unsynced)
        )

    @property
    def awaits_flush(self) -> bool:
        """Whether it may need one though nothing more is appended: by flush.ms alone."""
        return self.recovery_point != self.log_end_offset and self.config.flush_ms < NEVER_MS

    def begin_flush(self) -> FlushJob:
        """All that was appended until now, as a job for a thread; then `end_flush`."""
        segments = [segment for segment in self.segments if segment.unsynced]
        for segment in segments:
            segment.index.save()
            segment.times.save()
        self.epochs.save_if_changed()
        handles = {segment.handle for segment in segments}
        # Nothing below can fail: from here on these segments are the job's to sync.
        for segment in segments:
            segment.unsynced = False
        self.unflushed_bytes = 0
        self._flush_asked_ms = None
        offset = self.log_end_offset
        # A flush that has not ended proves nothing yet: this one syncs its files again.
        handles.update(handle for running in self._flushing for handle in running.handles)
        job = FlushJob(
            tuple(handles),
            (
                *(path for segment in segments for path in segment.index_paths()),
                str(self.epochs.path),
            ),
            offset,
            self.snapshots.path(offset) if offset > self.log_start_offset else None,
            encode_snapshot(self.producers.states),
            self.path,
            self.truncations,
            self.resources.sync,
        )
        self._flushing.append(job)
        return job

    def end_flush(self, job: FlushJob) -> None:
        """The job has run: recovery may start where it began, unless the log was cut meanwhile.

        Then other batches may have come to lie at the offsets that were flushed, and the snapshot
        tells of a log that is no more; as it does if a topic was deleted, and maybe made anew.
        """
        self._flushing.remove(job)
        if self.abandoned or job.truncations != self.truncations:
            if job.snapshot_path is not None:
                self.snapshots.remove(job.offset)
            return
        self.recovery_point = max(self.recovery_point, job.offset)
        self.changed()
        if job.snapshot_path is not None:
            self.snapshots.remember(job.offset)
            bases = [segment.base_offset for segment in self.segments]
            self.snapshots.remove_strays(bases)

    def flush(self) -> None:
        """Begin, run and end a flush here and now."""
        job = self.begin_flush()
        job.run()
        self.end_flush(job)

    @property
    def is_being_flushed(self) -> bool:
        return bool(self._flushing)

    def move_to(self, other: "DurableLog") -> None:
        """This log lies where `other` does from now on, which has the same records and goes.

        What is known of them stays (producers, epochs, what is committed). Jobs that were begun on
        the old files find that the log is not what it was.
        """
        for segment in self.segments:
            self.resources.files.forget(segment.log_path)
        self.tail.clear(self.log_end_offset, 0)
        self.path, self.health = other.path, other.health
        self.segments, self.snapshots, self.tail = other.segments, other.snapshots, other.tail
        self.recovery_point, self.cleaned_upto = other.recovery_point, 0
        self.unflushed_bytes, self._flush_asked_ms = 0, None
        self.forget_old_files()
        self.truncations += 1
        self.epochs.move_to(other.epochs.path)
        self.changed()

    @property
    def is_dirty(self) -> bool:
        return self.recovery_point < self.log_end_offset or any(
            segment.unsynced for segment in self.segments
        )

    def close(self, *, sync: bool = True) -> None:
        """A clean stop: everything written, indexes trimmed, producers' states in a snapshot.

        Without `sync` the caller makes the whole file system durable afterwards.
        """
        if self.log_end_offset > 0:  # an unused log needs no files
            self.active.seal()
            self.epochs.save_if_changed()
        if sync and self.is_dirty:
            self.flush()
        self.take_snapshot()
        self.recovery_point = self.log_end_offset
        self.changed()
        self.abandon()
