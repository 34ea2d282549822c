from collections.abc import Callable

import pytest

from ottla.errors import ErrorCode, KafkaError
from ottla.log.config import LogConfig
from ottla.log.partition_log import PartitionLog
from support.log_batches import NOW, append, batch, records_in, values_from

Open = Callable[..., PartitionLog]
SMALL = LogConfig(segment_bytes=500, index_interval_bytes=100)


def test_offsets_are_given_in_order(open_orders: Open) -> None:
    log = open_orders()
    assert append(log, b"a", b"b").first_offset == 0
    appended = append(log, b"c")
    assert (appended.first_offset, appended.last_offset) == (2, 2)
    assert log.log_end_offset == 3


def test_what_was_appended_is_read_from_any_offset(open_orders: Open) -> None:
    log = open_orders(SMALL)
    for n in range(50):
        append(log, b"%d" % n)
    assert len(log.segments) > 5
    for start in range(50):
        assert values_from(log, start) == [b"%d" % n for n in range(start, 50)]


def test_a_reader_sees_nothing_beyond_the_bound(open_orders: Open) -> None:
    log = open_orders(SMALL)
    for n in range(20):
        append(log, b"%d" % n)
    for upto in range(21):
        assert values_from(log, 0, upto) == [b"%d" % n for n in range(upto)]


def test_offsets_outside_of_the_log_are_refused(open_orders: Open) -> None:
    log = open_orders()
    append(log, b"a")
    assert log.read(1, 100, upto=1).data == b""
    for offset in (-1, 2):
        with pytest.raises(KafkaError) as refused:
            log.read(offset, 100, upto=1)
        assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_the_first_batch_comes_whole_only_when_asked_for(open_orders: Open) -> None:
    log = open_orders()
    append(log, b"x" * 1000)
    assert len(log.read(0, 10, upto=1, at_least_one=True).data) > 1000
    assert log.read(0, 10, upto=1, at_least_one=False).data == b""
    log.tail.clear(1, log.size)
    assert len(log.read(0, 10, upto=1, at_least_one=True).data) > 1000
    assert len(log.read(0, 10, upto=1, at_least_one=False).data) == 0


def test_large_batches_are_written_without_a_copy_and_read_back(open_orders: Open) -> None:
    log = open_orders()
    append(log, b"small")
    append(log, b"x" * 100_000)
    assert values_from(log, 0) == [b"small", b"x" * 100_000]


def test_a_clean_stop_needs_no_recovery(open_orders: Open) -> None:
    log = open_orders(SMALL)
    for n in range(30):
        append(log, b"%d" % n)
    log.close()
    again = open_orders(SMALL)
    assert again.log_end_offset == 30
    assert values_from(again, 0) == [b"%d" % n for n in range(30)]
    assert append(again, b"30").first_offset == 30


def test_a_follower_takes_batches_as_they_are(open_orders: Open, tmp_path: object) -> None:
    log = open_orders()
    data = batch(b"a", b"b", base_offset=0, leader_epoch=3) + batch(b"c", base_offset=2)
    appended = log.append_as_follower(data + data[:20], now_ms=NOW)
    assert appended is not None
    assert appended.last_offset == 2
    assert log.epochs.latest == 3
    assert bytes(log.read(0, 10_000, upto=3).data) == data


def test_truncation_drops_the_end_and_what_was_known_of_it(open_orders: Open) -> None:
    log = open_orders(SMALL)
    for n in range(30):
        log.append_as_leader(batch(b"%d" % n), leader_epoch=n // 10, now_ms=NOW)
    log.truncate_to(15, now_ms=NOW)
    assert log.log_end_offset == 15
    assert log.epochs.entries == ((0, 0), (1, 10))
    assert values_from(log, 0) == [b"%d" % n for n in range(15)]
    assert append(log, b"again").first_offset == 15


def test_a_start_beyond_the_watermark_is_refused(open_orders: Open) -> None:
    log = open_orders(SMALL)
    for n in range(30):
        append(log, b"%d" % n)
    log.advance_high_watermark(20)
    with pytest.raises(KafkaError) as refused:
        log.delete_records_before(21)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    log.delete_records_before(20)
    log.enforce_retention(NOW)
    assert log.log_start_offset == 20
    assert log.segments[0].base_offset <= 20 < log.segments[1].base_offset
    with pytest.raises(KafkaError):
        log.read(19, 100, upto=30)


def test_retention_by_size_keeps_at_least_so_much(open_orders: Open) -> None:
    log = open_orders(LogConfig(segment_bytes=500, retention_bytes=1000))
    for n in range(40):
        append(log, b"%d" % n)
    log.advance_high_watermark(40)
    assert log.enforce_retention(NOW) > 0
    assert 1000 <= log.size < 1500
    assert log.log_start_offset == log.segments[0].base_offset


def test_retention_by_time_drops_even_the_active_segment(open_orders: Open) -> None:
    log = open_orders(LogConfig(retention_ms=1000))
    append(log, b"old", at=NOW)
    log.advance_high_watermark(1)
    assert log.enforce_retention(NOW + 500) == 0
    assert log.enforce_retention(NOW + 2000) == 1
    assert (log.log_start_offset, log.log_end_offset, log.size) == (1, 1, 0)
    assert append(log, b"new").first_offset == 1


def test_uncommitted_records_outlive_retention(open_orders: Open) -> None:
    log = open_orders(LogConfig(retention_ms=1000))
    append(log, b"old")
    assert log.enforce_retention(NOW + 2000) == 0


def test_a_record_is_found_by_its_time(open_orders: Open) -> None:
    log = open_orders(SMALL)
    for n in range(30):
        append(log, b"a", b"b", at=NOW + 10 * n)
    found = log.offset_for_timestamp(NOW + 101)
    assert found == (NOW + 101, 21, 0)
    assert log.offset_for_timestamp(NOW + 102) == (NOW + 110, 22, 0)
    assert log.offset_for_timestamp(NOW + 292) is None
    assert log.max_timestamp() == (NOW + 291, 59, 0)


def test_segments_roll_by_the_time_of_their_records(open_orders: Open) -> None:
    log = open_orders(LogConfig(segment_ms=1000))
    append(log, b"a", at=NOW)
    append(log, b"b", at=NOW + 1000)
    append(log, b"c", at=NOW + 1001)
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_the_log_lives_within_few_open_files(open_orders: Open) -> None:
    log = open_orders(LogConfig(segment_bytes=100))
    for n in range(50):
        append(log, b"%d" % n)
    assert len(log.segments) == 50
    assert len(log.resources.files._handles) <= 8
    assert values_from(log, 0) == [b"%d" % n for n in range(50)]


def test_the_tail_cache_keeps_within_its_budget(open_orders: Open) -> None:
    log = open_orders()
    log.resources.tails.budget = 5000
    for n in range(200):
        append(log, b"%d" % n)
    assert 0 < log.resources.tails.size <= 5000
    assert values_from(log, 0) == [b"%d" % n for n in range(200)]
    assert records_in(log.read(199, 100, upto=200).data)[0].value == b"199"
