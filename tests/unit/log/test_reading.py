"""Who reads much does so off the event loop, and what comes back from a disk is checked."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ottla.log.config import LogConfig
from ottla.log.files import FileHandle
from ottla.log.partition_log import PartitionLog
from ottla.log.reading import AT_ONCE_BYTES, Damage
from ottla.log.segmented_log import TAIL_AT_ONCE_BYTES
from support.log_batches import append, records_in, values_from

Open = Callable[..., PartitionLog]
LARGE = 40_000  # of such batches the tail knows only where they lie


def filled(log: PartitionLog, count: int) -> PartitionLog:
    for n in range(count):
        append(log, bytes([n]) * LARGE)
    return log


def forget_tail(log: PartitionLog) -> None:
    log.tail.clear(log.log_end_offset, log.active.size)


def test_little_is_read_at_once_and_much_by_a_thread(open_orders: Open) -> None:
    log = filled(open_orders(), 10)
    forget_tail(log)
    assert not log.read(0, AT_ONCE_BYTES // 2, upto=10).cold
    much = log.read(0, 2 * AT_ONCE_BYTES, upto=10)
    assert much.cold
    assert len(much.fetch_cold()) == 2 * AT_ONCE_BYTES


def test_how_much_a_thread_will_read_is_known_before(open_orders: Open) -> None:
    log = filled(open_orders(), 10)
    forget_tail(log)
    limited = log.read(3, 200_000, upto=10)
    assert (limited.bytes_expected, limited.more) == (200_000, True)
    rest = log.read(3, 1_000_000, upto=10)
    assert (rest.bytes_expected, rest.more) == (len(rest.fetch_cold()), False)
    assert [r.offset for r in records_in(rest.fetch_cold())] == list(range(3, 10))


def test_what_ends_with_a_segment_is_not_all_there_is(open_orders: Open) -> None:
    log = filled(open_orders(LogConfig(segment_bytes=5 * (LARGE + 100))), 8)
    assert len(log.segments) == 2
    read = log.read(0, 1_000_000, upto=8)
    assert read.bytes_expected == len(read.fetch_cold())
    assert read.more


def test_at_the_head_more_is_read_at_once(open_orders: Open) -> None:
    log = filled(open_orders(), 40)
    few = log.read(30, TAIL_AT_ONCE_BYTES, upto=40)
    assert not few.cold
    assert len(records_in(few.data)) == 10
    many = log.read(0, 2 * TAIL_AT_ONCE_BYTES, upto=40)
    assert many.cold
    assert many.bytes_expected == len(many.fetch_cold())
    assert [r.offset for r in records_in(many.fetch_cold())] == list(range(40))


def test_what_left_memory_and_comes_back_damaged_is_read_by_nobody(
    open_orders: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = filled(open_orders(), 5)
    path = Path(log.active.log_path)
    data = bytearray(path.read_bytes())
    data[2 * len(data) // 5 + 1000] ^= 1
    path.write_bytes(data)
    monkeypatch.setattr(FileHandle, "read_resident", lambda *_: None)
    assert len(values_from(log, 0, upto=2)) == 2
    with pytest.raises(Damage) as found:
        values_from(log, 0)
    assert found.value.offset == 2
    assert log.damage is found.value


def test_the_disk_is_sent_ahead_of_a_reader_of_cold_pages(
    open_orders: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = filled(open_orders(), 20)
    forget_tail(log)
    needed: list[tuple[int, int]] = []
    monkeypatch.setattr(FileHandle, "read_resident", lambda *_: None)
    monkeypatch.setattr(FileHandle, "will_need", lambda _, *place: needed.append(place))
    read = log.read(0, 200_000, upto=20)
    assert read.cold
    read.fetch_cold()
    assert needed == [(200_000, log.size - 200_000)]


def test_what_was_read_ahead_is_checked_though_it_is_in_memory(open_orders: Open) -> None:
    log = filled(open_orders(), 40)
    handle = log.active.handle
    at = log.active.size // 40 * 2 + 1000
    os.pwrite(handle.fd, bytes([handle.read(at, 1)[0] ^ 1]), at)
    handle.will_need(0, log.active.size)
    before = log.read(0, 2 * TAIL_AT_ONCE_BYTES, upto=40).fetch_cold()
    assert [record.offset for record in records_in(before)] == [0, 1]
    with pytest.raises(Damage):
        log.read(2, LARGE, upto=40).fetch_cold()
