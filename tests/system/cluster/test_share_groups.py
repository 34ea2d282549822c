"""Share groups over several brokers: the queue's leader and who keeps its state are apart."""

from collections import Counter

import pytest
from kio.schema.errors import ErrorCode

from ottla.coordination.java_hash import java_hash
from ottla.groups.share.states import SharePartitionKey
from support.clusters import Cluster, cluster_of
from support.confluent import create_topic, produce, wait_until
from support.share import ShareMember, start_at_the_beginning
from support.wire import Connection

pytestmark = pytest.mark.timeout(180)

TOPIC, GROUP, PARTITIONS, EACH = "queue", "workers", 6, 5
STATE_PARTITIONS = 5
SETTINGS = {
    "share.coordinator.state.topic.num.partitions": str(STATE_PARTITIONS),
    "share.coordinator.snapshot.update.records.per.snapshot": "0",  # every write is a snapshot
    "share.coordinator.state.topic.prune.interval.ms": "200",
}


def topic_id_of(cluster: Cluster) -> bytes:
    with Connection(cluster.alive()[0].bootstrap) as connection:
        reply = connection.ask("metadata", 12, topics=[{"topic_id": None, "name": TOPIC}])
    found: bytes = reply.topics[0].topic_id.bytes
    return found


def kept_elsewhere(cluster: Cluster) -> int:
    """How many partitions have their state with a broker that does not lead them."""
    topic_id = topic_id_of(cluster)
    count = 0
    for index in range(PARTITIONS):
        shard = java_hash(SharePartitionKey(GROUP, topic_id, index).key()) % STATE_PARTITIONS
        keeper, _ = cluster.partition("__share_group_state", shard)
        count += keeper != cluster.partition(TOPIC, index)[0]
    return count


def log_starts(cluster: Cluster) -> list[int]:
    """Of the state's partitions, each asked of its leader."""
    starts = []
    for index in range(STATE_PARTITIONS):
        leader, _ = cluster.partition("__share_group_state", index)
        place = {"partition_index": index, "current_leader_epoch": -1, "timestamp": -2}
        topic = {"name": "__share_group_state", "partitions": [place]}
        with Connection(cluster.nodes[leader].bootstrap) as connection:
            reply = connection.ask(
                "list_offsets", 7, replica_id=-1, isolation_level=0, topics=[topic]
            )
        starts.append(int(reply.topics[0].partitions[0].offset))
    return starts


def fill(cluster: Cluster) -> None:
    for index in range(PARTITIONS):
        values = [b"%d" % n for n in range(EACH)]
        produce(cluster.bootstrap, TOPIC, values, partition=index, config={"linger.ms": 0})


def test_a_queue_and_its_state_may_be_on_different_brokers(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with cluster_of(3, tmp_path_factory.mktemp("cluster"), SETTINGS) as cluster:
        create_topic(cluster.bootstrap, TOPIC, partitions=PARTITIONS, replicas=3)
        bootstrap = cluster.nodes[1].bootstrap
        start_at_the_beginning(bootstrap, GROUP)
        member = ShareMember(GROUP, TOPIC)
        for number in range(3):
            fill(cluster)
            taken = member.take(bootstrap, PARTITIONS * EACH)
            fresh = range(number * EACH, (number + 1) * EACH)
            assert [(one.partition, one.offset) for one in taken] == [
                (index, offset) for index in range(PARTITIONS) for offset in fresh
            ]
            assert Counter(one.deliveries for one in taken) == {1: PARTITIONS * EACH}
            if number == 1:
                assert kept_elsewhere(cluster) > 0
                cluster.nodes[3].kill9()  # it led queues, and kept the states of others
        wait_until(lambda: max(log_starts(cluster)) > 0, 20)  # old snapshots are cut off


def test_a_group_whose_offsets_were_deleted_begins_anew_wherever_its_queues_are(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with cluster_of(3, tmp_path_factory.mktemp("cluster"), SETTINGS) as cluster:
        create_topic(cluster.bootstrap, TOPIC, partitions=PARTITIONS, replicas=3)
        assert len({cluster.partition(TOPIC, index)[0] for index in range(PARTITIONS)}) == 3
        bootstrap = cluster.nodes[1].bootstrap
        start_at_the_beginning(bootstrap, GROUP)
        fill(cluster)
        member = ShareMember(GROUP, TOPIC)
        everything = member.take(bootstrap, PARTITIONS * EACH)

        member.leave(bootstrap)
        topics = [{"topic_name": TOPIC}]
        reply = member.ask_coordinator(
            bootstrap, "delete_share_group_offsets", 0, group_id=GROUP, topics=topics
        )
        assert [topic.error_code for topic in reply.responses] == [ErrorCode.none]
        assert member.take(bootstrap, PARTITIONS * EACH) == everything

        member.leave(bootstrap)
        reply = member.ask_coordinator(bootstrap, "delete_groups", 2, groups_names=[GROUP])
        assert [result.error_code for result in reply.results] == [ErrorCode.none]
        assert member.take(bootstrap, PARTITIONS * EACH) == everything
