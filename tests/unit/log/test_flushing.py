"""Durability: jobs beside appends, and one fsync for all who wait."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from ottla.log.config import LogConfig
from ottla.log.flushing import GroupCommit
from ottla.log.partition_log import LogResources, PartitionLog
from support.log_batches import NOW, append, batch, values_from

Open = Callable[..., PartitionLog]
SMALL = LogConfig(segment_bytes=500, index_interval_bytes=100)


def test_a_flush_is_due_by_bytes_and_when_a_segment_is_complete(open_orders: Open) -> None:
    log = open_orders(SMALL)
    append(log, b"x")
    assert not log.needs_flush(1000, NOW)
    assert log.needs_flush(50, NOW)
    log.flush()
    assert not log.needs_flush(50, NOW)
    log.roll(NOW)
    append(log, b"y")
    log.flush()
    log.roll(NOW)
    assert not log.needs_flush(1000, NOW), "the roll had nothing new to sync"
    while len(log.segments) < 5:
        append(log, b"z")
    assert log.needs_flush(1 << 30, NOW)


def test_a_flush_is_due_when_its_time_has_passed(open_orders: Open) -> None:
    log = open_orders(LogConfig(flush_ms=1000))
    append(log, b"x")
    assert not log.needs_flush(1 << 30, NOW)
    assert not log.needs_flush(1 << 30, NOW + 999)
    assert log.needs_flush(1 << 30, NOW + 1000)
    log.flush()
    assert not log.needs_flush(1 << 30, NOW + 2000)


def test_appends_during_a_flush_belong_to_the_next(open_orders: Open) -> None:
    log = open_orders(SMALL)
    append(log, b"a")
    job = log.begin_flush()
    append(log, b"b")
    job.run()
    log.end_flush(job)
    assert log.recovery_point == 1
    assert log.snapshots.latest == 1
    log.abandon()
    again = open_orders(SMALL, clean=False, recovery_point=1)
    assert values_from(again, 0) == [b"a", b"b"]


def test_a_second_flush_does_not_trust_one_that_has_not_ended(open_orders: Open) -> None:
    log = open_orders(SMALL)
    append(log, b"a")
    first = log.begin_flush()
    log.roll(NOW)
    append(log, b"b")
    second = log.begin_flush()
    assert set(first.handles) < set(second.handles)
    second.run()
    log.end_flush(second)
    assert log.recovery_point == 2
    first.run()
    log.end_flush(first)
    assert log.recovery_point == 2


def test_a_flush_that_a_truncation_overtook_counts_for_nothing(open_orders: Open) -> None:
    log = open_orders(SMALL)
    for n in range(10):
        append(log, b"%d" % n)
    job = log.begin_flush()
    log.truncate_to(4, now_ms=NOW)
    job.run()
    log.end_flush(job)
    assert log.recovery_point <= 4
    assert not (log.path / "00000000000000000010.snapshot").exists()


def test_a_flush_proves_nothing_of_batches_that_replaced_what_it_saw(open_orders: Open) -> None:
    log = open_orders(SMALL)
    append(log, b"a")
    log.flush()
    append(log, b"x", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    job = log.begin_flush()
    log.truncate_to(1, now_ms=NOW)
    for value in (b"b", b"c"):
        log.append_as_follower(
            batch(value, base_offset=log.log_end_offset, leader_epoch=1), now_ms=NOW
        )
    log.roll(NOW)
    job.run()
    log.end_flush(job)
    assert log.recovery_point == 1
    log.flush()
    assert log.recovery_point == 3
    log.abandon()
    again = open_orders(SMALL, clean=False, recovery_point=3)
    assert values_from(again, 0) == [b"a", b"b", b"c"]
    again.advance_high_watermark(3)
    assert again.last_stable_offset == 3, "nobody has an open transaction"


def test_a_snapshot_of_a_log_that_was_cut_is_removed_wherever_it_came_to_lie(
    open_orders: Open,
) -> None:
    log = open_orders(SMALL)
    append(log, b"a")
    append(log, b"x", producer_id=7, producer_epoch=0, base_sequence=0)
    job = log.begin_flush()
    log.truncate_to(1, now_ms=NOW)
    append(log, b"b")
    log.roll(NOW)
    assert log.snapshots.offsets == [2]
    job.run()  # overwrites the one of the roll
    log.end_flush(job)
    assert log.snapshots.offsets == []
    log.truncate_to(2, now_ms=NOW)
    log.flush()
    log.abandon()
    assert open_orders(SMALL, clean=False, recovery_point=2).producers.states == {}


def test_nobody_waits_for_a_flush_of_what_was_cut_off(open_orders: Open) -> None:
    log = open_orders(LogConfig(flush_messages=1))
    append(log, b"a")
    append(log, b"b")

    async def cut_while_it_waits() -> None:
        with ThreadPoolExecutor(1) as executor:
            waiting = asyncio.ensure_future(GroupCommit(log, executor).flushed(2))
            await asyncio.sleep(0)
            log.truncate_to(1, now_ms=NOW)
            await asyncio.wait_for(waiting, 10)

    asyncio.run(cut_while_it_waits())
    assert log.recovery_point == 1


def test_nobody_waits_for_a_flush_of_what_was_deleted(open_orders: Open) -> None:
    log = open_orders(LogConfig(flush_messages=1))
    append(log, b"a")
    log.abandon()
    log.path.rename(log.path.with_suffix(".deleted"))

    async def wait() -> None:
        with ThreadPoolExecutor(1) as executor:
            await GroupCommit(log, executor).flushed(1)

    asyncio.run(wait())
    assert log.health.failure is None
    assert not log.path.exists()


def test_a_topic_that_is_deleted_before_its_flush_begins_is_no_failing_disk(
    open_orders: Open,
) -> None:
    log = open_orders(LogConfig(flush_messages=1))
    append(log, b"a")

    async def delete_while_it_waits() -> None:
        with ThreadPoolExecutor(1) as executor:
            waiting = asyncio.ensure_future(GroupCommit(log, executor).flushed(1))
            await asyncio.sleep(0)
            log.abandon()
            log.path.rename(log.path.with_suffix(".deleted"))
            await asyncio.wait_for(waiting, 10)

    asyncio.run(delete_while_it_waits())
    assert log.health.failure is None
    assert not log.path.exists()


def test_old_snapshots_make_room_for_the_newest(open_orders: Open) -> None:
    log = open_orders(SMALL)
    for n in range(30):
        append(log, b"%d" % n)
        log.flush()
    bases = [segment.base_offset for segment in log.segments[1:]]
    assert log.snapshots.offsets == [*bases, 30]


def test_everybody_who_waits_shares_one_flush(
    open_orders: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = open_orders(LogConfig(flush_messages=1))
    flushes = []
    begin = log.begin_flush

    def counted() -> object:
        flushes.append(1)
        return begin()

    monkeypatch.setattr(log, "begin_flush", counted)

    async def produce() -> None:
        with ThreadPoolExecutor(1) as executor:
            commits = GroupCommit(log, executor)
            appended = [append(log, b"%d" % n) for n in range(50)]
            assert all(one.flush_due for one in appended)
            await asyncio.gather(*(commits.flushed(one.last_offset + 1) for one in appended))

    asyncio.run(produce())
    assert log.recovery_point == 50
    assert len(flushes) == 1


def test_a_follower_learns_that_a_flush_is_due(open_orders: Open) -> None:
    log = open_orders(LogConfig(flush_messages=2))
    one = log.append_as_follower(batch(b"a", base_offset=0), now_ms=NOW)
    assert one is not None
    assert not one.flush_due
    two = log.append_as_follower(batch(b"b", base_offset=1), now_ms=NOW)
    assert two is not None
    assert two.flush_due
    assert log.flush_due
    log.flush()
    assert not log.flush_due


def test_a_failed_sync_reaches_all_who_wait(open_orders: Open, resources: LogResources) -> None:
    def broken(fd: int) -> None:
        raise OSError(5, "Input/output error")

    log = open_orders()
    log.resources = resources._replace(sync=broken)

    async def produce() -> list[BaseException | None]:
        with ThreadPoolExecutor(1) as executor:
            commits = GroupCommit(log, executor)
            offsets = [append(log, b"x").last_offset + 1 for _ in range(3)]
            waiting = (commits.flushed(offset) for offset in offsets)
            return await asyncio.gather(*waiting, return_exceptions=True)

    results = asyncio.run(produce())
    assert all(isinstance(result, OSError) for result in results)
    assert log.recovery_point == 0
    assert log.health.failure is not None, "what was lost is never asked for again"


def test_a_flush_that_could_not_begin_is_owed(
    open_orders: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = open_orders(SMALL)
    for n in range(20):
        append(log, b"%d" % n)

    def no_room(path: object, *_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("ottla.log.indexes.os.open", no_room)
        with pytest.raises(OSError, match="No space"):
            log.begin_flush()
    job = log.begin_flush()
    assert len(job.handles) == len(log.segments)
