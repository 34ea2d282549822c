"""Flushes and checkpoints run in threads beside each other: they must not meet in one file."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from errno import ENOSPC
from itertools import count
from pathlib import Path
from random import Random

import pytest
import uvloop

from ottla.config import Settings
from ottla.ids import TopicPartition
from ottla.log import checkpoints
from ottla.log.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    CheckpointJob,
    read_offsets,
)
from ottla.log.config import LogConfig
from ottla.log.directory import LogDirectory
from ottla.log.files import OpenFiles
from ottla.log.flushing import FlushJob
from ottla.log.maintenance import LogMaintenance, MaintenanceIntervals
from ottla.log.partition_log import LogResources, PartitionLog
from ottla.log.tail import TailCache
from ottla.node.node import Node
from ottla.ports.disk import Sync, write_durably
from support.log_batches import NOW, append, batch, values_from
from support.nodes import alter_own, make_topics, settings, until


class BusyDirectory(LogDirectory):
    """There is something new to be written down each time it is asked."""

    numbers = count()

    def checkpoint(self) -> CheckpointJob:
        files = ((self.path / "checkpoint", b"%d" % next(self.numbers)),)
        return self._offsets._checkpoints.take(files)


def test_checkpoints_that_fall_together_leave_the_directory_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = write_durably
    under_way: list[Path] = []

    def write_slowly(path: Path, content: bytes, sync: Sync) -> None:
        assert not under_way, "two at once"
        under_way.append(path)
        time.sleep(0.01)
        write(path, content, sync)
        under_way.clear()

    monkeypatch.setattr(checkpoints, "write_durably", write_slowly)
    directory = BusyDirectory(tmp_path, LogResources(OpenFiles(), TailCache()))

    async def run() -> None:
        with ThreadPoolExecutor(4) as threads:
            several = LogMaintenance(
                [directory],
                Settings({}),
                threads,
                lambda: 0,
                intervals=MaintenanceIntervals(checkpoint_s=0.001),
            )
            several.start()
            several.start()  # a flush ends with a checkpoint, whenever that is
            await asyncio.sleep(0.15)
            await several.stop()
            assert not under_way, "a stop waits for what was begun"

    asyncio.run(run())
    assert directory.health.failure is None
    assert int((tmp_path / "checkpoint").read_bytes()) > 2


def test_a_topic_that_is_deleted_while_it_is_flushed_is_no_failing_disk(tmp_path: Path) -> None:
    directory = LogDirectory(tmp_path, LogResources(OpenFiles(), TailCache()))
    orders = TopicPartition("orders", 0)
    log = directory.create(orders, b"i" * 16, LogConfig(), now_ms=NOW)
    append(log, b"x")

    class Deleting(LogMaintenance):
        async def _in_thread(self, job: Callable[[], None]) -> None:
            directory.delete(orders, now_ms=NOW)
            await super()._in_thread(job)

    async def run() -> None:
        with ThreadPoolExecutor(1) as threads:
            await Deleting([directory], Settings({}), threads, lambda: NOW)._flush(directory, log)

    asyncio.run(run())
    assert directory.health.failure is None


def test_a_topic_made_anew_while_the_old_one_is_flushed_has_nothing_of_it(tmp_path: Path) -> None:
    directory = LogDirectory(tmp_path, LogResources(OpenFiles(), TailCache()))
    orders = TopicPartition("orders", 0)
    old = directory.create(orders, b"i" * 16, LogConfig(), now_ms=NOW)
    append(old, b"x", producer_id=7, producer_epoch=0, base_sequence=0)

    class MakingAnew(LogMaintenance):
        async def _in_thread(self, job: Callable[[], None]) -> None:
            directory.delete(orders, now_ms=NOW)
            new = directory.create(orders, b"j" * 16, LogConfig(), now_ms=NOW)
            append(new, b"y")
            append(new, b"z")
            await super()._in_thread(job)

    async def run() -> None:
        with ThreadPoolExecutor(1) as threads:
            await MakingAnew([directory], Settings({}), threads, lambda: NOW)._flush(directory, old)

    asyncio.run(run())
    assert list(directory.logs[orders].path.glob("*.snapshot")) == []
    assert directory.health.failure is None


def test_retention_leaves_a_topic_alone_that_was_made_anew_meanwhile(tmp_path: Path) -> None:
    directory = LogDirectory(tmp_path, LogResources(OpenFiles(), TailCache()))
    config = LogConfig(retention_ms=1000)
    first, second = TopicPartition("first", 0), TopicPartition("second", 0)
    for name in (first, second):
        log = directory.create(name, b"i" * 16, config, now_ms=NOW)
        append(log, b"old")
        log.advance_high_watermark(1)

    async def run() -> None:
        with ThreadPoolExecutor(1) as threads:
            maintenance = LogMaintenance([directory], Settings({}), threads, lambda: NOW + 5000)
            retention = asyncio.ensure_future(maintenance._retain())
            await asyncio.sleep(0)  # the first has had its turn
            directory.delete(second, now_ms=NOW)
            append(directory.create(second, b"j" * 16, config, now_ms=NOW), b"new")
            await retention

    asyncio.run(run())
    assert directory.logs[first].log_start_offset == 1
    log = directory.logs[second]
    log.tail.clear(log.log_end_offset, log.size)
    assert values_from(log, 0) == [b"new"]
    assert list(log.path.glob("*.deleted")) == []


def test_producers_are_forgotten_after_the_time_that_is_set_meanwhile(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = Node(settings(tmp_path))
        await node.start()
        await make_topics(node, "t")
        log = node.partitions.leader("t", 0).log
        now_ms = node.clock.wall_ms()
        assert node.broker is not None
        maintenance = node.broker.maintenance
        log.append_as_leader(
            batch(b"v", at=now_ms - 5000, producer_id=7, producer_epoch=0, base_sequence=0),
            leader_epoch=0,
            now_ms=now_ms,
        )
        await maintenance._expire_producers()
        assert set(log.producers.states) == {7}
        await alter_own(node, "producer.id.expiration.ms", "1000")
        await until(lambda: log.config.producer_expiration_ms == 1000)
        await maintenance._expire_producers()
        assert not log.producers.states
        await node.stop()
        again = Node(settings(tmp_path))
        await again.start()
        assert again.partitions.leader("t", 0).log.config.producer_expiration_ms == 1000
        await again.stop()

    uvloop.run(scenario())


def test_a_cut_is_written_down_without_waiting_for_the_next_checkpoint(tmp_path: Path) -> None:
    directory = LogDirectory(tmp_path, LogResources(OpenFiles(), TailCache()))
    orders = TopicPartition("orders", 0)
    log = directory.create(orders, b"i" * 16, LogConfig(), now_ms=NOW)
    for value in (b"a", b"b", b"c"):
        append(log, value)
    log.flush()
    log.cleaned_upto = 2

    def written() -> list[int | None]:
        names = (RECOVERY_POINTS, CLEANER_OFFSETS)
        return [read_offsets(tmp_path / name).get(orders) for name in names]

    async def run() -> None:
        with ThreadPoolExecutor(1) as threads:
            maintenance = LogMaintenance([directory], Settings({}), threads, lambda: NOW)
            await maintenance._checkpoint()
            assert written() == [3, 2]
            log.truncate_to(1, now_ms=NOW)
            append(log, b"B")
            await maintenance._flush_overdue()

    asyncio.run(run())
    assert written() == [1, 1]


class Watched(LogDirectory):
    """With logs that tell how often they were looked at."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, LogResources(OpenFiles(), TailCache()))
        self.looks = 0

    def make(self, topic: str, config: LogConfig | None = None) -> PartitionLog:
        name = TopicPartition(topic, 0)
        log = self.create(name, b"i" * 16, config or LogConfig(), now_ms=NOW)
        needs_flush = log.needs_flush

        def counted(bytes_max: int, now_ms: int) -> bool:
            self.looks += 1
            return needs_flush(bytes_max, now_ms)

        log.needs_flush = counted  # type: ignore[method-assign]
        return log


def flush_rounds(directory: LogDirectory, *steps: Callable[[], object], step_ms: int = 0) -> None:
    """A look at what is overdue after each step; time passes before it."""
    now_ms = NOW

    async def run() -> None:
        nonlocal now_ms
        with ThreadPoolExecutor(1) as threads:
            maintenance = LogMaintenance([directory], Settings({}), threads, lambda: now_ms)
            for step in steps:
                now_ms += step_ms
                step()
                await maintenance._flush_overdue()

    asyncio.run(run())


def nothing() -> None:
    pass


def test_of_many_logs_only_those_that_changed_are_looked_at(tmp_path: Path) -> None:
    directory = Watched(tmp_path)
    logs = [directory.make(f"topic-{n}") for n in range(50)]
    looks: list[int] = []

    def note() -> None:
        looks.append(directory.looks)
        directory.looks = 0

    flush_rounds(directory, nothing, note, lambda: append(logs[7], b"x"), note)
    assert looks == [50, 1], "all when they were new, then the one"


def test_a_log_that_nobody_appends_to_is_flushed_when_its_time_has_come(tmp_path: Path) -> None:
    directory = Watched(tmp_path)
    log = directory.make("orders", LogConfig(flush_ms=1000))
    points: list[int] = []

    def look() -> None:
        points.append(log.recovery_point)

    flush_rounds(directory, lambda: append(log, b"x"), look, look, look, step_ms=500)
    assert points == [0, 0, 1]


def test_a_flush_interval_that_is_set_later_counts_for_what_is_there(tmp_path: Path) -> None:
    directory = Watched(tmp_path)
    log = directory.make("orders")
    soon = LogConfig(flush_ms=400)
    flush_rounds(
        directory, lambda: append(log, b"x"), nothing, lambda: log.reconfigure(soon), step_ms=500
    )
    assert log.recovery_point == 1


def test_a_flush_that_could_not_begin_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = Watched(tmp_path)
    log = directory.make("orders", LogConfig(flush_ms=0))
    begin, failures = log.begin_flush, [OSError(ENOSPC, "no room")]

    def begin_or_fail() -> FlushJob:
        if failures:
            raise failures.pop()
        return begin()

    monkeypatch.setattr(log, "begin_flush", begin_or_fail)

    async def run() -> None:
        with ThreadPoolExecutor(1) as threads:
            maintenance = LogMaintenance([directory], Settings({}), threads, lambda: NOW)
            append(log, b"x")
            with pytest.raises(OSError, match="no room"):
                await maintenance._flush_overdue()
            await maintenance._flush_overdue()

    asyncio.run(run())
    assert log.recovery_point == 1


def test_checkpoints_tell_of_every_log_as_it_is(tmp_path: Path) -> None:
    chance = Random(3)
    directory = LogDirectory(tmp_path, LogResources(OpenFiles(), TailCache()))
    for _ in range(300):
        name = TopicPartition("t", chance.randrange(6))
        log = directory.logs.get(name)
        if log is None:
            log = directory.create(name, b"i" * 16, LogConfig(), now_ms=NOW)
            directory.resources.files.new_directories.make_all()
        change = chance.choice(["append", "append", "commit", "cut", "start", "flush", "delete"])
        if change == "append":
            append(log, b"x")
        elif change == "commit":
            log.advance_high_watermark(log.log_end_offset)
        elif change == "cut":
            log.truncate_to(max(log.high_watermark, log.log_end_offset - 1), now_ms=NOW)
        elif change == "start":
            log.delete_records_before(log.high_watermark)
        elif change == "flush":
            log.flush()
        else:
            directory.delete(name, now_ms=NOW)
        if chance.random() < 0.3:
            directory.checkpoint().run()
            logs = directory.logs.items()
            assert read_offsets(tmp_path / RECOVERY_POINTS) == {
                name: log.recovery_point for name, log in logs
            }
            assert read_offsets(tmp_path / HIGH_WATERMARKS) == {
                name: log.high_watermark for name, log in logs
            }
            assert read_offsets(tmp_path / LOG_STARTS) == {
                name: log.log_start_offset for name, log in logs if log.log_start_offset
            }
