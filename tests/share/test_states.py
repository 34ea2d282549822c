"""States of share partitions: snapshots and updates, fenced by epochs."""

import pytest

from ottla.coordination.machine import Decision, Instant
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share.in_flight import Batch, DeliveryState
from ottla.groups.share.states import Place, ShareStates, combine
from ottla.wire.records.share import ShareSnapshotValue, ShareUpdateValue

NOW = Instant(0.0, 1_000)
PLACE = Place("g", b"t" * 16, 0)
AVAILABLE, DONE = DeliveryState.AVAILABLE, DeliveryState.ACKNOWLEDGED


def take(states: ShareStates, decision: Decision[object]) -> list[type]:
    for entry in decision.records:
        states.replay(-1, -1, *entry)
    return [type(entry.value) for entry in decision.records]


def write(
    states: ShareStates, *batches: Batch, epoch: int = 0, leader: int = 1, start: int = 0
) -> list[type]:
    return take(states, states.write(NOW, PLACE, epoch, leader, start, 0, batches))


def test_a_state_starts_with_a_snapshot_and_goes_on_with_updates() -> None:
    states = ShareStates()
    assert take(states, states.initialize(NOW, PLACE, 0, -1)) == [ShareSnapshotValue]
    assert write(states, Batch(0, 9, AVAILABLE, 1)) == [ShareUpdateValue]
    assert write(states, Batch(5, 6, DONE, 1)) == [ShareUpdateValue]
    read = states.read(NOW, PLACE, 1).reply
    assert read.start_offset == 0  # type: ignore[union-attr]
    assert read.batches == [  # type: ignore[union-attr]
        Batch(0, 4, AVAILABLE, 1),
        Batch(5, 6, DONE, 1),
        Batch(7, 9, AVAILABLE, 1),
    ]


def test_after_many_updates_comes_a_snapshot() -> None:
    states = ShareStates(updates_per_snapshot=3)
    kinds = [write(states, Batch(n, n, DONE, 1))[0] for n in range(6)]
    update = ShareUpdateValue
    assert kinds == [ShareSnapshotValue, update, update, update, ShareSnapshotValue, update]
    assert states.states[PLACE].batches == [Batch(0, 5, DONE, 1)]


def test_a_new_leader_fences_the_old_one() -> None:
    states = ShareStates()
    write(states, leader=1)
    take(states, states.read(NOW, PLACE, 2))
    with pytest.raises(KafkaError) as refusal:
        write(states, leader=1)
    assert refusal.value.code is ErrorCode.FENCED_LEADER_EPOCH


def test_a_reset_fences_those_who_have_not_heard_of_it() -> None:
    states = ShareStates()
    write(states)
    take(states, states.initialize(NOW, PLACE, 5, 100))
    with pytest.raises(KafkaError) as refusal:
        write(states, epoch=0)
    assert refusal.value.code is ErrorCode.FENCED_STATE_EPOCH
    assert states.states[PLACE].start_offset == 100


def test_a_deleted_state_is_gone() -> None:
    states = ShareStates()
    write(states)
    take(states, states.delete(PLACE))
    assert states.states == {}


def test_what_is_done_is_dropped_and_neighbours_are_joined() -> None:
    old = [Batch(0, 4, AVAILABLE, 1), Batch(5, 9, AVAILABLE, 1)]
    assert combine(old, [], 3) == [Batch(3, 9, AVAILABLE, 1)]
    assert combine(old, [Batch(2, 6, DONE, 1)], 0) == [
        Batch(0, 1, AVAILABLE, 1),
        Batch(2, 6, DONE, 1),
        Batch(7, 9, AVAILABLE, 1),
    ]
