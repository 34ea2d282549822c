"""Partitions of a cluster of three: in-sync sets, elections, moves, directories."""

from collections.abc import Iterator
from typing import Any

import pytest

from ottla.config.settings import Settings
from ottla.controller.partition_change import PartitionChange
from ottla.controller.rules import PartitionRules
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import UNASSIGNED_DIRECTORY
from ottla.metadata.apply import apply_all
from ottla.metadata.image import NO_LEADER, RECOVERED, RECOVERING
from ottla.wire.messages import (
    allocate_producer_ids,
    alter_partition,
    alter_partition_reassignments,
    assign_replicas_to_dirs,
    elect_leaders,
    list_partition_reassignments,
    unregister_broker,
)
from ottla.wire.records.metadata import PartitionChangeRecord
from support.metadata import Cluster

PREFERRED, UNCLEAN = 0, 1


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Brokers 1 to 3, and the topic `alpha` with replicas on all of them, led by the first."""
    cluster = Cluster()
    for broker in (1, 2, 3):
        cluster.broker(broker)
    cluster.create("alpha", replication_factor=3, configs={"min.insync.replicas": "2"})
    yield cluster
    cluster.close()


def replicas(cluster: Cluster) -> tuple[int, int, int]:
    first, second, third = cluster.partition("alpha").replicas
    return first, second, third


def propose(
    cluster: Cluster, leader: int, isr: list[int], **fields: Any
) -> alter_partition.ResponsePartitionData:
    partition = cluster.partition("alpha")
    fields.setdefault("leader_epoch", partition.leader_epoch)
    fields.setdefault("partition_epoch", partition.partition_epoch)
    epochs = fields.pop("epochs", {})
    wanted = alter_partition.RequestPartitionData(
        partition_index=0,
        new_isr_with_epochs=[
            alter_partition.BrokerState(
                broker_id=one, broker_epoch=epochs.get(one, cluster.epochs[one])
            )
            for one in isr
        ],
        **fields,
    )
    topic_id = cluster.image.topics_by_name["alpha"].id
    ask = alter_partition.AlterPartitionRequest(
        broker_id=leader,
        broker_epoch=cluster.epochs[leader],
        topics=[alter_partition.RequestTopicData(topic_id=topic_id, partitions=[wanted])],
    )
    response = cluster.wait(cluster.controller.alter_partition(ask))
    return response.topics[0].partitions[0]


def test_a_leader_shrinks_and_grows_its_in_sync_set(cluster: Cluster) -> None:
    first, second, third = replicas(cluster)
    reply = propose(cluster, first, [first, second])
    assert (reply.error_code, reply.isr, reply.leader_epoch) == (0, [first, second], 0)
    assert reply.partition_epoch == 1
    reply = propose(cluster, first, [first, second, third])
    assert cluster.partition("alpha").isr == (first, second, third)


def test_a_replica_that_left_below_the_least_number_is_eligible(cluster: Cluster) -> None:
    first, second, third = replicas(cluster)
    propose(cluster, first, [first])
    assert cluster.partition("alpha").elr == tuple(sorted((second, third)))
    propose(cluster, first, [first, second])
    assert cluster.partition("alpha").elr == ()


def test_an_in_sync_set_is_refused_where_its_asker_knows_too_little_or_too_much(
    cluster: Cluster,
) -> None:
    first, second, _ = replicas(cluster)
    everybody = list(replicas(cluster))
    codes = {
        "future": propose(cluster, first, everybody, leader_epoch=9).error_code,
        "past": propose(cluster, first, everybody, leader_epoch=-1).error_code,
        "old version": propose(cluster, first, everybody, partition_epoch=-1).error_code,
        "not the leader": propose(cluster, second, everybody).error_code,
        "without itself": propose(cluster, first, [second]).error_code,
        "recovering": propose(cluster, first, [first], leader_recovery_state=1).error_code,
    }
    assert codes == {
        "future": ErrorCode.NOT_CONTROLLER,
        "past": ErrorCode.FENCED_LEADER_EPOCH,
        "old version": ErrorCode.INVALID_UPDATE_VERSION,
        "not the leader": ErrorCode.INVALID_REQUEST,
        "without itself": ErrorCode.INVALID_REQUEST,
        "recovering": ErrorCode.INVALID_REQUEST,
    }


def test_a_broker_that_was_emptied_meanwhile_does_not_join_the_in_sync_set(
    cluster: Cluster,
) -> None:
    first, second, third = replicas(cluster)
    propose(cluster, first, [first, second])
    stale = {third: cluster.epochs[third] - 1}
    refused = propose(cluster, first, [first, second, third], epochs=stale)
    assert refused.error_code == ErrorCode.INELIGIBLE_REPLICA
    cluster.wait(cluster.controller.broker_lost(third))
    refused = propose(cluster, first, [first, second, third])
    assert refused.error_code == ErrorCode.INELIGIBLE_REPLICA


def elect(cluster: Cluster, kind: int) -> int:
    ask = elect_leaders.ElectLeadersRequest(
        election_type=kind,
        topic_partitions=[elect_leaders.TopicPartitions(topic="alpha", partitions=[0])],
    )
    response = cluster.wait(cluster.controller.elect_leaders(ask))
    return response.replica_election_results[0].partition_result[0].error_code


def test_whoever_asks_for_nothing_is_refused_nothing(cluster: Cluster) -> None:
    unknown = elect_leaders.ElectLeadersRequest(election_type=9, topic_partitions=[])
    elected = cluster.wait(cluster.controller.elect_leaders(unknown))
    assert elected == elect_leaders.ElectLeadersResponse()
    nothing = alter_partition_reassignments.AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=False
    )
    moved = cluster.wait(cluster.controller.alter_partition_reassignments(nothing))
    assert moved == alter_partition_reassignments.AlterPartitionReassignmentsResponse()


def come_back(cluster: Cluster, broker: int) -> None:
    cluster.register(broker, previous_epoch=cluster.image.brokers[broker].epoch)
    cluster.heartbeat(broker)


def test_leadership_returns_to_the_preferred_replica_when_it_is_in_sync_again(
    cluster: Cluster,
) -> None:
    first, second, third = replicas(cluster)
    assert elect(cluster, PREFERRED) == ErrorCode.ELECTION_NOT_NEEDED
    cluster.wait(cluster.controller.broker_lost(first))
    assert cluster.partition("alpha").leader == second
    assert elect(cluster, PREFERRED) == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    come_back(cluster, first)
    assert cluster.partition("alpha").leader == second
    propose(cluster, second, [first, second, third])
    assert elect(cluster, PREFERRED) == ErrorCode.NONE
    assert cluster.partition("alpha").leader == first


def test_from_time_to_time_leadership_returns_by_itself(cluster: Cluster) -> None:
    first, second, third = replicas(cluster)
    cluster.tick(0.0)
    cluster.wait(cluster.controller.broker_lost(first))
    come_back(cluster, first)
    propose(cluster, second, [second, third, first])
    cluster.now = 299.0
    for broker in (1, 2, 3):
        cluster.heartbeat(broker)
    cluster.tick(300.0)
    assert cluster.partition("alpha").leader == first


def test_an_unclean_election_is_for_those_who_ask_for_it(cluster: Cluster) -> None:
    first, second, third = replicas(cluster)
    propose(cluster, first, [first, second])
    cluster.wait(cluster.controller.broker_lost(second))
    cluster.wait(cluster.controller.broker_lost(first))
    assert cluster.partition("alpha").leader == NO_LEADER
    assert elect(cluster, UNCLEAN) == ErrorCode.NONE
    partition = cluster.partition("alpha")
    assert (partition.leader, partition.isr) == (third, (third,))
    assert (partition.elr, partition.leader_recovery_state) == ((), RECOVERING)
    propose(cluster, third, [third], leader_recovery_state=RECOVERED)
    assert cluster.partition("alpha").leader_recovery_state == RECOVERED


def move(cluster: Cluster, target: list[int] | None) -> int:
    partition = alter_partition_reassignments.ReassignablePartition(
        partition_index=0, replicas=target
    )
    topic = alter_partition_reassignments.ReassignableTopic(name="alpha", partitions=[partition])
    ask = alter_partition_reassignments.AlterPartitionReassignmentsRequest(topics=[topic])
    response = cluster.wait(cluster.controller.alter_partition_reassignments(ask))
    return response.responses[0].partitions[0].error_code


def moving(cluster: Cluster) -> list[tuple[list[int], list[int]]]:
    ask = list_partition_reassignments.ListPartitionReassignmentsRequest(topics=None)
    response = cluster.wait(cluster.controller.list_partition_reassignments(ask))
    return [
        (one.adding_replicas, one.removing_replicas)
        for topic in response.topics
        for one in topic.partitions
    ]


def test_a_replica_moves_when_the_new_one_is_in_sync(cluster: Cluster) -> None:
    cluster.broker(4)
    first, second, third = replicas(cluster)
    assert move(cluster, [first, second, 4]) == ErrorCode.NONE
    assert moving(cluster) == [([4], [third])]
    partition = cluster.partition("alpha")
    assert partition.replicas == (first, second, 4, third)
    assert len(partition.directories) == 4
    propose(cluster, first, [first, second, third, 4])
    partition = cluster.partition("alpha")
    assert partition.replicas == (first, second, 4)
    assert set(partition.isr) == {first, second, 4}
    assert partition.leader_epoch == 1  # so that the replica that left notices
    assert moving(cluster) == []


def test_a_topic_that_shrinks_keeps_its_copies_until_all_that_stay_are_in_sync(
    cluster: Cluster,
) -> None:
    first, second, third = replicas(cluster)
    propose(cluster, first, [first, second])
    assert move(cluster, [first, third]) == ErrorCode.NONE
    assert moving(cluster) == [([], [second])]
    propose(cluster, first, [first, second, third])
    assert moving(cluster) == []
    assert cluster.partition("alpha").replicas == (first, third)


def test_more_that_go_than_come_wait_for_all_that_stay(cluster: Cluster) -> None:
    cluster.broker(4)
    first, second, third = replicas(cluster)
    propose(cluster, first, [first, second])
    move(cluster, [4, third])
    propose(cluster, first, [first, second, 4])
    assert moving(cluster) == [([4], sorted([first, second]))]
    propose(cluster, first, [first, second, third, 4])
    assert cluster.partition("alpha").replicas == (4, third)


def test_a_replica_that_moved_away_is_not_eligible(cluster: Cluster) -> None:
    cluster.broker(4)
    first, second, third = replicas(cluster)
    propose(cluster, first, [first])
    assert cluster.partition("alpha").elr == tuple(sorted([second, third]))
    move(cluster, [4, second, third])
    reply = propose(cluster, first, [first, 4])
    assert reply.error_code == ErrorCode.NEW_LEADER_ELECTED
    partition = cluster.partition("alpha")
    assert (partition.leader, partition.isr) == (4, (4,))
    assert first not in partition.elr


def test_who_led_last_and_has_no_replica_any_more_does_not_lead(cluster: Cluster) -> None:
    cluster.broker(4)
    topic = cluster.image.topics_by_name["alpha"]
    nobody: dict[str, Any] = {"isr": [], "leader": NO_LEADER, "last_known_elr": [4]}
    apply_all(cluster.image, [PartitionChangeRecord(topic_id=topic.id, partition_id=0, **nobody)])
    assert PartitionChange(PartitionRules(cluster.image, Settings({})), topic, 0).record() is None


def test_a_leader_that_is_moved_away_hands_over(cluster: Cluster) -> None:
    cluster.broker(4)
    first, second, third = replicas(cluster)
    move(cluster, [4, second, third])
    reply = propose(cluster, first, [first, second, third, 4])
    assert reply.error_code == ErrorCode.NEW_LEADER_ELECTED
    assert cluster.partition("alpha").leader == 4


def test_a_move_can_be_called_off(cluster: Cluster) -> None:
    cluster.broker(4)
    before = cluster.partition("alpha")
    assert move(cluster, None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    move(cluster, [before.replicas[0], before.replicas[1], 4])
    assert move(cluster, None) == ErrorCode.NONE
    after = cluster.partition("alpha")
    assert (after.replicas, after.isr, after.adding) == (before.replicas, before.isr, ())


@pytest.mark.parametrize("target", [[], [9], [1, 1]])
def test_a_move_to_nowhere_is_refused(cluster: Cluster, target: list[int]) -> None:
    assert move(cluster, target) == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_a_broker_tells_where_it_put_a_replica() -> None:
    cluster = Cluster()
    cluster.broker(1, directories=[b"x" * 16, b"y" * 16])
    topic_id = cluster.create("alpha").topic_id
    assert cluster.partition("alpha").directories == (UNASSIGNED_DIRECTORY,)
    messages = assign_replicas_to_dirs
    topics = [
        messages.RequestTopicData(
            topic_id=topic_id,
            partitions=[messages.RequestPartitionData(partition_index=index) for index in (0, 7)],
        )
    ]
    ask = messages.AssignReplicasToDirsRequest(
        broker_id=1,
        broker_epoch=cluster.epochs[1],
        directories=[messages.RequestDirectoryData(id=b"y" * 16, topics=topics)],
    )
    response = cluster.wait(cluster.controller.assign_replicas_to_dirs(ask))
    answers = response.directories[0].topics[0].partitions
    assert [one.error_code for one in answers] == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    partition = cluster.partition("alpha")
    assert (partition.directories, partition.leader_epoch) == ((b"y" * 16,), 0)
    cluster.close()


def test_a_broker_that_is_forgotten_leaves_all_in_sync_sets(cluster: Cluster) -> None:
    first, second, third = replicas(cluster)
    ask = unregister_broker.UnregisterBrokerRequest(broker_id=third)
    assert cluster.wait(cluster.controller.unregister_broker(ask)).error_code == 0
    assert third not in cluster.image.brokers
    assert cluster.partition("alpha").isr == (first, second)
    with pytest.raises(KafkaError) as refusal:
        cluster.wait(cluster.controller.unregister_broker(ask))
    assert refusal.value.code == ErrorCode.BROKER_ID_NOT_REGISTERED


def test_producer_ids_are_handed_out_in_blocks(cluster: Cluster) -> None:
    def block(epoch: int) -> tuple[int, int]:
        ask = allocate_producer_ids.AllocateProducerIdsRequest(broker_id=1, broker_epoch=epoch)
        response = cluster.wait(cluster.controller.allocate_producer_ids(ask))
        return response.producer_id_start, response.producer_id_len

    assert block(cluster.epochs[1]) == (0, 1000)
    assert block(cluster.epochs[1]) == (1000, 1000)
    with pytest.raises(KafkaError):
        block(cluster.epochs[1] - 1)
