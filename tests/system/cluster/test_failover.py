"""Three nodes and kill -9: what was acknowledged is there, once, in order, whoever dies."""

import signal

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.clusters import Cluster
from support.confluent import SECONDS_MAX, take, wait_until
from support.load import QUIET, Load, create_replicated, under_load
from support.wire import Connection

pytestmark = pytest.mark.timeout(180)


def test_nothing_acknowledged_is_lost_when_leaders_die(three: Cluster) -> None:
    create_replicated(three, "orders")

    def kill_leaders(load: Load) -> None:
        for _ in range(3):
            leader, _ = three.partition("orders")
            three.nodes[leader].kill9()
            load.await_progress()
            three.nodes[leader].start()
            three.await_in_sync("orders", [1, 2, 3])

    under_load(three, "orders", kill_leaders)


def test_the_cluster_goes_on_when_the_active_controller_dies(three: Cluster) -> None:
    create_replicated(three, "orders")

    def kill_controllers(load: Load) -> None:
        for number in range(2):
            active = three.active_controller()
            three.nodes[active].kill9()
            load.await_progress()
            create_on_two(three, f"made-{number}")
            three.nodes[active].start()
            three.await_in_sync("orders", [1, 2, 3])

    under_load(three, "orders", kill_controllers)


def create_on_two(cluster: Cluster, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUIET})
    admin.create_topics([NewTopic(name, 1, 2)])[name].result(SECONDS_MAX)


def test_nodes_restarted_one_by_one_are_not_noticed_by_a_producer(three: Cluster) -> None:
    create_replicated(three, "orders")

    def roll(load: Load) -> None:
        for node in three.nodes.values():
            node.stop()
            load.await_progress()
            node.start()
            three.await_in_sync("orders", [1, 2, 3])

    under_load(three, "orders", roll)


def test_a_node_that_hangs_loses_its_leadership_and_comes_back(three: Cluster) -> None:
    create_replicated(three, "orders")

    def hang(load: Load) -> None:
        leader, _ = three.partition("orders")
        process = three.nodes[leader].process
        assert process is not None
        process.send_signal(signal.SIGSTOP)
        three_without = [node for node in three.nodes if node != leader]
        try:
            other = three.nodes[three_without[0]]
            wait_until(lambda: leader_seen_by(other.bootstrap, "orders") not in (leader, -1), 40)
            load.await_progress()
        finally:
            process.send_signal(signal.SIGCONT)
        three.await_in_sync("orders", [1, 2, 3])

    under_load(three, "orders", hang)


def leader_seen_by(bootstrap: str, topic: str) -> int:
    with Connection(bootstrap, timeout=10) as connection:
        response = connection.ask("metadata", 1, topics=[{"name": topic}])
    return int(response.topics[0].partitions[0].leader_id)


def test_a_group_goes_on_from_its_offsets_when_its_coordinator_dies(three: Cluster) -> None:
    create_replicated(three, "orders")
    producer = Producer({"bootstrap.servers": three.bootstrap, **QUIET})
    for number in range(100):
        producer.produce("orders", b"%d" % number)
    assert producer.flush(SECONDS_MAX) == 0
    options = {
        "bootstrap.servers": three.bootstrap,
        "group.id": "readers",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        **QUIET,
    }
    consumer = Consumer(options)
    consumer.subscribe(["orders"])
    first = take(consumer, 50)
    consumer.commit(message=first[-1], asynchronous=False)
    with Connection(three.alive()[0].bootstrap) as connection:
        found = connection.ask("find_coordinator", 3, key="readers", key_type=0)
    three.nodes[int(found.node_id)].kill9()
    rest = take(consumer, 50)
    assert [each.value() for each in first + rest] == [b"%d" % n for n in range(100)]
    committed = consumer.committed([TopicPartition("orders", 0)], timeout=SECONDS_MAX)
    assert committed[0].offset == 50
    consumer.close()


def test_writes_wait_for_enough_replicas_and_go_on_when_they_are_back(three: Cluster) -> None:
    create_replicated(three, "orders")
    leader, _ = three.partition("orders")
    active = three.active_controller()
    # Keep the quorum alive: of three voters two must stay, so only one node may die.
    victim = next(node for node in three.nodes if node not in (leader, active))
    three.nodes[victim].kill9()
    alive = sorted(node for node in three.nodes if node != victim)
    three.await_in_sync("orders", alive)
    producer = Producer({"bootstrap.servers": three.bootstrap, "acks": "all", **QUIET})
    producer.produce("orders", b"two of three are enough")
    assert producer.flush(SECONDS_MAX) == 0
    three.nodes[victim].start()
    three.await_in_sync("orders", [1, 2, 3])
