"""What is found after a crash: everything that was written whole, and nothing else."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.ids import TopicPartition
from ottla.log.config import LogConfig
from ottla.log.files import OpenFiles
from ottla.log.partition_log import AppendOrigin, LogResources, PartitionLog
from ottla.log.recovery import open_log
from ottla.log.tail import TailCache
from ottla.wire.record_batch import build_marker
from support.log_batches import NOW, append, batch, values_from

Open = Callable[..., PartitionLog]
SMALL = LogConfig(segment_bytes=500, index_interval_bytes=100)


def files_of(log: PartitionLog, *suffixes: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in log.path.iterdir() if path.suffix in suffixes}


def test_a_killed_log_comes_back_whole(open_orders: Open) -> None:
    log = open_orders(SMALL)
    for n in range(40):
        append(log, b"%d" % n)
    log.abandon()
    again = open_orders(SMALL, clean=False)
    assert values_from(again, 0) == [b"%d" % n for n in range(40)]
    assert again.recovery_point == 0
    assert again.epochs.entries == ((0, 0),)


def test_kills_in_a_row_do_not_add_up_to_a_long_recovery(open_orders: Open) -> None:
    log = open_orders(LogConfig())
    for _ in range(3):
        append(log, b"x" * 1000)
        log.abandon()
        log = open_orders(LogConfig(), clean=False)
    assert log.needs_flush(3000, NOW)
    log.flush()
    assert not log.needs_flush(3000, NOW)


def test_recovery_writes_the_same_indexes_as_the_appends_did(open_orders: Open) -> None:
    log = open_orders(SMALL)
    for n in range(40):
        append(log, b"%d" % n, at=NOW + n)
    log.close()
    written = files_of(log, ".index", ".timeindex", ".txnindex")
    for name in written:
        (log.path / name).unlink()
    again = open_orders(SMALL, clean=False)
    again.close()
    assert files_of(again, ".index", ".timeindex", ".txnindex") == written


def test_recovery_starts_at_the_recovery_point(open_orders: Open) -> None:
    log = open_orders(LogConfig(index_interval_bytes=100))
    for n in range(20):
        append(log, b"%d" % n)
    log.flush()
    assert log.recovery_point == 20
    for n in range(20, 40):
        append(log, b"%d" % n)
    log.abandon()
    damaged = bytearray(Path(log.active.log_path).read_bytes())
    damaged[60] ^= 1  # below the recovery point nobody looks
    Path(log.active.log_path).write_bytes(damaged)
    config = LogConfig(index_interval_bytes=100)
    again = open_orders(config, clean=False, recovery_point=20)
    assert again.log_end_offset == 40
    assert open_orders(config, clean=False, recovery_point=0).log_end_offset == 0


def test_damage_in_the_middle_ends_the_log_there(open_orders: Open) -> None:
    log = open_orders(SMALL)
    for n in range(40):
        append(log, b"%d" % n)
    victim = log.segments[3]
    log.close()
    content = bytearray(Path(victim.log_path).read_bytes())
    content[-1] ^= 1
    Path(victim.log_path).write_bytes(content)
    again = open_orders(SMALL, clean=False)
    assert again.log_end_offset == log.segments[4].base_offset - 1
    assert len(again.segments) == 4


@pytest.mark.parametrize("left", [-30, -1, 0, 1, 11, 22, 60])
def test_a_log_goes_on_whatever_a_power_cut_left_around_the_recovery_point(
    open_orders: Open, left: int
) -> None:
    log = open_orders(LogConfig())
    for n in range(20):
        append(log, b"%d" % n)
    log.flush()
    flushed = log.active.size
    append(log, b"lost")
    log.abandon()
    os.truncate(log.active.log_path, flushed + left)
    again = open_orders(LogConfig(), clean=False, recovery_point=20)
    assert again.log_end_offset == (20 if left >= 0 else 19)
    append(again, b"new")
    again.abandon()
    expected = [b"%d" % n for n in range(again.log_end_offset - 1)]
    assert values_from(open_orders(LogConfig(), clean=False), 0) == [*expected, b"new"]


def test_leader_epochs_are_found_in_the_batches(open_orders: Open) -> None:
    log = open_orders(SMALL)
    for n in range(30):
        log.append_as_leader(batch(b"%d" % n), leader_epoch=n // 10, now_ms=NOW)
    log.abandon()
    again = open_orders(SMALL, clean=False)
    assert again.epochs.entries == ((0, 0), (1, 10), (2, 20))


def test_torn_leader_epochs_are_found_in_all_batches_not_only_in_those_that_are_checked(
    open_orders: Open,
) -> None:
    log = open_orders(LogConfig())
    for n in range(30):
        log.append_as_leader(batch(b"%d" % n), leader_epoch=n // 10, now_ms=NOW)
    log.flush()
    log.abandon()
    (log.path / "leader-epoch-checkpoint").write_bytes(b"0\n3\n0 0\n1")
    again = open_orders(LogConfig(), clean=False, recovery_point=30)
    assert again.epochs.entries == ((0, 0), (1, 10), (2, 20))


def test_producers_are_remembered_with_all_their_last_batches(open_orders: Open) -> None:
    log = open_orders(SMALL)
    sent = [batch(b"x", producer_id=9, producer_epoch=0, base_sequence=n) for n in range(20)]
    for one in sent:
        log.append_as_leader(one, leader_epoch=0, now_ms=NOW)
    log.close()
    for clean in (True, False):
        again = open_orders(SMALL, clean=clean)
        for n in range(15, 20):
            appended = again.append_as_leader(sent[n], leader_epoch=0, now_ms=NOW)
            assert appended.duplicate
            assert appended.first_offset == n
        again.abandon()


def test_an_open_transaction_is_still_open_after_a_crash(open_orders: Open) -> None:
    log = open_orders(SMALL)
    begun = {"producer_id": 1, "producer_epoch": 0, "transactional": True}
    append(log, b"plain")
    append(log, b"pending", base_sequence=0, **begun)
    append(log, b"plain")
    log.advance_high_watermark(3)
    assert log.last_stable_offset == 1
    log.abandon()
    again = open_orders(SMALL, clean=False)
    again.advance_high_watermark(3)
    assert again.last_stable_offset == 1
    marker = build_marker(
        commit=False, producer_id=1, producer_epoch=0, coordinator_epoch=0, timestamp=NOW
    )
    again.append_as_leader(marker, leader_epoch=0, now_ms=NOW, origin=AppendOrigin.COORDINATOR)
    assert again.last_stable_offset == 1, "the marker is not committed yet"
    again.advance_high_watermark(4)
    assert again.last_stable_offset == 4
    assert again.aborted_transactions(0, 4) == [(1, 1)]
    again.abandon()
    assert open_orders(SMALL, clean=False).aborted_transactions(0, 4) == [(1, 1)]


def test_aborted_transactions_are_found_again_behind_a_newer_snapshot(open_orders: Open) -> None:
    """A segment that is completed leaves a snapshot ahead of what was flushed."""
    log = open_orders(SMALL)
    for n in range(8):
        data = batch(
            b"x" * 100, producer_id=7, producer_epoch=n, base_sequence=0, transactional=True
        )
        log.append_as_leader(data, leader_epoch=0, now_ms=NOW)
        marker = build_marker(
            commit=n % 2 == 0, producer_id=7, producer_epoch=n, coordinator_epoch=0, timestamp=NOW
        )
        log.append_as_leader(marker, leader_epoch=0, now_ms=NOW, origin=AppendOrigin.COORDINATOR)
    aborted = log.aborted_transactions(0, log.log_end_offset)
    assert [first for _, first in aborted] == [2, 6, 10, 14]
    assert len(log.segments) > 1
    log.abandon()
    again = open_orders(SMALL, clean=False)
    assert again.aborted_transactions(0, again.log_end_offset) == aborted


def test_a_swap_that_was_complete_is_finished(open_orders: Open) -> None:
    log = open_orders(SMALL)
    for n in range(20):
        append(log, b"%d" % n)
    first, second = log.segments[0], log.segments[1]
    log.close()
    kept = Path(second.log_path).read_bytes()
    merged = Path(first.log_path).read_bytes() + kept
    (log.path / (Path(first.log_path).name + ".swap")).write_bytes(merged)
    again = open_orders(SMALL)
    assert values_from(again, 0) == [b"%d" % n for n in range(20)]
    assert [segment.base_offset for segment in again.segments[:2]] == [
        0,
        log.segments[2].base_offset,
    ]


def test_an_unfinished_cleaning_is_undone(open_orders: Open) -> None:
    log = open_orders(SMALL)
    for n in range(20):
        append(log, b"%d" % n)
    log.close()
    for name in ("00000000000000000000.log.cleaned", "00000000000000000000.index.cleaned"):
        (log.path / name).write_bytes(b"half")
    (log.path / "00000000000000000003.log.deleted").write_bytes(b"gone")
    again = open_orders(SMALL)
    assert values_from(again, 0) == [b"%d" % n for n in range(20)]
    assert not [path for path in log.path.iterdir() if path.suffix in (".cleaned", ".deleted")]


@settings(max_examples=60, deadline=None)
@given(cut=st.integers(0, 4000), sizes=st.lists(st.integers(0, 300), min_size=1, max_size=15))
def test_wherever_a_write_was_torn_all_before_it_survives(cut: int, sizes: list[int]) -> None:
    with TemporaryDirectory() as folder:
        resources = LogResources(OpenFiles(4), TailCache())
        path, name = Path(folder) / "orders-0", TopicPartition("orders", 0)
        config = LogConfig(index_interval_bytes=200)
        log = open_log(path, name, config, resources, now_ms=NOW)
        ends = []
        for size in sizes:
            append(log, b"x" * size)
            ends.append(log.size)
        log.abandon()
        file = Path(log.active.log_path)
        whole = file.read_bytes()
        with file.open("r+b") as handle:
            handle.truncate(min(cut, log.size))
            handle.seek(0, 2)
            handle.write(b"\x00" * 30)  # file systems like to leave zeros
        torn = file.read_bytes()  # a batch may end in zeros, and so be whole again
        again = open_log(path, name, config, resources, now_ms=NOW, clean=False)
        survived = sum(torn[:end] == whole[:end] for end in ends)
        assert again.log_end_offset == survived
        assert values_from(again, 0) == [b"x" * size for size in sizes[:survived]]
        assert append(again, b"next").first_offset == survived
        again.abandon()
        shutil.rmtree(path)


def flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


def test_what_follows_on_damage_is_kept_for_people(open_orders: Open) -> None:
    log = open_orders(LogConfig())
    for n in range(9):
        append(log, b"%d" % n)
    size = log.size // 9
    log.abandon()
    flip(log.path / "00000000000000000000.log", 4 * size + 65)
    again = open_orders(LogConfig(), clean=False)
    assert values_from(again, 0) == [b"0", b"1", b"2", b"3"]
    kept = log.path / "00000000000000000000.log.damaged"
    assert kept.stat().st_size == 5 * size


def test_segments_behind_damage_are_kept_for_people(open_orders: Open) -> None:
    log = open_orders(SMALL)
    for n in range(40):
        append(log, b"%d" % n)
    bases = [segment.base_offset for segment in log.segments]
    log.abandon()
    flip(log.path / "00000000000000000000.log", 65)
    again = open_orders(SMALL, clean=False)
    assert again.log_end_offset == 0
    assert len(list(log.path.glob("*.log.damaged"))) == len(bases)


def test_a_torn_tail_is_no_damage(open_orders: Open) -> None:
    log = open_orders(LogConfig())
    for n in range(9):
        append(log, b"%d" % n)
    log.abandon()
    flip(log.path / "00000000000000000000.log", log.size - 1)
    again = open_orders(LogConfig(), clean=False)
    assert again.log_end_offset == 8
    assert not list(log.path.glob("*.damaged"))
