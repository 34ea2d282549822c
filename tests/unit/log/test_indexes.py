"""Sparse lookups against a list that is searched by hand."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.log.indexes import AbortedTransaction, OffsetIndex, TimeIndex, TransactionIndex

BASE = 1000
rising = st.lists(st.integers(1, 50), min_size=1, max_size=40)


def sums(steps: list[int]) -> list[int]:
    return [sum(steps[: n + 1]) for n in range(len(steps))]


@given(offsets=rising, positions=rising, wanted=st.integers(0, 2500))
def test_an_offset_leads_to_the_last_entry_not_beyond_it(
    offsets: list[int], positions: list[int], wanted: int
) -> None:
    entries = [
        (BASE + offset, position)
        for offset, position in zip(sums(offsets), sums(positions), strict=False)
    ]
    index = OffsetIndex("unused", BASE, fresh=True)
    for offset, position in entries:
        index.append(offset, position)
    before = [position for offset, position in entries if offset <= BASE + wanted]
    assert index.lookup(BASE + wanted) == (before[-1] if before else 0)
    at = [position for _, position in entries if position <= wanted]
    assert index.position_before(wanted) == (at[-1] if at else 0)
    later = [offset for offset, _ in entries if offset >= BASE + wanted]
    assert index.offset_at_or_after(BASE + wanted) == (later[0] if later else None)
    index.truncate_to(BASE + wanted)
    assert len(index) == sum(offset < BASE + wanted for offset, _ in entries)


@given(times=rising, offsets=rising, wanted=st.integers(0, 2500))
def test_a_time_leads_to_the_last_entry_not_after_it(
    times: list[int], offsets: list[int], wanted: int
) -> None:
    entries = [
        (time, BASE + offset) for time, offset in zip(sums(times), sums(offsets), strict=False)
    ]
    index = TimeIndex("unused", BASE, fresh=True)
    for time, offset in entries:
        index.append_if_later(time, offset)
        index.append_if_later(time, offset + 1)  # not later: not taken
    assert len(index) == len(entries)
    before = [offset for time, offset in entries if time <= wanted]
    assert index.lookup(wanted) == (before[-1] if before else BASE)
    assert index.last() == entries[-1]


@given(first=rising, second=rising)
def test_files_hold_what_was_added_since_the_last_save(first: list[int], second: list[int]) -> None:
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "x.index")
        index = OffsetIndex(path, 0, fresh=True)
        for n, steps in enumerate((first, second)):
            for position, offset in enumerate(sums(steps)):
                index.append(offset + n * 10_000, position + 1)
            index.save()
        assert Path(path).read_bytes() == bytes(index.entries)
        index.truncate_to(10_000)
        index.save()
        assert len(OffsetIndex(path, 0, fresh=False)) == len(first)


def test_preallocated_zeros_are_no_entries(tmp_path: Path) -> None:
    path = tmp_path / "x.index"
    path.write_bytes(OffsetIndex.entry.pack(5, 256) + bytes(8000))
    index = OffsetIndex(str(path), 0, fresh=False)
    assert len(index) == 1
    assert index.lookup(7) == 256


def test_aborted_transactions_survive_and_are_cut(tmp_path: Path) -> None:
    path = str(tmp_path / "x.txnindex")
    index = TransactionIndex(path, fresh=True)
    entries = [AbortedTransaction(1, 0, 10, 11), AbortedTransaction(2, 5, 20, 21)]
    for entry in entries:
        index.append(entry)
    assert Path(path).stat().st_size == 68
    again = TransactionIndex(path, fresh=False)
    assert list(again) == entries
    assert [list(again.ending_from(offset)) for offset in (10, 11, 21)] == [
        entries,
        entries[1:],
        [],
    ]
    again.truncate_to(20)
    assert list(TransactionIndex(path, fresh=False)) == entries[:1]


@pytest.mark.parametrize("torn", [bytes(10), bytes(33), bytes(34), bytes(50)])
def test_what_a_power_cut_left_of_an_entry_is_cut_off(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "x.txnindex"
    entries = [AbortedTransaction(1, 0, 10, 11), AbortedTransaction(2, 5, 20, 21)]
    path.write_bytes(TransactionIndex.entry.pack(0, *entries[0]) + torn)
    index = TransactionIndex(str(path), fresh=False)
    index.truncate_to(20)
    assert path.stat().st_size == TransactionIndex.entry.size
    index.append(entries[1])
    assert list(TransactionIndex(str(path), fresh=False)) == entries


def test_an_entry_is_written_behind_the_last_that_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.txnindex"
    entries = [AbortedTransaction(1, 0, 10, 11), AbortedTransaction(2, 5, 20, 21)]
    path.write_bytes(TransactionIndex.entry.pack(0, *entries[0]) + bytes(10))
    TransactionIndex(str(path), fresh=False).append(entries[1])
    assert list(TransactionIndex(str(path), fresh=False)) == entries
