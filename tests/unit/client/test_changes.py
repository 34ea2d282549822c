"""Changes to a cluster: what a preview shows of what would be done, and what it refuses."""

import pytest

from ottla.client.balancing import Move
from ottla.client.changes.brokers import Forget
from ottla.client.changes.groups import (
    DeleteGroups,
    Goal,
    GroupDeletion,
    GroupOffsets,
    Reset,
    ResetOffsets,
)
from ottla.client.changes.replicas import Balance, Drain, MoveReplicas
from ottla.client.changes.topics import (
    Alteration,
    AlterTopic,
    DeleteTopics,
    Deletion,
    TopicState,
)
from ottla.client.cluster_state import Broker, ClusterState, Partition, Quorum, QuorumMember
from ottla.errors import OttlaError

MIB = 1 << 20
A = ("a", 0)


def partition(
    number: int, replicas: tuple[int, ...], *, leader: int | None = None, size: int = MIB
) -> Partition:
    first = replicas[0] if leader is None else leader
    in_sync = replicas if first >= 0 else ()
    return Partition("t", number, first, replicas, in_sync, dict.fromkeys(replicas, size), {})


def cluster(
    *partitions: Partition,
    brokers: tuple[int, ...] = (1, 2, 3),
    silent: tuple[int, ...] = (),
    moving: tuple[tuple[str, int], ...] = (),
) -> ClusterState:
    members = tuple(QuorumMember(node, node == 1, 10) for node in brokers)
    return ClusterState(
        "id",
        Quorum(1, 1, 10, members),
        tuple(Broker(node, ("h", node), None, False, node not in silent) for node in brokers),
        partitions,
        moving,
    )


def refused(change: Balance | Drain | Forget | MoveReplicas, state: ClusterState) -> str:
    with pytest.raises(OttlaError) as caught:
        change.preview(state)
    return str(caught.value)


# Replicas --------------------------------------------------------------------------------------


def test_a_balanced_cluster_has_nothing_to_move() -> None:
    even = [partition(number, (number,)) for number in (1, 2, 3)]
    assert Balance().preview(cluster(*even)).is_empty


def test_balancing_moves_replicas_and_names_who_leads_but_should_not() -> None:
    full = [partition(number, (1,)) for number in range(4)]
    misled = partition(9, (2, 3), leader=3)
    preview = Balance().preview(cluster(*full, misled))
    assert preview.moves
    assert preview.misled == (("t", 9),)
    assert preview.afterwards == ("The cluster is balanced.",)


def test_a_partition_without_a_leader_stays_and_that_is_said() -> None:
    lost = partition(0, (3,), leader=-1)
    preview = Balance().preview(cluster(lost, brokers=(1, 2, 3), silent=(3,)))
    assert preview.remarks == ("t-0 has no leader and stays.",)
    assert preview.moves == ()


@pytest.mark.parametrize("change", [Balance(), Drain((1,)), MoveReplicas({("t", 0): (2,)})])
def test_nothing_is_moved_while_something_is_on_its_way(
    change: Balance | Drain | MoveReplicas,
) -> None:
    state = cluster(partition(0, (1,)), moving=(("t", 0),))
    assert "1 partitions are being moved already" in refused(change, state)
    lost = cluster(partition(0, (1,), leader=-1), partition(1, (2,)), moving=(("t", 0),))
    assert Balance().preview(lost).remarks  # that one may be on its way for ever


def test_a_drained_broker_is_empty_and_what_comes_next_is_said() -> None:
    preview = Drain((1,)).preview(cluster(partition(0, (1, 2))))
    assert [move.after for move in preview.moves] == [(3, 2)] or preview.moves[0].after == (2, 3)
    assert preview.moves[0].size == MIB
    assert any("ottla cluster forget 1" in line for line in preview.afterwards)
    assert any("voter" in line for line in preview.afterwards)
    assert not any("voter" in line for line in Drain((2,)).preview(cluster()).afterwards)


def test_draining_refuses_brokers_that_are_not_there_and_what_nobody_can_copy() -> None:
    assert refused(Drain((7,)), cluster()) == "There is no broker 7; there are 1, 2, 3."
    lost = cluster(partition(0, (2,), leader=-1))
    assert "t-0 has no leader" in refused(Drain((2,)), lost)
    assert Drain((1,)).preview(lost).moves == ()  # another broker's affair


def test_a_partition_moves_to_the_brokers_that_are_named() -> None:
    state = cluster(partition(0, (1, 2), size=5), partition(1, (1, 2), leader=2))
    preview = MoveReplicas({("t", 0): (3, 1), ("t", 1): (1, 2)}).preview(state)
    assert preview.moves == (Move("t", 0, (1, 2), (3, 1), 5),)
    assert preview.misled == (("t", 1),)  # where it should be, but led by another


@pytest.mark.parametrize(
    ("key", "nodes", "sentence"),
    [
        (("t", 5), (1,), "There is no partition t-5."),
        (("t", 0), (1, 1), "t-0 needs brokers, each named once."),
        (("t", 0), (), "t-0 needs brokers, each named once."),
        (("t", 0), (9,), "There is no broker 9; there are 1, 2, 3."),
        (("t", 0), (3,), "Node 3 does not answer, so it cannot take a replica."),
    ],
)
def test_a_move_that_cannot_end_is_refused(
    key: tuple[str, int], nodes: tuple[int, ...], sentence: str
) -> None:
    state = cluster(partition(0, (1, 2)), silent=(3,))
    assert refused(MoveReplicas({key: nodes}), state) == sentence


def test_only_a_broker_that_is_empty_and_stopped_is_forgotten() -> None:
    assert "still runs" in refused(Forget(2), cluster())
    assert "still has replicas" in refused(Forget(2), cluster(partition(0, (2,)), silent=(2,)))
    forgotten = Forget(2).preview(cluster(partition(0, (1,)), silent=(2,)))
    assert forgotten is not None
    assert forgotten.id == 2


# Topics ----------------------------------------------------------------------------------------


def test_what_is_altered_is_shown_with_what_it_was() -> None:
    change = AlterTopic("t", 6, {"retention.ms": "5"}, ("cleanup.policy", "segment.ms"))
    state = TopicState(4, {"cleanup.policy": "compact"})
    assert change.preview(state) == (
        Alteration("partitions", "4", "6"),
        Alteration("retention.ms", None, "5"),
        Alteration("cleanup.policy", "compact", None),
        Alteration("segment.ms", None, None),
    )


@pytest.mark.parametrize("partitions", [3, 4])
def test_a_topic_cannot_have_fewer_partitions(partitions: int) -> None:
    with pytest.raises(OttlaError, match="t has 4 partitions already"):
        AlterTopic("t", partitions).preview(TopicState(4, {}))


def test_deleting_shows_what_is_there_and_what_is_not() -> None:
    preview = DeleteTopics(("t", "nowhere")).preview({"t": 3, "other": 1})
    assert preview == (Deletion("t", 3), Deletion("nowhere", None))


# Groups ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goal", "after"),
    [
        (Goal("earliest"), 10),
        (Goal("latest"), 50),
        (Goal("offset", 20), 20),
        (Goal("offset", 5), 10),
        (Goal("offset", 99), 50),
        (Goal("shift", -5), 25),
        (Goal("shift", 100), 50),
        (Goal("time", 1234), 40),
    ],
)
def test_a_group_is_set_within_the_log(goal: Goal, after: int) -> None:
    state = GroupOffsets({A: 10}, {A: 50}, {A: 30}, {A: 40})
    assert ResetOffsets("g", ("a",), goal).preview(state) == (Reset("a", 0, 30, after),)


def test_a_group_that_never_committed_is_shifted_from_the_beginning() -> None:
    state = GroupOffsets({A: 10}, {A: 50}, {}, {})
    shifted = ResetOffsets("g", ("a",), Goal("shift", 5)).preview(state)
    assert shifted == (Reset("a", 0, None, 15),)


def test_a_time_after_the_last_record_is_the_end() -> None:
    state = GroupOffsets({A: 10}, {A: 50}, {A: 30}, {A: -1})
    assert ResetOffsets("g", ("a",), Goal("time", 9)).preview(state) == (Reset("a", 0, 30, 50),)


def test_groups_to_be_deleted_are_shown_as_they_are() -> None:
    known = {"g": GroupDeletion("g", "stable", 2)}
    preview = DeleteGroups(("g", "other")).preview(known)
    assert preview == (known["g"], GroupDeletion("other", None, 0))
