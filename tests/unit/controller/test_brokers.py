"""Brokers come, stop, die and return; the records are those that Apache Kafka 4.3.1 writes."""

import asyncio
from collections.abc import Iterator

import pytest

from ottla.controller import controller
from ottla.errors import ErrorCode, KafkaError
from ottla.metadata.image import CLUSTER_DEFAULTS, NO_LEADER, RECOVERING, PartitionRegistration
from ottla.wire.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
)
from ottla.wire.messages.unregister_broker import UnregisterBrokerRequest
from ottla.wire.records.metadata import (
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    EndTransactionRecord,
    NoOpRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
)
from support.ids import new_uuid
from support.metadata import Cluster


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    yield cluster
    cluster.close()


def lone(node_id: int = 1) -> Cluster:
    """One node that is broker and controller, with the topic `alpha`."""
    cluster = Cluster(node_id=node_id)
    cluster.broker(node_id)
    cluster.create("alpha")
    return cluster


def test_a_new_log_begins_with_the_feature_levels_in_one_transaction(cluster: Cluster) -> None:
    first = cluster.log.batches[0]
    assert isinstance(first[0], BeginTransactionRecord)
    assert isinstance(first[-1], EndTransactionRecord)
    assert first[-2] == ConfigRecord(
        resource_type=4, resource_name="", name="min.insync.replicas", value="1"
    )
    assert cluster.image.features["metadata.version"] == 30
    assert cluster.image.features["transaction.version"] == 2


def test_a_new_cluster_goes_by_the_min_insync_replicas_of_its_file() -> None:
    cluster = Cluster({"min.insync.replicas": "2"})
    assert cluster.image.config(*CLUSTER_DEFAULTS) == {"min.insync.replicas": "2"}
    cluster.close()


def test_a_broker_is_fenced_until_it_has_read_its_own_registration(cluster: Cluster) -> None:
    epoch = cluster.register(1)
    assert epoch == cluster.log.end - 1
    assert cluster.heartbeat(1, current_metadata_offset=epoch - 1).is_fenced
    reply = cluster.heartbeat(1, current_metadata_offset=epoch, cordoned_log_dirs=[])
    assert reply.is_caught_up
    assert not reply.is_fenced
    assert cluster.last == [
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=epoch, fenced=-1),
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=epoch, cordoned_log_dirs=[]),
    ]
    batches = len(cluster.log.batches)
    cluster.heartbeat(1, cordoned_log_dirs=[])
    assert len(cluster.log.batches) == batches


def test_a_clean_stop_of_a_lone_node_leaves_it_eligible_and_it_leads_again() -> None:
    cluster = lone()
    topic_id = cluster.image.topics_by_name["alpha"].id
    epoch = cluster.epochs[1]
    assert not cluster.heartbeat(1, want_shut_down=True).should_shut_down
    assert cluster.last == [
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=epoch, in_controlled_shutdown=1),
        PartitionChangeRecord(
            topic_id=topic_id,
            partition_id=0,
            isr=[],
            leader=-1,
            eligible_leader_replicas=[1],
            last_known_elr=[1],
        ),
    ]
    assert cluster.heartbeat(1, want_shut_down=True).should_shut_down
    assert cluster.last == [
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=epoch, fenced=1)
    ]
    cluster.register(1, previous_epoch=epoch)
    assert len(cluster.last) == 1
    cluster.heartbeat(1)
    assert cluster.last[1:] == [
        PartitionChangeRecord(
            topic_id=topic_id,
            partition_id=0,
            isr=[1],
            leader=1,
            eligible_leader_replicas=[],
            last_known_elr=[],
        )
    ]
    cluster.close()


def test_the_next_life_of_a_killed_broker_ends_the_one_before_and_recovers_its_partitions() -> None:
    cluster = lone()
    topic_id = cluster.image.topics_by_name["alpha"].id
    before = cluster.epochs[1]
    cluster.publisher.leader_changed(1, 2)  # as after a start on the same directory
    cluster.register(1, previous_epoch=-1)
    fencing, registering = cluster.log.batches[-2:]
    assert fencing == [
        PartitionChangeRecord(
            topic_id=topic_id,
            partition_id=0,
            isr=[],
            leader=NO_LEADER,
            eligible_leader_replicas=[1],
            last_known_elr=[1],
        ),
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=before, fenced=1),
    ]
    assert registering[0] == PartitionChangeRecord(
        topic_id=topic_id, partition_id=0, eligible_leader_replicas=[]
    )
    assert isinstance(registering[1], RegisterBrokerRecord)
    assert cluster.epochs[1] == cluster.log.end - 2  # the first offset of the batch
    cluster.heartbeat(1)
    assert cluster.last[1:] == [
        PartitionChangeRecord(
            topic_id=topic_id,
            partition_id=0,
            isr=[1],
            leader=1,
            leader_recovery_state=RECOVERING,
            last_known_elr=[],
        )
    ]
    cluster.close()


def test_a_node_that_becomes_the_controller_does_not_disturb_its_own_broker() -> None:
    cluster = lone()
    cluster.publisher.leader_changed(2, 2)
    cluster.publisher.leader_changed(1, 3)
    assert not cluster.image.brokers[1].fenced
    assert cluster.partition("alpha").leader == 1
    cluster.close()


def test_a_broker_that_is_silent_for_too_long_is_fenced_and_another_leads(
    cluster: Cluster,
) -> None:
    for broker in (1, 2, 3):
        cluster.broker(broker)
    cluster.create("alpha", partitions=6, replication_factor=3)
    cluster.now = 8.0
    cluster.heartbeat(2)
    cluster.heartbeat(3)
    cluster.tick(9.5)
    assert cluster.image.brokers[1].fenced
    assert not cluster.image.brokers[2].fenced
    for index in range(6):
        assert cluster.partition("alpha", index).leader in (2, 3)
        assert set(cluster.partition("alpha", index).isr) == {2, 3}


def test_a_broker_known_to_be_dead_is_fenced_at_once(cluster: Cluster) -> None:
    cluster.broker(1)
    cluster.broker(2)
    cluster.create("alpha", partitions=2, replication_factor=2)
    cluster.wait(cluster.controller.broker_lost(1))
    assert {cluster.partition("alpha", index).leader for index in range(2)} == {2}


def test_replicas_that_left_below_the_least_number_stay_eligible_unless_they_may_lack_records(
    cluster: Cluster,
) -> None:
    cluster.broker(1)
    cluster.broker(2)
    cluster.create("alpha", replication_factor=2, configs={"min.insync.replicas": "2"})
    cluster.wait(cluster.controller.broker_lost(1))
    assert cluster.partition("alpha").elr == (1,)
    cluster.wait(cluster.controller.broker_lost(2))
    assert cluster.partition("alpha").isr == ()
    assert cluster.partition("alpha").elr == (1, 2)
    cluster.register(1, previous_epoch=-1)  # without a clean stop: it may lack records
    assert cluster.partition("alpha").elr == (2,)
    cluster.heartbeat(1)
    assert cluster.partition("alpha").leader == NO_LEADER
    cluster.register(2, previous_epoch=cluster.image.brokers[2].epoch)
    cluster.heartbeat(2)
    assert cluster.partition("alpha").leader == 2


def test_a_broker_that_was_unregistered_and_comes_back_empty_is_not_eligible(
    cluster: Cluster,
) -> None:
    cluster.broker(1)
    cluster.broker(2)
    cluster.create("alpha", replication_factor=2, configs={"min.insync.replicas": "2"})
    cluster.wait(cluster.controller.broker_lost(2))
    cluster.wait(cluster.controller.unregister_broker(UnregisterBrokerRequest(broker_id=2)))
    cluster.wait(cluster.controller.broker_lost(1))
    assert cluster.partition("alpha").elr == (1, 2)
    cluster.register(2, directories=[b"n" * 16])
    assert cluster.partition("alpha").elr == (1,)
    cluster.heartbeat(2)
    assert cluster.partition("alpha").leader == NO_LEADER


@pytest.mark.parametrize("eligible_leaders", [True, False])
def test_who_registers_with_another_disk_is_in_sync_nowhere_though_its_last_life_was_not_fenced_yet(
    cluster: Cluster, eligible_leaders: bool
) -> None:
    cluster.broker(1)
    cluster.broker(2)
    if not eligible_leaders:
        cluster.downgrade("eligible.leader.replicas.version")
    cluster.create("alpha", partitions=4, replication_factor=2)
    cluster.now = 10.0
    cluster.heartbeat(2)
    cluster.register(1, directories=[b"n" * 16])
    for index in range(4):
        partition = cluster.partition("alpha", index)
        assert (partition.leader, partition.isr, partition.elr) == (2, (2,), ())


def test_without_eligible_leaders_the_last_in_sync_stays_in_sync_and_leads_again(
    cluster: Cluster,
) -> None:
    cluster.broker(1)
    cluster.downgrade("eligible.leader.replicas.version")
    cluster.create("alpha")
    cluster.now = 10.0
    cluster.register(1, previous_epoch=-1)
    partition = cluster.partition("alpha")
    assert (partition.leader, partition.isr) == (NO_LEADER, (1,))
    cluster.heartbeat(1)
    assert cluster.partition("alpha").leader == 1


def test_a_second_broker_with_the_same_id_is_refused_while_the_first_lives(
    cluster: Cluster,
) -> None:
    cluster.broker(1)
    elsewhere = [b"e" * 16]
    with pytest.raises(KafkaError) as refusal:
        cluster.register(1, directories=elsewhere)
    assert refusal.value.code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    cluster.tick(10.0)
    cluster.register(1, directories=elsewhere)


def test_the_same_incarnation_keeps_its_epoch(cluster: Cluster) -> None:
    incarnation = new_uuid()
    cluster.broker(1, incarnation=incarnation)
    epoch = cluster.epochs[1]
    assert cluster.register(1, incarnation=incarnation, rack="a") == epoch
    assert not cluster.image.brokers[1].fenced


def test_an_old_epoch_has_no_say(cluster: Cluster) -> None:
    cluster.broker(1)
    cluster.epochs[1] -= 1
    with pytest.raises(KafkaError) as refusal:
        cluster.heartbeat(1)
    assert refusal.value.code == ErrorCode.STALE_BROKER_EPOCH


def test_a_lost_directory_moves_its_leaders_and_the_broker_lives_on(cluster: Cluster) -> None:
    lost, left = b"x" * 16, b"z" * 16
    cluster.broker(1, directories=[lost])
    cluster.broker(2)
    cluster.create("alpha", partitions=2, replication_factor=2)
    cluster.register(1, incarnation=cluster.image.brokers[1].incarnation, directories=[lost, left])
    cluster.heartbeat(1, offline_log_dirs=[lost])
    assert [cluster.partition("alpha", index).leader for index in range(2)] == [2, 2]
    assert not cluster.image.brokers[1].fenced
    assert cluster.image.brokers[1].directories == (left,)


def test_a_broker_that_comes_back_without_a_directory_does_not_lead_what_was_in_it() -> None:
    cluster = Cluster()
    lost, left = b"x" * 16, b"z" * 16
    cluster.broker(1, directories=[lost])
    cluster.create("alpha")
    epoch = cluster.epochs[1]
    while not cluster.heartbeat(1, want_shut_down=True).should_shut_down:
        pass
    cluster.register(1, directories=[lost, left], previous_epoch=epoch)
    assert cluster.heartbeat(1, offline_log_dirs=[lost]).is_fenced
    assert not cluster.heartbeat(1, offline_log_dirs=[lost]).is_fenced
    assert cluster.partition("alpha").leader == NO_LEADER
    cluster.close()


def test_an_idle_log_moves_on_and_a_busy_one_needs_no_help(cluster: Cluster) -> None:
    cluster.tick(0.0)
    cluster.tick(0.5)
    assert cluster.last == [NoOpRecord()]
    cluster.broker(1)
    cluster.tick(1.0)
    assert cluster.last != [NoOpRecord()]


def test_a_controller_keeps_time_after_a_failure(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controller, "TICK_SECONDS", 0.0)
    ticks = 0

    async def run() -> None:
        ticked_again = asyncio.Event()

        def tick(now: float) -> None:
            nonlocal ticks
            ticks += 1
            if ticks == 1:
                raise KafkaError(ErrorCode.NOT_CONTROLLER)
            ticked_again.set()

        monkeypatch.setattr(cluster.controller, "tick", tick)
        running = asyncio.create_task(cluster.controller.run())
        async with asyncio.timeout(5):
            await ticked_again.wait()
        running.cancel()

    cluster.wait(run())


def test_without_leadership_everything_is_refused(cluster: Cluster) -> None:
    cluster.broker(1)
    cluster.publisher.leader_changed(None, 2)
    with pytest.raises(KafkaError) as refusal:
        cluster.create("alpha")
    assert refusal.value.code == ErrorCode.NOT_CONTROLLER


def test_a_broker_that_came_back_a_moment_ago_is_the_last_to_take_over(cluster: Cluster) -> None:
    for broker_id in (1, 2, 3):
        cluster.broker(broker_id)
    cluster.create("alpha", 12, 3)
    for broker_id in (1, 2, 3):
        cluster.now = 100.0
        cluster.heartbeat(broker_id)
    cluster.wait(cluster.controller.broker_lost(1))
    cluster.broker(1)
    in_sync_again(cluster, "alpha")
    cluster.wait(cluster.controller.broker_lost(2))
    assert {partition.leader for partition in partitions(cluster, "alpha")} == {3}


def partitions(cluster: Cluster, topic: str) -> list[PartitionRegistration]:
    return list(cluster.image.topics_by_name[topic].partitions.values())


def in_sync_again(cluster: Cluster, topic: str) -> None:
    """Every leader says that all replicas have caught up."""
    found = cluster.image.topics_by_name[topic]
    for index, partition in found.partitions.items():
        leader = partition.leader
        ask = AlterPartitionRequest(
            broker_id=leader,
            broker_epoch=cluster.epochs[leader],
            topics=[
                RequestTopicData(
                    topic_id=found.id,
                    partitions=[
                        RequestPartitionData(
                            partition_index=index,
                            leader_epoch=partition.leader_epoch,
                            new_isr_with_epochs=[
                                BrokerState(broker_id=one, broker_epoch=cluster.epochs[one])
                                for one in partition.replicas
                            ],
                            partition_epoch=partition.partition_epoch,
                        )
                    ],
                )
            ],
        )
        cluster.wait(cluster.controller.alter_partition(ask))
