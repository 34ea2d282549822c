"""A share group's queue over one partition: taken, answered, given back, given up."""

import pytest

from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share.acknowledging import Acknowledge
from ottla.groups.share.delivery import Acquired, DeliveryState, StateBatch
from unit.share.in_flight_model import ACCEPT, AVAILABLE, DONE, REJECT, RELEASE, Queue


def test_new_records_are_taken_once() -> None:
    queue = Queue(0)
    assert queue.take("a", [(0, 9)]) == [Acquired(0, 9, 1)]
    assert queue.next_fetch_offset == 10
    assert queue.take("b", [(0, 9)]) == []


def test_accepted_records_move_the_start_once_that_is_written() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    change = queue.answer("a", (5, 9, ACCEPT))
    assert change[:3] == (0, [StateBatch(5, 9, DONE, 1)], 5)
    change = queue.acknowledge("a", [(0, 4, ACCEPT)], 0.0, None)
    assert change[:3] == (0, [StateBatch(0, 4, DONE, 1)], 10)
    assert queue.start_offset == 0
    queue.complete(change, 0.0, is_written=True)
    assert queue.start_offset == 10


def test_an_answer_that_could_not_be_written_was_not_given() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    change = queue.acknowledge("a", [(0, 4, ACCEPT), (5, 9, RELEASE)], 0.0, None)
    assert queue.next_fetch_offset == 10  # nobody takes what may still be taken back
    queue.complete(change, 1.0, is_written=False)
    assert {run.state for run in queue.runs()} == {DeliveryState.ACQUIRED}
    assert queue.answer("a", (0, 9, ACCEPT)).batches == [StateBatch(0, 9, DONE, 1)]


def test_a_lock_that_runs_out_while_an_answer_is_written_in_vain_is_gone() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    change = queue.acknowledge("a", [(0, 9, ACCEPT)], 29.0, None)
    assert queue.tick(30.0).batches == []
    queue.complete(change, 31.0, is_written=False)
    assert queue.take("b", [(0, 9)]) == [Acquired(0, 9, 2)]


def test_a_lock_whose_answer_is_being_written_is_not_waited_for() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    change = queue.acknowledge("a", [(0, 9, ACCEPT)], 29.0, None)
    queue.tick(30.0)
    assert queue.deadline() is None  # else it would be due again at once, until that is written
    queue.complete(change, 31.0, is_written=True)
    assert queue.deadline() is None


def test_a_lock_is_waited_for_again_when_its_answer_could_not_be_written() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    queue.take("b", [(10, 19)], at=5.0)
    change = queue.acknowledge("b", [(10, 19, ACCEPT)], 29.0, None)
    queue.tick(30.0)
    queue.complete(change, 31.0, is_written=False)
    assert queue.deadline() == 35.0
    assert queue.tick(35.0).batches == [StateBatch(10, 19, AVAILABLE, 1)]


def test_released_records_are_delivered_again_and_counted() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    queue.answer("a", (0, 9, [1, 2] * 5))
    assert queue.next_fetch_offset == 1
    assert queue.take("b", [(0, 9)], 2, is_record_limit=True) == [
        Acquired(1, 1, 2),
        Acquired(3, 3, 2),
    ]


def test_a_lock_runs_out() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    assert queue.deadline() == 30.0
    assert queue.tick(29.9).batches == []
    assert queue.tick(30.0).batches == [StateBatch(0, 9, AVAILABLE, 1)]
    with pytest.raises(KafkaError) as refusal:
        queue.answer("a", (0, 9, ACCEPT))
    assert refusal.value.code is ErrorCode.INVALID_RECORD_STATE


def test_a_renewed_lock_lasts_longer() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    assert queue.answer("a", (0, 9, [Acknowledge.RENEW]), at=20.0).batches == []
    assert queue.tick(30.0).batches == []
    assert queue.deadline() == 50.0


def test_locks_are_not_renewed_where_that_is_switched_off() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    with pytest.raises(KafkaError) as refusal:
        queue.acknowledge("a", [(0, 9, [Acknowledge.RENEW])], 0.0, None)
    assert refusal.value.code is ErrorCode.INVALID_RECORD_STATE


def test_records_delivered_too_often_are_given_up() -> None:
    queue = Queue(0, delivery_limit=2)
    for _ in range(2):
        queue.take("a", [(0, 0)])
        queue.answer("a", (0, 0, RELEASE))
    assert queue.start_offset == 1


def test_records_near_the_delivery_limit_are_given_out_in_smaller_and_smaller_parts() -> None:
    queue = Queue(0, delivery_limit=10)
    seen = []
    for _ in range(10):
        (run,) = queue.take("a", [(0, 31)])
        seen.append(run)
        queue.answer("a", (run.first, run.last, RELEASE))
    assert seen[:5] == [Acquired(0, 31, count) for count in range(1, 6)]
    assert seen[5:] == [Acquired(0, 32 // 2**part - 1, 5 + part) for part in range(1, 6)]


def test_a_poison_record_does_not_take_its_neighbours_with_it() -> None:
    queue = Queue(0)
    given_up: set[int] = set()
    accepted: set[int] = set()
    while queue.start_offset < 10:
        for run in queue.take("a", [(0, 9)]):
            for offset in range(run.first, run.last + 1):
                is_poison = run.first <= 3 <= run.last  # who has it crashes, and answers nothing
                queue.answer("a", (offset, offset, RELEASE if is_poison else ACCEPT))
                (given_up if is_poison and run.deliveries == 5 else accepted).add(offset)
    assert given_up == {3}


def test_nobody_answers_for_another() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    with pytest.raises(KafkaError) as refusal:
        queue.answer("b", (0, 9, ACCEPT))
    assert refusal.value.code is ErrorCode.INVALID_RECORD_STATE
    with pytest.raises(KafkaError) as refusal:
        queue.answer("b", (5, 12, ACCEPT))
    assert refusal.value.code is ErrorCode.INVALID_REQUEST
    assert list(queue.runs()) == [StateBatch(0, 9, DeliveryState.ACQUIRED, 1)]


def test_answers_are_taken_all_or_none() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    queue.take("b", [(10, 19)])
    with pytest.raises(KafkaError):
        queue.answer("a", (0, 9, ACCEPT), (10, 19, ACCEPT))
    assert queue.start_offset == 0
    assert queue.answer("a", (0, 9, ACCEPT)).batches


def test_what_was_locked_is_free_for_the_next_leader() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    change = queue.answer("a", (2, 3, ACCEPT), (5, 5, REJECT), (7, 7, RELEASE))
    heir = Queue(change.start_offset, change.batches)
    assert heir.next_fetch_offset == 0
    assert heir.end_offset == 8
    assert heir.take("b", [(0, 9)]) == [
        Acquired(0, 1, 1),
        Acquired(4, 4, 1),
        Acquired(6, 6, 1),
        Acquired(7, 7, 2),
        Acquired(8, 9, 1),
    ]


def test_offsets_that_were_compacted_away_are_not_waited_for() -> None:
    queue = Queue(0, [StateBatch(0, 4, AVAILABLE, 1), StateBatch(5, 7, AVAILABLE, 1)])
    assert queue.next_fetch_offset == 0
    assert queue.take("a", [(5, 7)]) == [Acquired(5, 7, 2)]
    queue.answer("a", (5, 7, ACCEPT))
    assert queue.start_offset == 8


def test_too_many_records_under_way_stop_the_queue() -> None:
    queue = Queue(0, locks_max=10)
    queue.take("a", [(0, 9)])
    assert not queue.can_acquire
    queue.answer("a", (0, 4, ACCEPT))
    assert queue.can_acquire
    assert queue.next_fetch_offset == 10


def test_what_comes_back_is_taken_even_if_too_much_is_under_way() -> None:
    queue = Queue(0, locks_max=10)
    queue.take("a", [(0, 9)])
    queue.answer("a", (5, 6, RELEASE))
    assert queue.can_acquire
    assert queue.take("b", [(0, 19)]) == [Acquired(5, 6, 2)]


def test_records_of_aborted_transactions_are_done_without_being_seen() -> None:
    queue = Queue(0)
    assert queue.take("a", [(0, 4), (5, 6), (7, 9)], hidden=[(5, 6)]) == [
        Acquired(0, 4, 1),
        Acquired(7, 9, 1),
    ]
    queue.answer("a", (0, 4, ACCEPT), (7, 9, ACCEPT))
    assert queue.start_offset == 10


def test_hidden_records_alone_do_not_stop_the_queue() -> None:
    queue = Queue(0, locks_max=10)
    assert queue.take("a", [(0, 9)], hidden=[(0, 9)]) == []
    assert queue.can_acquire


def test_retention_takes_records_away() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    queue.log_starts_at(5)
    assert queue.start_offset == 5
    assert queue.answer("a", (0, 9, ACCEPT)).batches == [StateBatch(5, 9, DONE, 1)]
    queue.complete(queue.tick(30.0), 30.0, is_written=True)
    assert queue.start_offset == 10


def test_a_lock_on_records_that_retention_took_ends_with_them() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    queue.log_starts_at(5)
    assert queue.tick(30.0).batches == [
        StateBatch(0, 4, DeliveryState.ARCHIVED, 1),
        StateBatch(5, 9, AVAILABLE, 1),
    ]
    assert queue.next_fetch_offset == 5


def test_a_batch_of_the_log_is_taken_whole_unless_told() -> None:
    assert Queue(0).take("a", [(0, 4), (5, 9)], 2) == [Acquired(0, 4, 1)]
    assert Queue(0).take("a", [(0, 4), (5, 9)], 2, is_record_limit=True) == [Acquired(0, 1, 1)]


def test_what_was_never_answered_is_given_out_by_the_next_leader() -> None:
    heir = Queue(0, [StateBatch(0, 1, DONE, 1), StateBatch(4, 5, DONE, 1)])
    assert (heir.start_offset, heir.next_fetch_offset) == (2, 2)
    assert heir.take("a", [(0, 5)]) == [Acquired(2, 3, 1)]


def test_the_last_delivery_of_a_record_is_shared_with_no_other_of_its_batch() -> None:
    queue = Queue(0, delivery_limit=4)

    def take(count: int) -> list[Acquired]:
        return queue.take("a", [(0, 15)], count, is_record_limit=True)

    assert take(2) == [Acquired(0, 1, 1)]
    for deliveries in (2, 3):
        queue.answer("a", (1, 1, RELEASE))
        assert take(1) == [Acquired(1, 1, deliveries)]
    queue.answer("a", (0, 1, RELEASE))
    assert queue.take("b", [(0, 15)]) == [Acquired(0, 0, 2)]  # the next one is at its last
    assert queue.take("c", [(0, 15)]) == [Acquired(1, 1, 4)]  # and has no company
    assert queue.take("d", [(0, 15)]) == [Acquired(2, 15, 1)]


def test_a_record_near_its_last_delivery_waits_for_a_request_of_its_own() -> None:
    queue = Queue(
        0, [StateBatch(0, 1, AVAILABLE, 1), StateBatch(2, 3, AVAILABLE, 3)], delivery_limit=4
    )
    read = [(0, 1), (2, 3), (4, 5)]
    assert queue.take("a", read) == [Acquired(0, 1, 2)]
    assert queue.take("b", read[1:]) == [Acquired(2, 2, 4)]
    assert queue.take("c", read[1:]) == [Acquired(3, 3, 4)]
    assert queue.take("d", read[2:]) == [Acquired(4, 5, 1)]
