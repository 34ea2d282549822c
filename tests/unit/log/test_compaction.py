"""Of every key the newest record stays; nothing else changes for a reader."""

import asyncio
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.ids import TopicPartition
from ottla.log.cleaning import CleaningPlan, CleaningResult, clean
from ottla.log.compaction import (
    Compactor,
    dirtiness,
    discard,
    plan_cleaning,
    still_fits,
    swap_in,
)
from ottla.log.config import LogConfig
from ottla.log.directory import LogDirectory
from ottla.log.files import OpenFiles, read_file
from ottla.log.partition_log import LogResources, PartitionLog
from ottla.log.reading import Damage
from ottla.log.recovery import open_log
from ottla.log.tail import TailCache
from ottla.wire.compression import Codec
from ottla.wire.record_batch import NewRecord, build_batch
from support.ids import new_uuid
from support.log_batches import NOW, records_in
from unit.log.compacting import (
    COMPACTED,
    Open,
    Pairs,
    PryingThread,
    compact,
    end_transaction,
    everything,
    put,
)


def test_only_the_newest_of_each_key_stays(open_orders: Open) -> None:
    log = open_orders(COMPACTED)
    for n in range(30):
        put(log, (b"k%d" % (n % 3), b"%d" % n))
    log.roll(NOW)
    size = log.size
    assert compact(log) == 30
    assert log.size < size
    assert [(r.offset, r.value) for r in everything(log)] == [(27, b"27"), (28, b"28"), (29, b"29")]
    assert log.log_end_offset == 30


@pytest.mark.parametrize("seed", range(6))
def test_what_stays_stays_as_it_was_whatever_records_look_like(
    open_orders: Open, seed: int
) -> None:
    """Rows of records that look alike are cleaned in another way than those of many sizes."""
    chance = Random(seed)
    log = open_orders(LogConfig(compact=True, delete=False, segment_bytes=100_000))
    for n in range(12):
        records = [mixed_record(chance, alike=n % 2 == 0) for _ in range(200)]
        data = build_batch(records, codec=chance.choice(list(Codec)))
        log.append_as_leader(data, leader_epoch=0, now_ms=NOW)
        log.advance_high_watermark(log.log_end_offset)
        if n % 5 == 4:
            log.roll(NOW)
            before = everything(log)
            compact(log)
            newest = {record.key: record.offset for record in before}
            assert everything(log) == [r for r in before if newest[r.key] == r.offset]


def mixed_record(chance: Random, *, alike: bool) -> NewRecord:
    number = chance.randrange(150)
    if alike:
        return NewRecord(NOW + chance.randrange(50), b"k%06d" % number, b"v" * 100)
    key = b"k%06d" % number * chance.choice([1, 1, 1, 7])
    value = None if chance.random() < 0.1 else bytes(chance.randrange(300))
    headers = (("h", b"1"),) if chance.random() < 0.1 else ()
    return NewRecord(NOW - chance.randrange(100_000), key, value, headers)


@pytest.mark.parametrize("codec", list(Codec))
def test_batches_shrink_within_their_codec_and_range(open_orders: Open, codec: Codec) -> None:
    log = open_orders(COMPACTED)
    put(log, (b"a", b"1"), (b"b", b"2"), (b"a", b"3"), codec=codec)
    put(log, (b"c", b"4"))
    log.roll(NOW)
    compact(log)
    assert [(r.key, r.value, r.offset) for r in everything(log)] == [
        (b"b", b"2", 1),
        (b"a", b"3", 2),
        (b"c", b"4", 3),
    ]
    log.close()
    assert open_orders(COMPACTED).log_end_offset == 4


def test_tombstones_stay_for_their_time_and_then_go(open_orders: Open) -> None:
    log = open_orders(COMPACTED)
    put(log, (b"a", b"1"), (b"b", b"2"))
    put(log, (b"a", None))
    put(log, (b"z", b"keeps the end"))
    log.roll(NOW)
    compact(log)
    assert [r.key for r in everything(log)] == [b"b", b"a", b"z"]
    compact(log, now_ms=NOW + 999)
    assert [r.key for r in everything(log)] == [b"b", b"a", b"z"]
    assert everything(log)[1].timestamp == NOW
    compact(log, now_ms=NOW + 1000)
    assert [r.key for r in everything(log)] == [b"b", b"z"]


def test_records_of_aborted_transactions_go_and_their_markers_follow(open_orders: Open) -> None:
    log = open_orders(COMPACTED)
    put(log, (b"a", b"committed"), producer_id=1, producer_epoch=0, base_sequence=0)
    begun = {"producer_epoch": 0, "base_sequence": 0, "transactional": True}
    put(log, (b"a", b"aborted"), producer_id=2, **begun)
    put(log, (b"b", b"kept"), producer_id=3, **begun)
    end_transaction(log, 2, commit=False)
    end_transaction(log, 3, commit=True)
    put(log, (b"z", b"end"))
    log.roll(NOW)
    log.producers.states.clear()  # all idle for long: nothing is kept for their sake
    compact(log)
    assert [r.value for r in everything(log) if r.key in (b"a", b"b")] == [b"committed", b"kept"]
    assert log.aborted_transactions(0, 100) == [(2, 1)]
    for now in (NOW, NOW + 5000):
        compact(log, now_ms=now)
    assert log.aborted_transactions(0, 100) == []
    kinds = [r.key for r in everything(log)]
    assert kinds == [b"a", b"b", b"\0\0\0\1", b"z"], "the marker of what is left stays"


def test_a_transaction_that_was_aborted_in_the_clean_part_takes_no_later_one_with_it(
    open_orders: Open,
) -> None:
    log = open_orders(COMPACTED)
    begun = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
    put(log, (b"k", b"old"))
    put(log, (b"x", b"aborted"), base_sequence=0, **begun)
    end_transaction(log, 7, commit=False)
    put(log, (b"z", b"1"))
    log.roll(NOW)
    compact(log)
    assert log.aborted_transactions(0, 100) == [(7, 1)]
    put(log, (b"k", None), base_sequence=1, **begun)
    end_transaction(log, 7, commit=True)
    put(log, (b"z", b"2"))
    log.roll(NOW)
    for now in (NOW, NOW + 5000):
        compact(log, now_ms=now)
        put(log, (b"z", b"3"))
        log.roll(NOW)
        assert b"old" not in [r.value for r in everything(log)], "what was deleted stays deleted"
    assert b"k" not in [r.key for r in everything(log)], "nor is the deletion for ever"


def test_the_last_batch_of_an_active_producer_stays_if_only_empty(open_orders: Open) -> None:
    log = open_orders(COMPACTED)
    put(log, (b"a", b"1"), producer_id=1, producer_epoch=0, base_sequence=7)
    put(log, (b"a", b"2"))
    log.roll(NOW)
    compact(log)
    assert [r.value for r in everything(log)] == [b"2"]
    log.close()
    for path in log.path.glob("*.snapshot"):
        path.unlink()
    again = open_orders(COMPACTED, clean=False)
    assert again.producers.states[1].last_sequence == 7


def test_open_transactions_and_the_active_segment_are_left_alone(open_orders: Open) -> None:
    log = open_orders(COMPACTED)
    for n in range(6):
        put(log, (b"a", b"%d" % n))
    start = log.log_end_offset
    put(log, (b"t", b"open"), producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    for n in range(20):
        put(log, (b"a", b"later%d" % n))
    log.roll(NOW)
    found = dirtiness(log, NOW)
    assert found.first_uncleanable <= start
    compact(log)
    assert sum(r.value is not None and r.value.startswith(b"later") for r in everything(log)) == 20


def test_what_is_young_waits_for_the_lag(open_orders: Open) -> None:
    config = LogConfig(compact=True, segment_bytes=200, min_compaction_lag_ms=1000)
    log = open_orders(config)
    for n in range(10):
        put(log, (b"a", b"%d" % n))
    assert dirtiness(log, NOW + 999).first_uncleanable == 0
    assert dirtiness(log, NOW + 1000).first_uncleanable == log.active.base_offset


def test_a_log_too_long_uncleaned_is_overdue(open_orders: Open) -> None:
    config = LogConfig(compact=True, segment_bytes=200, max_compaction_lag_ms=1000)
    log = open_orders(config)
    for n in range(10):
        put(log, (b"a", b"%d" % n))
    assert not dirtiness(log, NOW + 1000).overdue
    assert dirtiness(log, NOW + 1001).overdue
    log.cleaned_upto = log.active.base_offset
    assert not dirtiness(log, NOW + 1001).overdue


def test_a_map_that_is_full_cleans_as_far_as_it_saw(open_orders: Open) -> None:
    log = open_orders(COMPACTED)
    for n in range(30):
        put(log, (b"k%d" % (n % 10), b"%d" % n))
    log.roll(NOW)
    plan = plan_cleaning(log, dirtiness(log, NOW), NOW)._replace(keys_max=5)
    result = clean(plan)
    assert result.end_offset == 5
    swap_in(log, result, NOW)
    assert len(everything(log)) == 30


def test_a_cleaning_that_no_longer_fits_is_thrown_away(open_orders: Open) -> None:
    log = open_orders(COMPACTED)
    for n in range(30):
        put(log, (b"a", b"%d" % n))
    plan = plan_cleaning(log, dirtiness(log, NOW), NOW)
    clean(plan)
    assert still_fits(log, plan)
    log.truncate_to(3, now_ms=NOW)
    assert not still_fits(log, plan)
    discard(plan)
    assert [r.value for r in everything(log)] == [b"0", b"1", b"2"]
    assert list(log.path.glob("*.cleaned")) == []


HALVED = LogConfig(compact=True, delete=False, segment_bytes=8000, index_interval_bytes=200)


def half_dirty_and_just_started(open_orders: Open) -> PartitionLog:
    """No index is loaded yet; of its segments every other record goes, and none of them whole."""
    log = open_orders(HALVED)
    for n in range(200):
        put(log, (b"same" if n % 2 else b"%d" % n, b"v" * (20 + n % 7)))
    log.close()
    log = open_orders(HALVED)
    log.advance_high_watermark(log.log_end_offset)
    return log


@pytest.mark.parametrize("amid", [False, True])
def test_a_read_that_waits_for_its_thread_outlives_a_cleaning(
    open_orders: Open, monkeypatch: pytest.MonkeyPatch, amid: bool
) -> None:
    log = half_dirty_and_just_started(open_orders)
    result = clean(plan_cleaning(log, dirtiness(log, NOW), NOW))
    found = log.read(60, 500, upto=log.log_end_offset)
    assert found.cold
    reads: list[str] = []

    def read_index(path: str) -> bytes:
        """The cleaned segment comes between the index's name and its content."""
        reads.append(path)
        if len(reads) == 1:
            swap_in(log, result, NOW)
        return read_file(path)

    if amid:
        monkeypatch.setattr("ottla.log.indexes.read_file", read_index)
    else:
        swap_in(log, result, NOW)
    records = records_in(found.fetch_cold())
    assert [record.offset for record in records][:3] == [60, 61, 62], "as it was when it was asked"
    assert log.damage is None
    assert [r.offset for r in everything(log) if r.offset < 100] == list(range(0, 100, 2))


def test_a_file_that_a_thread_opens_amid_a_cleaning_is_not_taken_for_the_cleaned_one(
    open_orders: Open, prying_thread: PryingThread
) -> None:
    log = half_dirty_and_just_started(open_orders)
    result = clean(plan_cleaning(log, dirtiness(log, NOW), NOW))
    with prying_thread():
        swap_in(log, result, NOW)
    assert [r.offset for r in everything(log) if r.offset < 100] == list(range(0, 100, 2))
    assert log.damage is None


class CutMeanwhile(Compactor):
    """While a log is cleaned, another leader has it cut, and sends what takes as many bytes."""

    async def _run(self, plan: CleaningPlan) -> CleaningResult | Damage | str:
        result = await super()._run(plan)
        (log,) = self.directory.logs.values()
        log.truncate_to(0, now_ms=NOW)
        for n in range(30):
            put(log, (b"b", b"%d" % n))
        return result


def test_a_cleaning_of_a_log_that_was_cut_and_grew_again_is_thrown_away(
    tmp_path: Path, resources: LogResources
) -> None:
    directory = LogDirectory(tmp_path, resources)
    log = directory.create(TopicPartition("c", 0), new_uuid(), COMPACTED, now_ms=NOW)
    for n in range(30):
        put(log, (b"a", b"%d" % n))
    assert asyncio.run(CutMeanwhile(directory).clean_dirtiest(NOW)) is None
    assert [(r.key, r.value) for r in everything(log)] == [(b"b", b"%d" % n) for n in range(30)]
    assert dirtiness(log, NOW).first_dirty == 0
    assert list(log.path.glob("*.cleaned")) == []


@pytest.mark.parametrize("start", [2, 0])
def test_what_is_fetched_again_after_a_cut_is_not_clean(open_orders: Open, start: int) -> None:
    log = open_orders(COMPACTED)
    put(log, (b"a", b"1"))
    put(log, (b"b", b"1"))

    def delete_k() -> None:
        put(log, (b"k", b"old"))
        put(log, (b"k", None))
        put(log, (b"z", b"1"))
        log.roll(NOW)

    delete_k()
    assert compact(log) == 5
    if start:
        log.truncate_to(start, now_ms=NOW)
    else:
        log.truncate_fully_and_start_at(0, now_ms=NOW)
    delete_k()
    for now in (NOW, NOW + 5000):
        compact(log, now_ms=now)
        assert b"old" not in [r.value for r in everything(log)], "what was deleted stays deleted"
        put(log, (b"z", b"2"))
        log.roll(NOW)
    assert b"k" not in [r.key for r in everything(log)]


@pytest.mark.parametrize("stage", ["cleaned", "swap", "old gone"])
def test_a_crash_during_the_swap_loses_nothing(open_orders: Open, stage: str) -> None:
    log = open_orders(COMPACTED)
    for n in range(30):
        put(log, (b"k%d" % (n % 3), b"%d" % n))
    log.roll(NOW)
    result = clean(plan_cleaning(log, dirtiness(log, NOW), NOW))
    log.close()
    if stage != "cleaned":
        for path in list(log.path.glob("*.cleaned")):
            path.rename(path.with_suffix(".swap"))
    if stage == "old gone":
        for source in result.groups[0].replaced:
            for path in log.path.glob(f"{source.base_offset:020d}.*"):
                if path.suffix != ".swap":
                    path.rename(f"{path}.deleted")
    again = open_orders(COMPACTED, clean=False)
    newest = {r.key: r.value for r in everything(again)}
    assert newest == {b"k0": b"27", b"k1": b"28", b"k2": b"29"}
    assert again.log_end_offset == 30
    leftovers = (".cleaned", ".swap", ".deleted")
    assert [path for path in log.path.iterdir() if path.suffix in leftovers] == []


pairs = st.tuples(st.sampled_from([b"a", b"b", b"c"]), st.none() | st.binary(max_size=30))


@settings(max_examples=40, deadline=None)
@given(
    batches=st.lists(st.lists(pairs, min_size=1, max_size=4), min_size=1, max_size=25),
    rounds=st.integers(1, 3),
)
def test_the_newest_value_of_every_key_is_never_lost(batches: list[Pairs], rounds: int) -> None:
    with TemporaryDirectory() as folder:
        resources = LogResources(OpenFiles(8), TailCache())
        name = TopicPartition("c", 0)
        log = open_log(Path(folder) / "c-0", name, COMPACTED, resources, now_ms=NOW)
        newest: dict[bytes, bytes | None] = {}
        for batch in batches:
            put(log, *batch)
            newest.update(batch)
        for n in range(rounds):
            compact(log, now_ms=NOW + n * 2000)
        found = {r.key: r.value for r in everything(log)}
        alive = {key: value for key, value in newest.items() if value is not None}
        assert {key: value for key, value in found.items() if value is not None} == alive
        offsets = [r.offset for r in everything(log)]
        assert offsets == sorted(set(offsets))
        log.abandon()
