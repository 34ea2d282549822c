"""Idempotent producers and transactions, as one partition sees them."""

from collections.abc import Callable

import pytest

from ottla.errors import ErrorCode, KafkaError
from ottla.log.partition_log import Appended, AppendOrigin, PartitionLog
from ottla.log.producer_snapshots import decode_snapshot, encode_snapshot
from ottla.log.verification import VerificationGuard
from ottla.wire.record_batch import build_marker
from support.log_batches import NOW, append, batch

Open = Callable[..., PartitionLog]


def send(log: PartitionLog, sequence: int, *, epoch: int = 0, count: int = 1) -> Appended:
    return append(log, *[b"x"] * count, producer_id=1, producer_epoch=epoch, base_sequence=sequence)


def write(log: PartitionLog, producer: int, *, epoch: int = 0, sequence: int = 0) -> Appended:
    data = batch(
        b"t",
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=True,
    )
    return log.append_as_leader(data, leader_epoch=0, now_ms=NOW)


def end(
    log: PartitionLog,
    producer: int,
    *,
    commit: bool,
    epoch: int = 0,
    coordinator: int = 0,
    strict: bool = False,
) -> None:
    marker = build_marker(
        commit=commit,
        producer_id=producer,
        producer_epoch=epoch,
        coordinator_epoch=coordinator,
        timestamp=NOW,
    )
    log.append_as_leader(
        marker,
        leader_epoch=0,
        now_ms=NOW,
        origin=AppendOrigin.COORDINATOR,
        strict_marker_epoch=strict,
    )
    log.advance_high_watermark(log.log_end_offset)


def code_of(call: Callable[[], object]) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        call()
    return refused.value.code


def test_the_last_five_batches_are_known_again(open_orders: Open) -> None:
    log = open_orders()
    for n in range(8):
        send(log, n * 2, count=2)
    for n in range(3, 8):
        again = send(log, n * 2, count=2)
        assert (again.duplicate, again.first_offset, again.last_offset) == (True, n * 2, n * 2 + 1)
    assert code_of(lambda: send(log, 4, count=2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.log_end_offset == 16


def test_a_gap_in_the_sequence_is_refused(open_orders: Open) -> None:
    log = open_orders()
    send(log, 0)
    assert code_of(lambda: send(log, 2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(log, 1).first_offset == 1


def test_sequences_wrap_around(open_orders: Open) -> None:
    log = open_orders()
    send(log, 2**31 - 1)
    assert send(log, 0).first_offset == 1
    log = open_orders()


def test_an_unknown_producer_may_begin_anywhere(open_orders: Open) -> None:
    assert send(open_orders(), 17).first_offset == 0


def test_a_new_epoch_begins_with_sequence_zero_and_fences_the_old(open_orders: Open) -> None:
    log = open_orders()
    send(log, 0)
    assert code_of(lambda: send(log, 5, epoch=1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    send(log, 0, epoch=1)
    assert code_of(lambda: send(log, 1, epoch=0)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_producers_are_forgotten_after_a_day_unless_in_a_transaction(open_orders: Open) -> None:
    log = open_orders()
    send(log, 0)
    write(log, producer=2)
    log.producers.expire(NOW)
    assert set(log.producers.states) == {2}


def test_the_stable_offset_waits_for_every_open_transaction(open_orders: Open) -> None:
    log = open_orders()
    write(log, producer=1)
    write(log, producer=2)
    log.advance_high_watermark(2)
    assert log.last_stable_offset == 0
    end(log, 1, commit=True)
    assert log.last_stable_offset == 1
    end(log, 2, commit=False)
    assert log.last_stable_offset == 4
    assert log.aborted_transactions(0, 4) == [(2, 1)]
    assert log.aborted_transactions(0, 1) == []


def test_a_truncation_does_not_move_the_stable_offset_back(open_orders: Open) -> None:
    log = open_orders()
    write(log, 1, sequence=0)
    end(log, 1, commit=True)
    append(log, b"was not replicated")
    log.truncate_to(2, now_ms=NOW)
    assert log.last_stable_offset == log.high_watermark == 2


def test_a_marker_without_data_leaves_no_trace_in_the_index(open_orders: Open) -> None:
    log = open_orders()
    end(log, 1, commit=False)
    assert log.aborted_transactions(0, 10) == []
    assert log.last_stable_offset == 1


def test_a_zombie_coordinator_and_a_stale_epoch_are_refused(open_orders: Open) -> None:
    log = open_orders()
    write(log, producer=1, epoch=3)
    end(log, 1, commit=True, epoch=3, coordinator=5)
    fenced = ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert code_of(lambda: end(log, 1, commit=True, epoch=3, coordinator=4)) is fenced
    stale = ErrorCode.INVALID_PRODUCER_EPOCH
    assert code_of(lambda: end(log, 1, commit=True, epoch=2, coordinator=5)) is stale
    assert code_of(lambda: end(log, 1, commit=True, epoch=3, coordinator=5, strict=True)) is stale


def test_writes_outside_of_the_open_transaction_are_refused(open_orders: Open) -> None:
    log = open_orders()
    write(log, producer=1)
    assert code_of(lambda: send(log, 1)) is ErrorCode.INVALID_TXN_STATE


def test_coordinators_write_without_sequences(open_orders: Open) -> None:
    log = open_orders()
    data = batch(b"o", producer_id=4, producer_epoch=0, transactional=True)
    for _ in range(3):
        log.append_as_leader(data, leader_epoch=0, now_ms=NOW, origin=AppendOrigin.COORDINATOR)
    assert log.log_end_offset == 3


def test_snapshots_come_back_with_the_last_batch_of_each(open_orders: Open) -> None:
    log = open_orders()
    send(log, 0, count=3)
    write(log, producer=2)
    states = decode_snapshot(encode_snapshot(log.producers.states))
    assert states[1].batches[-1] == (0, 2, 0, 2, NOW + 2)
    assert states[2].transaction_start == 3
    with pytest.raises(ValueError, match="checksum"):
        decode_snapshot(encode_snapshot(log.producers.states)[:-1] + b"!")


def is_verified(log: PartitionLog, epoch: int, guard: VerificationGuard) -> bool:
    try:
        log.producers.check_verified(1, epoch, guard)
    except KafkaError:
        return False
    return True


def verify(
    log: PartitionLog, epoch: int, *, adds: bool, sequence: int = 0
) -> VerificationGuard | None:
    return log.producers.verify(1, epoch, sequence, adds=adds, now_ms=NOW)


@pytest.mark.parametrize("adds", [False, True])
def test_a_marker_that_ends_the_transaction_in_question_takes_the_guard_away(
    open_orders: Open, adds: bool
) -> None:
    log = open_orders()
    guard = verify(log, 0, adds=adds)
    assert guard is not None
    assert is_verified(log, 0, guard)
    end(log, 1, commit=False, epoch=1 if adds else 0)
    told = code_of(lambda: log.producers.check_verified(1, 0, guard))
    assert told is (ErrorCode.INVALID_PRODUCER_EPOCH if adds else ErrorCode.INVALID_TXN_STATE)


def test_in_version_2_the_marker_of_the_transaction_before_leaves_the_guard(
    open_orders: Open,
) -> None:
    """It carries the epoch in which the next one has begun."""
    log = open_orders()
    write(log, 1)
    guard = verify(log, 1, adds=True)
    assert guard is not None
    end(log, 1, commit=True, epoch=1)
    assert is_verified(log, 1, guard)
    assert write(log, 1, epoch=1).first_offset == 2


@pytest.mark.parametrize("adds", [False, True])
def test_a_late_marker_of_an_older_epoch_leaves_the_guard(open_orders: Open, adds: bool) -> None:
    """A coordinator repeats markers whose answers were lost; another producer has begun since."""
    log = open_orders()
    write(log, 1)
    end(log, 1, commit=False, epoch=1)
    guard = verify(log, 2, adds=adds)
    assert guard is not None
    end(log, 1, commit=False, epoch=1)
    assert is_verified(log, 2, guard)


@pytest.mark.parametrize("adds", [False, True])
def test_who_asked_with_an_epoch_that_nobody_has_holds_nobody_up_after_a_marker(
    open_orders: Open, adds: bool
) -> None:
    log = open_orders()
    verify(log, 2, adds=adds, sequence=-1)  # the coordinator refuses it
    end(log, 1, commit=False, epoch=1)
    guard = verify(log, 1, adds=adds)
    assert guard is not None
    assert is_verified(log, 1, guard)
    assert write(log, 1, epoch=1).first_offset == 1


def test_in_version_1_the_next_question_after_a_marker_has_a_guard_of_its_own(
    open_orders: Open,
) -> None:
    log = open_orders()
    write(log, 1)
    end(log, 1, commit=True)
    first = verify(log, 0, adds=False)
    assert verify(log, 0, adds=False) is first
    end(log, 1, commit=True)
    second = verify(log, 0, adds=False)
    assert first is not None
    assert second is not None
    assert not is_verified(log, 0, first)
    assert is_verified(log, 0, second)


def test_what_is_open_needs_no_guard_and_an_old_epoch_gets_none(open_orders: Open) -> None:
    log = open_orders()
    write(log, 1, epoch=3)
    assert verify(log, 3, adds=True) is None
    assert code_of(lambda: verify(log, 2, adds=True)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_once_a_batch_is_in_the_others_need_no_guard(open_orders: Open) -> None:
    log = open_orders()
    guard = verify(log, 0, adds=True)
    assert guard is not None
    write(log, 1)
    assert is_verified(log, 0, guard)
    end(log, 1, commit=True, epoch=1)
    assert not is_verified(log, 0, guard)


def test_a_transaction_of_version_2_begins_with_sequence_0_where_its_producer_is_unknown(
    open_orders: Open,
) -> None:
    log = open_orders()
    verify(log, 0, adds=True, sequence=3)
    assert code_of(lambda: write(log, 1, sequence=3)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert write(log, 1).first_offset == 0


def test_a_transaction_of_version_1_may_begin_anywhere_but_not_behind_one_that_waits(
    open_orders: Open,
) -> None:
    log = open_orders()
    verify(log, 0, adds=False, sequence=5)
    verify(log, 0, adds=False, sequence=3)
    assert code_of(lambda: write(log, 1, sequence=5)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert write(log, 1, sequence=3).first_offset == 0


def test_a_new_epoch_counts_its_sequences_anew(open_orders: Open) -> None:
    log = open_orders()
    verify(log, 0, adds=False, sequence=3)
    verify(log, 1, adds=False, sequence=7)
    assert write(log, 1, epoch=1, sequence=7).first_offset == 0


def test_questions_that_were_never_answered_are_forgotten(open_orders: Open) -> None:
    log = open_orders()
    guard = verify(log, 0, adds=True)
    assert guard is not None
    log.producers.expire(NOW)
    assert not is_verified(log, 0, guard)
