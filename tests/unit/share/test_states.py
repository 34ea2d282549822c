"""States of share partitions: snapshots and updates, fenced by epochs."""

import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.coordination.machine import CoordinatorRecord, Decision, Instant
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share.batches import combine
from ottla.groups.share.delivery import DeliveryState, StateBatch
from ottla.groups.share.states import SharePartitionKey, ShareStates
from ottla.wire.records.share import ShareSnapshotValue, ShareUpdateValue

NOW = Instant(0.0, 1_000)
PLACE = SharePartitionKey("g", b"t" * 16, 0)
AVAILABLE, DONE = DeliveryState.AVAILABLE, DeliveryState.ACKNOWLEDGED


def take(states: ShareStates, decision: Decision[Any]) -> list[type]:
    for entry in decision.records:
        states.replay(-1, -1, *entry)
    return [type(entry.value) for entry in decision.records]


def write(
    states: ShareStates, *batches: StateBatch, epoch: int = 0, leader: int = 1, start: int = 0
) -> list[type]:
    return take(states, states.write(NOW, PLACE, epoch, leader, start, 0, batches))


def begun(**options: Any) -> ShareStates:
    """A leader has read, and may write."""
    states = ShareStates(**options)
    assert take(states, states.initialize(NOW, PLACE, 0, -1)) == [ShareSnapshotValue]
    assert take(states, states.read(NOW, PLACE, 1)) == [ShareUpdateValue]
    states.states[PLACE] = states.states[PLACE]._replace(updates=0)
    return states


def test_a_state_starts_with_a_snapshot_and_goes_on_with_updates() -> None:
    states = begun()
    assert write(states, StateBatch(0, 9, AVAILABLE, 1)) == [ShareUpdateValue]
    assert write(states, StateBatch(5, 6, DONE, 1)) == [ShareUpdateValue]
    read = states.read(NOW, PLACE, 1).reply
    assert read.start_offset == 0  # type: ignore[union-attr]
    assert read.batches == [  # type: ignore[union-attr]
        StateBatch(0, 4, AVAILABLE, 1),
        StateBatch(5, 6, DONE, 1),
        StateBatch(7, 9, AVAILABLE, 1),
    ]


def test_after_many_updates_comes_a_snapshot() -> None:
    states = begun(updates_per_snapshot=3)
    kinds = [write(states, StateBatch(n, n, DONE, 1))[0] for n in range(5)]
    update = ShareUpdateValue
    assert kinds == [update, update, update, ShareSnapshotValue, update]
    assert states.states[PLACE].batches == [StateBatch(0, 4, DONE, 1)]


def test_a_new_leader_fences_the_old_one() -> None:
    states = begun()
    write(states, leader=1)
    take(states, states.read(NOW, PLACE, 2))
    with pytest.raises(KafkaError) as refusal:
        write(states, leader=1)
    assert refusal.value.code is ErrorCode.FENCED_LEADER_EPOCH


def test_a_reset_fences_those_who_have_not_heard_of_it() -> None:
    states = begun()
    write(states)
    take(states, states.initialize(NOW, PLACE, 5, 100))
    for epoch in (0, 5):  # knowing the number does not help: it has to read the state
        with pytest.raises(KafkaError) as refusal:
            write(states, epoch=epoch)
        assert refusal.value.code is ErrorCode.FENCED_STATE_EPOCH
    assert states.states[PLACE].start_offset == 100
    take(states, states.read(NOW, PLACE, 1))
    assert write(states, epoch=5, start=101)


def test_a_deleted_state_is_not_made_again_by_a_leader_that_has_not_heard_of_it() -> None:
    states = begun()
    write(states, start=100)
    take(states, states.delete(PLACE))
    for again in (lambda: write(states, start=150), lambda: states.read(NOW, PLACE, 1)):
        with pytest.raises(KafkaError) as refusal:
            again()
        assert refusal.value.code is ErrorCode.INVALID_REQUEST
    assert states.states == {}


def test_a_deposed_leader_may_neither_begin_again_nor_write() -> None:
    states = begun()
    take(states, states.read(NOW, PLACE, 2))
    write(states, leader=2, start=100)
    for again in (lambda: states.read(NOW, PLACE, 1), lambda: write(states, leader=1)):
        with pytest.raises(KafkaError) as refusal:
            again()
        assert refusal.value.code is ErrorCode.FENCED_LEADER_EPOCH
    assert states.states[PLACE].start_offset == 100


def test_what_is_done_is_dropped_and_neighbours_are_joined() -> None:
    old = [StateBatch(0, 4, AVAILABLE, 1), StateBatch(5, 9, AVAILABLE, 1)]
    assert combine(old, [], 3) == [StateBatch(3, 9, AVAILABLE, 1)]
    assert combine(old, [StateBatch(2, 6, DONE, 1)], 0) == [
        StateBatch(0, 1, AVAILABLE, 1),
        StateBatch(2, 6, DONE, 1),
        StateBatch(7, 9, AVAILABLE, 1),
    ]


def slowly_combined(
    old: list[StateBatch], new: list[StateBatch], start: int
) -> dict[int, tuple[int, int]]:
    """The same, offset by offset."""
    found = {}
    for batch in [*old, *new]:
        for offset in range(batch.first, batch.last + 1):
            found[offset] = (batch.state, batch.deliveries)
    return {offset: found[offset] for offset in found if offset >= start}


spans = st.tuples(st.integers(0, 30), st.integers(0, 9), st.integers(1, 3)).map(
    lambda span: StateBatch(span[0], span[0] + span[1], AVAILABLE, span[2])
)


@given(st.lists(spans, max_size=6), st.lists(spans, max_size=6), st.integers(0, 20))
def test_batches_are_laid_over_each_other_in_any_order(
    first: list[StateBatch], then: list[StateBatch], start: int
) -> None:
    old = combine([], first, 0)
    combined = combine(old, then, start)
    assert slowly_combined(combined, [], 0) == slowly_combined(old, then, start)
    assert all(one.last < other.first for one, other in pairwise(combined))


def test_thousands_of_batches_are_combined_in_no_time() -> None:
    old = [StateBatch(2 * n, 2 * n, AVAILABLE, 1 + n % 2) for n in range(4_000)]
    began = time.process_time()
    combine(old, [StateBatch(2 * n, 2 * n, DONE, 1) for n in range(4_000)], 0)
    assert time.process_time() - began < 0.5


class Log:
    """Where records come to lie, one after another."""

    def __init__(self, **options: float) -> None:
        self.end = 0
        self.states = ShareStates(3, lambda: self.end, **options)
        self.states.loaded(NOW)

    def take(self, decision: Decision[Any]) -> None:
        for entry in decision.records:
            self.states.replay(-1, -1, *entry)
            self.end += 1

    def write(self, place: SharePartitionKey, times: int = 1) -> None:
        if place not in self.states.states:
            self.take(self.states.initialize(NOW, place, 0, -1))
            self.states.states[place] = self.states.states[place]._replace(leader_epoch=1)
            times -= 1
        for _ in range(times):
            self.take(self.states.write(NOW, place, 0, 1, 0, 0, [StateBatch(0, 0, DONE, 1)]))


def test_what_lies_before_the_oldest_snapshot_is_not_needed() -> None:
    log, other = Log(), PLACE._replace(partition=1)
    log.write(PLACE, 4)  # a snapshot and three updates
    log.write(other)
    assert log.states.redundant_before() == 0
    log.write(PLACE)  # its next snapshot, at 5
    assert log.states.redundant_before() == 4  # where the other's is
    log.take(log.states.delete(other))
    assert log.states.redundant_before() == 5
    log.take(log.states.delete(PLACE))
    assert log.states.redundant_before() == 7


def test_loading_from_a_pruned_log_gives_the_same_states() -> None:
    log = Log()
    records: list[CoordinatorRecord] = []
    log.write(PLACE, 1)
    for _ in range(8):
        decision = log.states.write(NOW, PLACE, 0, 1, 0, 0, [StateBatch(0, log.end, DONE, 1)])
        records += decision.records
        log.take(decision)
    start = log.states.redundant_before()
    assert start == 8
    loaded = ShareStates(3)
    for offset, entry in enumerate(records[start - 1 :], start):
        loaded.replay(offset, -1, *entry)
    assert loaded.states == log.states.states


def test_a_state_that_nobody_writes_to_does_not_hold_up_the_others() -> None:
    log, idle = Log(cold_interval_s=10.0), PLACE._replace(partition=1)
    log.write(idle, 2)
    log.write(PLACE, 12)
    assert log.states.redundant_before() == 0
    assert log.states.deadline() == 10.0
    log.take(log.states.tick(Instant(10.0, 11_000)))
    assert log.states.states[idle].batches == [StateBatch(0, 0, DONE, 1)]
    assert log.states.redundant_before() == 10  # the busy one's last snapshot
    assert log.states.tick(Instant(20.0, 21_000)).records == []
