"""A share group's queue over one partition: taken, answered, given back, given up."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share.in_flight import (
    Acknowledge,
    Acquired,
    Batch,
    DeliveryState,
    InFlight,
)

ACCEPT, RELEASE, REJECT = [Acknowledge.ACCEPT], [Acknowledge.RELEASE], [Acknowledge.REJECT]
DONE = (DeliveryState.ACKNOWLEDGED, DeliveryState.ARCHIVED)


def test_new_records_are_taken_once() -> None:
    queue = InFlight(0)
    assert queue.acquire("a", [(0, 9)], 500, 30.0) == [Acquired(0, 9, 1)]
    assert queue.acquire("b", [(0, 9)], 500, 30.0) == []
    assert queue.next_fetch_offset == 10


def test_accepted_records_move_the_start() -> None:
    queue = InFlight(0)
    queue.acquire("a", [(0, 9)], 500, 30.0)
    change = queue.acknowledge("a", [(5, 9, ACCEPT)], 0)
    assert change == (0, [Batch(5, 9, DeliveryState.ACKNOWLEDGED, 1)], 5)
    change = queue.acknowledge("a", [(0, 4, ACCEPT)], 0)
    assert (change.start_offset, change.batches, change.complete) == (10, [], 0)


def test_released_records_are_delivered_again_and_counted() -> None:
    queue = InFlight(0)
    queue.acquire("a", [(0, 9)], 500, 30.0)
    queue.acknowledge("a", [(0, 9, [1, 2] * 5)], 0)
    assert queue.next_fetch_offset == 1
    assert queue.acquire("b", [(0, 9)], 2, 60.0) == [Acquired(1, 1, 2), Acquired(3, 3, 2)]


def test_a_lock_runs_out() -> None:
    queue = InFlight(0)
    queue.acquire("a", [(0, 9)], 500, 30.0)
    assert queue.deadline() == 30.0
    assert queue.tick(29.9).batches == []
    assert queue.tick(30.0).batches == [Batch(0, 9, DeliveryState.AVAILABLE, 1)]
    with pytest.raises(KafkaError) as refusal:
        queue.acknowledge("a", [(0, 9, ACCEPT)], 0)
    assert refusal.value.code is ErrorCode.INVALID_RECORD_STATE


def test_a_renewed_lock_lasts_longer() -> None:
    queue = InFlight(0)
    queue.acquire("a", [(0, 9)], 500, 30.0)
    assert queue.acknowledge("a", [(0, 9, [Acknowledge.RENEW])], 50.0).batches == []
    assert queue.deadline() == 50.0


def test_records_delivered_too_often_are_given_up() -> None:
    queue = InFlight(0, delivery_limit=2)
    for _ in range(2):
        queue.acquire("a", [(0, 0)], 500, 30.0)
        change = queue.acknowledge("a", [(0, 0, RELEASE)], 0)
    assert change.start_offset == 1


def test_nobody_answers_for_another() -> None:
    queue = InFlight(0)
    queue.acquire("a", [(0, 9)], 500, 30.0)
    for acknowledgement in ((0, 9, ACCEPT), (5, 12, ACCEPT)):
        with pytest.raises(KafkaError) as refusal:
            queue.acknowledge("b", [acknowledgement], 0)
        assert refusal.value.code is ErrorCode.INVALID_RECORD_STATE
    assert queue.runs() == [Batch(0, 9, DeliveryState.ACQUIRED, 1)]


def test_answers_are_taken_all_or_none() -> None:
    queue = InFlight(0)
    queue.acquire("a", [(0, 9)], 500, 30.0)
    queue.acquire("b", [(10, 19)], 500, 30.0)
    with pytest.raises(KafkaError):
        queue.acknowledge("a", [(0, 9, ACCEPT), (10, 19, ACCEPT)], 0)
    assert queue.start_offset == 0


def test_what_was_locked_is_free_for_the_next_leader() -> None:
    queue = InFlight(0)
    queue.acquire("a", [(0, 9)], 500, 30.0)
    change = queue.acknowledge("a", [(2, 3, ACCEPT), (5, 5, REJECT), (7, 7, RELEASE)], 0)
    heir = InFlight(change.start_offset, change.batches)
    assert heir.next_fetch_offset == 0
    assert heir.end_offset == 8
    assert heir.acquire("b", [(0, 9)], 500, 30.0, read_from=0) == [
        Acquired(0, 1, 1),
        Acquired(4, 4, 1),
        Acquired(6, 6, 1),
        Acquired(7, 7, 2),
        Acquired(8, 9, 1),
    ]


def test_offsets_that_were_compacted_away_are_not_waited_for() -> None:
    queue = InFlight(0, [Batch(8, 9, DeliveryState.ACKNOWLEDGED, 1)])
    assert queue.next_fetch_offset == 0
    assert queue.acquire("a", [(5, 7)], 500, 30.0, read_from=0) == [Acquired(5, 7, 1)]
    assert queue.acknowledge("a", [(5, 7, ACCEPT)], 0).start_offset == 10


def test_too_many_records_under_way_stop_the_queue() -> None:
    queue = InFlight(0, locks_max=10)
    queue.acquire("a", [(0, 9)], 500, 30.0)
    assert queue.next_fetch_offset is None
    queue.acknowledge("a", [(0, 4, ACCEPT)], 0)
    assert queue.next_fetch_offset == 10


def test_offsets_without_records_are_passed_over() -> None:
    queue = InFlight(0)
    assert queue.acquire("a", [(0, 1), (5, 6)], 500, 30.0) == [Acquired(0, 1, 1), Acquired(5, 6, 1)]
    assert queue.acknowledge("a", [(0, 1, ACCEPT), (5, 6, ACCEPT)], 0).start_offset == 7


def test_retention_takes_records_away() -> None:
    queue = InFlight(0)
    queue.acquire("a", [(0, 9)], 500, 30.0)
    assert queue.log_starts_at(5).start_offset == 5
    assert queue.acknowledge("a", [(0, 9, ACCEPT)], 0).start_offset == 10


steps = st.lists(
    st.tuples(
        st.sampled_from(["take", "accept", "release", "reject", "tick", "gone"]),
        st.sampled_from("ab"),
        st.integers(0, 30),
        st.integers(1, 6),
    ),
    max_size=40,
)


@settings(deadline=None)
@given(steps)
def test_every_record_is_locked_by_one_member_at_most_until_it_is_done(
    steps: list[tuple[str, str, int, int]],
) -> None:
    queue = InFlight(0, delivery_limit=3)
    log_end, now = 40, 0.0
    locked: dict[int, str] = {}
    accepted: set[int] = set()
    for step, member, offset, size in steps:
        if step == "take":
            at = queue.next_fetch_offset
            if at is None or at >= log_end:
                continue
            span = (at, min(at + size, log_end) - 1)
            for first, last, _ in queue.acquire(member, [span], size, now + 10):
                for one in range(first, last + 1):
                    assert one not in locked
                    assert one not in accepted
                    locked[one] = member
        elif step in ("accept", "release", "reject"):
            kind = Acknowledge[step.upper()]
            mine = locked.get(offset) == member
            try:
                queue.acknowledge(member, [(offset, offset, [kind])], 0)
            except KafkaError:
                assert not mine
                continue
            assert mine or offset < queue.start_offset
            locked.pop(offset, None)
            if kind is Acknowledge.ACCEPT and mine:
                accepted.add(offset)
        elif step == "tick":
            now += 11
            queue.tick(now)
            locked.clear()
        else:
            queue.release(member)
            locked = {one: owner for one, owner in locked.items() if owner != member}
        runs = queue.runs()
        covered = [one for run in runs for one in range(run.first, run.last + 1)]
        assert covered == list(range(queue.start_offset, queue.end_offset))
        assert not runs or runs[0].state not in DONE
