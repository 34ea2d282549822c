"""Who asks the wrong broker is told the right one at once: its id, epoch and address (KIP-951)."""

from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from kio.schema.errors import ErrorCode

from support.batches import batch
from support.clusters import Cluster
from support.confluent import SECONDS_MAX, wait_until
from support.wire import Connection

pytestmark = pytest.mark.timeout(120)


def produce(cluster: Cluster, node: int, topic: str) -> Any:
    data = [{"name": topic, "partition_data": [{"index": 0, "records": batch([b"v"])}]}]
    with Connection(cluster.nodes[node].bootstrap) as connection:
        return connection.ask("produce", 12, acks=1, timeout=5000, topic_data=data)


def fetch(cluster: Cluster, node: int, topic: str) -> Any:
    place = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    with Connection(cluster.nodes[node].bootstrap) as connection:
        wanted = {"topic_id": leadership(cluster, topic)[2], "partitions": [place]}
        return connection.ask("fetch", 17, max_wait=0, max_bytes=1 << 20, topics=[wanted])


def leadership(cluster: Cluster, topic: str) -> tuple[int, int, Any]:
    """The partition's leader, its epoch and the topic's id."""
    with Connection(cluster.nodes[1].bootstrap) as connection:
        found = connection.ask("metadata", 12, topics=[{"name": topic}]).topics[0]
    return found.partitions[0].leader_id, found.partitions[0].leader_epoch, found.topic_id


def told(reply: Any, partition: Any) -> tuple[Any, ...]:
    """What the refusal says: the error, the leader with its epoch, and where brokers are."""
    current = partition.current_leader
    places = {
        node.node_id: (f"{node.host}:{node.port}", node.rack) for node in reply.node_endpoints
    }
    return partition.error_code, current.leader_id, current.leader_epoch, places


@pytest.mark.parametrize("replicas", [1, 3])
def test_the_wrong_broker_names_the_leader_and_its_address(three: Cluster, replicas: int) -> None:
    admin = AdminClient({"bootstrap.servers": three.bootstrap, "log_level": 0})
    admin.create_topics([NewTopic("t", 1, replicas)])["t"].result(SECONDS_MAX)
    wait_until(lambda: all(is_known(three, node) for node in three.nodes))
    leader, epoch, _ = leadership(three, "t")
    place = {leader: (three.nodes[leader].bootstrap, f"rack-{leader}")}
    expected = (ErrorCode.not_leader_or_follower, leader, epoch, place)
    for wrong in set(three.nodes) - {leader}:
        reply = produce(three, wrong, "t")
        assert told(reply, reply.responses[0].partition_responses[0]) == expected
        if replicas == 1:  # a follower may serve consumers itself (KIP-392)
            reply = fetch(three, wrong, "t")
            assert told(reply, reply.responses[0].partitions[0]) == expected
    right = produce(three, leader, "t")
    nobody: tuple[object, ...] = (ErrorCode.none, -1, -1, {})
    assert told(right, right.responses[0].partition_responses[0]) == nobody


def is_known(cluster: Cluster, node: int) -> bool:
    with Connection(cluster.nodes[node].bootstrap) as connection:
        found = connection.ask("metadata", 12, topics=[{"name": "t"}]).topics[0]
    return found.error_code == ErrorCode.none and found.partitions[0].leader_id > 0
