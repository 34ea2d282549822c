"""A search by time runs in a thread: what becomes of the log beside it must not show."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ottla.broker.handlers.records.list_offsets import search
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import TopicPartition
from ottla.log import scanning, timestamps
from ottla.log.cleaning import clean
from ottla.log.compaction import dirtiness, plan_cleaning, swap_in
from ottla.log.config import LogConfig
from ottla.log.files import FileHandle, OpenFiles
from ottla.log.partition_log import LogResources, PartitionLog
from ottla.log.recovery import open_log
from ottla.log.tail import TailCache
from ottla.log.timestamps import TimestampOffset
from ottla.replication.in_sync import InSync
from ottla.replication.leader import Leader
from ottla.wire.record_batch import BatchHeader, NewRecord, build_batch
from support.log_batches import NOW

COMPACTED = LogConfig(compact=True, delete=False, segment_bytes=8000, index_interval_bytes=200)
RETAINED = LogConfig(segment_bytes=8000, retention_bytes=8000)
COUNT = 300
Find = Callable[[], TimestampOffset | None]


@pytest.fixture
def lead(tmp_path: Path) -> Callable[[LogConfig, int], Leader]:
    def make(config: LogConfig, step_ms: int) -> Leader:
        resources = LogResources(OpenFiles(), TailCache())
        orders = TopicPartition("orders", 0)
        log = open_log(
            tmp_path / "orders-0", orders, config, resources, now_ms=NOW, topic_id=b"i" * 16
        )
        for n in range(COUNT):
            key = b"same" if n % 2 else b"%d" % n
            batch = build_batch([NewRecord(NOW + n * step_ms, key, b"v" * (20 + n % 7))])
            log.append_as_leader(batch, leader_epoch=0, now_ms=NOW)
        log.advance_high_watermark(COUNT)
        in_sync = InSync(
            0.0,
            node_id=1,
            replicas=[1],
            in_sync=[1],
            end_offset=COUNT,
            high_watermark=COUNT,
            min_in_sync=1,
            lag_s_max=30.0,
        )
        return Leader(log, 0, in_sync, lambda leader: None, lambda leader, members: None)

    return make


def search_beside(
    monkeypatch: pytest.MonkeyPatch, leader: Leader, find: Find, event: Callable[[], object]
) -> TimestampOffset | None:
    """`event` happens on the loop while the thread has a file open and is about to read it."""
    scan = scanning.scan
    events = [event]

    async def run() -> TimestampOffset | None:
        loop = asyncio.get_running_loop()

        async def happen() -> None:
            events.pop()()

        def scan_later(
            handle: FileHandle, start: int, stop: int
        ) -> Iterator[tuple[int, BatchHeader]]:
            if events:
                asyncio.run_coroutine_threadsafe(happen(), loop).result(10)
            return scan(handle, start, stop)

        with monkeypatch.context() as patch:
            patch.setattr(timestamps, "scan", scan_later)
            return await asyncio.wait_for(search(leader, find), 20)

    found = asyncio.run(run())
    assert not events
    return found


def clean_it(log: PartitionLog) -> Callable[[], object]:
    result = clean(plan_cleaning(log, dirtiness(log, NOW), NOW))
    return lambda: swap_in(log, result, NOW)


def test_a_record_is_found_by_its_time_beside_the_cleaner(
    lead: Callable[[LogConfig, int], Leader], monkeypatch: pytest.MonkeyPatch
) -> None:
    leader = lead(COMPACTED, 1000)
    log = leader.log

    def find() -> TimestampOffset | None:
        return log.offset_for_timestamp(NOW + 60_000)

    assert search_beside(monkeypatch, leader, find, clean_it(log)) == (NOW + 60_000, 60, 0)


def test_a_record_is_found_by_its_time_beside_retention(
    lead: Callable[[LogConfig, int], Leader], monkeypatch: pytest.MonkeyPatch
) -> None:
    leader = lead(RETAINED, 1000)
    log = leader.log

    def find() -> TimestampOffset | None:
        return log.offset_for_timestamp(NOW)

    found = search_beside(monkeypatch, leader, find, lambda: log.enforce_retention(NOW))
    start = log.log_start_offset
    assert found == (NOW + start * 1000, start, 0)
    assert start > 0


@pytest.mark.parametrize("config", [COMPACTED, RETAINED], ids=["cleaner", "retention"])
def test_the_largest_timestamp_is_found_beside_the_cleaner_and_retention(
    lead: Callable[[LogConfig, int], Leader], monkeypatch: pytest.MonkeyPatch, config: LogConfig
) -> None:
    leader = lead(config, -1000)
    log = leader.log
    event = clean_it(log) if config.compact else lambda: log.enforce_retention(NOW)
    found = search_beside(monkeypatch, leader, log.max_timestamp, event)
    assert found is not None
    assert found == log.max_timestamp() == (NOW - log.log_start_offset * 1000, found.offset, 0)
    assert found.offset == log.log_start_offset


def test_what_was_found_of_a_topic_that_is_gone_is_told_to_nobody(
    lead: Callable[[LogConfig, int], Leader], monkeypatch: pytest.MonkeyPatch
) -> None:
    leader = lead(RETAINED, 1000)

    def delete() -> None:
        leader.depose()
        leader.log.abandon()
        leader.log.path.rename(leader.log.path.with_suffix(".deleted"))

    with pytest.raises(KafkaError) as refusal:
        search_beside(monkeypatch, leader, lambda: leader.log.offset_for_timestamp(NOW), delete)
    assert refusal.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_file_that_is_missing_refuses_its_partition_alone(
    lead: Callable[[LogConfig, int], Leader], monkeypatch: pytest.MonkeyPatch
) -> None:
    leader = lead(RETAINED, 1000)
    log = leader.log

    def lose() -> None:
        log.abandon()
        Path(log.segments[0].log_path).unlink()

    with pytest.raises(KafkaError) as refusal:
        search_beside(monkeypatch, leader, lambda: log.offset_for_timestamp(NOW), lose)
    assert refusal.value.code is ErrorCode.KAFKA_STORAGE_ERROR
