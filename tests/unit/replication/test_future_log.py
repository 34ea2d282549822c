"""A log and its copy in another directory: the copy follows, and takes the log's place."""

from pathlib import Path

import pytest

from ottla.ids import TopicPartition
from ottla.log.config import LogConfig
from ottla.log.directory import LogDirectory
from ottla.log.directory_names import parse_future, parse_partition
from ottla.log.files import OpenFiles
from ottla.log.partition_log import LogResources, PartitionLog
from ottla.log.tail import TailCache
from ottla.replication.future_log import FutureLog
from support.ids import new_uuid
from support.log_batches import NOW, batch, values_from

ORDERS = TopicPartition("orders", 0)
CONFIG = LogConfig(segment_bytes=500)


class Moving:
    def __init__(self, path: Path) -> None:
        resources = LogResources(OpenFiles(limit=8), TailCache(budget=1 << 20))
        self.old, self.new = (LogDirectory(path / name, resources) for name in ("old", "new"))
        for directory in (self.old, self.new):
            directory.lock()
        topic_id = new_uuid()
        self.log: PartitionLog = self.old.create(ORDERS, topic_id, CONFIG, now_ms=NOW)
        self.future = self.new.create_future(ORDERS, topic_id, CONFIG, now_ms=NOW)
        self.copy = FutureLog(self.log, self.future)

    def write(self, epoch: int, *values: bytes) -> None:
        self.log.epochs.assign(epoch, self.log.log_end_offset)
        for value in values:
            self.log.append_as_leader(batch(value), leader_epoch=epoch, now_ms=NOW)

    def follow(self) -> None:
        while not self.copy.has_all:
            read = self.copy.next(NOW)
            at = self.future.log_end_offset
            self.copy.took(read.fetch_cold() if read.cold else read.data, at, NOW)

    def check(self) -> None:
        start = self.log.log_start_offset
        assert values_from(self.future, start) == values_from(self.log, start)


@pytest.fixture
def moving(tmp_path: Path) -> Moving:
    return Moving(tmp_path)


def values(first: int, count: int) -> list[bytes]:
    return [f"{n}".encode() * 30 for n in range(first, first + count)]


def test_a_copy_follows_through_segments_and_epochs(moving: Moving) -> None:
    moving.write(0, *values(0, 20))
    moving.follow()
    moving.write(3, *values(20, 5))
    moving.follow()
    moving.check()
    assert moving.future.epochs.entries == moving.log.epochs.entries


def test_a_copy_is_cut_where_the_log_was(moving: Moving) -> None:
    moving.write(0, *values(0, 10))
    moving.write(1, *values(10, 10))
    moving.follow()
    moving.log.truncate_to(7, now_ms=NOW)
    moving.write(2, *values(50, 20))
    moving.follow()
    moving.check()


def test_what_was_read_before_a_cut_is_not_taken(moving: Moving) -> None:
    moving.write(0, *values(0, 5))
    read = moving.copy.next(NOW)
    moving.log.truncate_to(2, now_ms=NOW)
    moving.copy.took(read.fetch_cold() if read.cold else read.data, 0, NOW)
    assert moving.future.log_end_offset == 0
    moving.write(1, *values(9, 2))
    moving.follow()
    moving.check()


def test_a_copy_begins_where_the_log_does(moving: Moving) -> None:
    moving.write(0, *values(0, 30))
    moving.log.advance_high_watermark(30)
    moving.log.delete_records_before(20)
    moving.log.enforce_retention(NOW)
    moving.follow()
    moving.check()
    assert moving.future.log_start_offset == 20


def test_the_log_lies_in_the_other_directory_for_whoever_holds_it(moving: Moving) -> None:
    moving.write(0, *values(0, 20))
    moving.log.advance_high_watermark(15)
    moving.follow()
    before = values_from(moving.log, 0)
    moving.new.take_over(moving.old, ORDERS, now_ms=NOW)
    assert moving.new.logs == {ORDERS: moving.log}
    assert (moving.old.logs, moving.new.futures) == ({}, {})
    assert moving.log.path == moving.new.path / "orders-0"
    assert moving.log.high_watermark == 15
    moving.write(1, b"after")
    assert values_from(moving.log, 0) == [*before, b"after"]
    assert not (moving.old.path / "orders-0").exists()
    moving.old.sweep(NOW + CONFIG.file_delete_delay_ms)()
    assert [path.name for path in moving.old.path.iterdir() if path.is_dir()] == []


def test_a_flush_of_the_old_files_says_nothing_of_the_new(moving: Moving) -> None:
    moving.write(0, *values(0, 3))
    moving.follow()
    job = moving.log.begin_flush()
    assert moving.log.is_being_flushed
    job.run()
    moving.write(0, b"more")
    moving.follow()
    moving.new.take_over(moving.old, ORDERS, now_ms=NOW)
    moving.write(0, b"unflushed")
    moving.log.end_flush(job)
    assert moving.log.recovery_point == 4


def test_a_copy_is_found_again_after_a_start(moving: Moving, tmp_path: Path) -> None:
    moving.write(0, *values(0, 5))
    moving.follow()
    for directory in (moving.old, moving.new):
        directory.close(1)
    again = LogDirectory(moving.new.path, moving.new.resources)
    again.open_all(lambda topic: CONFIG, now_ms=NOW)
    assert again.logs == {}
    assert again.futures[ORDERS].log_end_offset == 5


def test_future_directories_are_known_by_their_names() -> None:
    name = f"orders-0.{'ab' * 16}-future"
    assert (parse_future(name), parse_partition(name)) == (ORDERS, None)
    assert parse_future("orders-0") is None
