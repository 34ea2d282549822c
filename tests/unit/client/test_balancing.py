"""Plans for a cluster: what moves, what leads, and what is never done."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.client.balancing import REPLICA_BYTES, Move, Placed, Racks, plan_balance, plan_drain
from ottla.errors import OttlaError

MIB = 1 << 20


def after(partitions: list[Placed], moves: list[Move]) -> list[Placed]:
    moved = {(move.topic, move.partition): move.after for move in moves}
    return [one._replace(replicas=moved.get(one[:2], one.replicas)) for one in partitions]


def leaders(partitions: list[Placed]) -> Counter[int]:
    return Counter(one.replicas[0] for one in partitions)


def racks_of(racks: Racks, one: Placed) -> int:
    return len({racks[broker] for broker in one.replicas})


def test_what_is_even_is_left_alone() -> None:
    partitions = [Placed("t", index, (index % 3 + 1,), 100 * MIB) for index in range(6)]
    assert plan_balance(dict.fromkeys((1, 2, 3)), partitions) == []


def test_a_new_broker_gets_its_share_of_replicas_and_leaders() -> None:
    partitions = [
        Placed("t", index, (index % 2 + 1, (index + 1) % 2 + 1), 10 * MIB) for index in range(12)
    ]
    moves = plan_balance(dict.fromkeys((1, 2, 3)), partitions)
    then = after(partitions, moves)
    assert Counter(broker for one in then for broker in one.replicas) == {1: 8, 2: 8, 3: 8}
    assert leaders(then) == {1: 4, 2: 4, 3: 4}
    assert sum(move.size for move in moves) == 8 * 10 * MIB


def test_leaders_are_evened_out_without_copying() -> None:
    partitions = [Placed("t", index, (1, 2, 3), MIB) for index in range(9)]
    moves = plan_balance(dict.fromkeys((1, 2, 3)), partitions)
    assert leaders(after(partitions, moves)) == {1: 3, 2: 3, 3: 3}
    assert {move.size for move in moves} == {0}


def test_a_large_partition_outweighs_many_small_ones() -> None:
    partitions = [Placed("large", 0, (1,), 1000 * MIB)]
    partitions += [Placed("small", index, (1,), 10 * MIB) for index in range(10)]
    then = after(partitions, plan_balance({1: None, 2: None}, partitions))
    by_broker = {
        broker: {one.topic for one in then if one.replicas == (broker,)} for broker in (1, 2)
    }
    assert sorted(map(sorted, by_broker.values())) == [["large"], ["small"]]


def test_replicas_do_not_come_to_share_a_rack() -> None:
    racks = {1: "a", 2: "a", 3: "b"}
    partitions = [Placed("t", index, (1, 3), MIB) for index in range(8)]
    then = after(partitions, plan_balance(racks, partitions))
    assert {racks_of(racks, one) for one in then} == {2}
    assert any(2 in one.replicas for one in then)


def test_a_drained_broker_is_left_with_nothing() -> None:
    partitions = [Placed("t", index, (1, 2, 3), MIB) for index in range(4)]
    moves = plan_drain([2], dict.fromkeys((1, 2, 3, 4)), partitions)
    then = after(partitions, moves)
    assert all(set(one.replicas) == {1, 3, 4} for one in then)
    assert max(leaders(then).values()) == 2


def test_brokers_drained_together_do_not_take_from_each_other() -> None:
    partitions = [Placed("t", index, (1, 2, 3), MIB) for index in range(4)]
    then = after(partitions, plan_drain([1, 2, 3], dict.fromkeys(range(1, 7)), partitions))
    assert all(set(one.replicas) == {4, 5, 6} for one in then)


def test_draining_prefers_a_rack_that_has_no_replica_yet() -> None:
    racks = {1: "a", 2: "b", 3: "a", 4: "b"}
    (move,) = plan_drain([2], racks, [Placed("t", 0, (1, 2)), Placed("u", 0, (4,), 99 * MIB)])
    assert set(move.after) == {1, 4}


def test_draining_the_last_place_is_refused_unless_fewer_replicas_will_do() -> None:
    brokers: Racks = dict.fromkeys((1, 2, 3))
    partitions = [Placed("t", 0, (1, 2, 3))]
    with pytest.raises(OttlaError, match="--fewer-replicas"):
        plan_drain([3], brokers, partitions)
    (move,) = plan_drain([3], brokers, partitions, fewer_replicas=True)
    assert (move.after, move.size) == ((1, 2), 0)


def test_the_only_replica_is_never_dropped() -> None:
    with pytest.raises(OttlaError):
        plan_drain([1], {1: None}, [Placed("t", 0, (1,))], fewer_replicas=True)


BROKERS = st.dictionaries(st.integers(1, 6), st.sampled_from([None, "a", "b"]), min_size=1)


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Racks, list[Placed]]:
    brokers = draw(BROKERS)
    order = st.permutations(sorted(brokers))
    return brokers, [
        Placed(
            "t",
            index,
            tuple(draw(order)[: draw(st.integers(1, 3))]),
            draw(st.integers(0, 99)) * MIB,
        )
        for index in range(draw(st.integers(0, 20)))
    ]


@settings(max_examples=200, deadline=None)
@given(clusters())
def test_a_balanced_cluster_keeps_factors_and_racks_and_is_not_worse(
    cluster: tuple[Racks, list[Placed]],
) -> None:
    racks, partitions = cluster

    def spread(placed: list[Placed]) -> int:
        load = Counter(dict.fromkeys(racks, 0))
        for one in placed:
            for broker in one.replicas:
                load[broker] += one.size + REPLICA_BYTES
        return max(load.values()) - min(load.values())

    then = after(partitions, plan_balance(racks, partitions))
    for old, new in zip(partitions, then, strict=True):
        assert len(set(new.replicas)) == len(old.replicas)
        assert set(new.replicas) <= set(racks)
        assert racks_of(racks, new) >= racks_of(racks, old) or None in racks.values()
    assert spread(then) <= spread(partitions)
