"""One of three disks lies or is full: the others serve; the replica is mended and comes back."""

import contextlib
import shutil
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.clusters import Cluster, Place, cluster_of
from support.confluent import SECONDS_MAX, wait_until
from support.disks import flip_a_bit, full, small_disk
from support.load import QUIET, Load, create_replicated, under_load
from support.wire import Connection

pytestmark = pytest.mark.timeout(240)

DISK_BYTES = 96 * 1024 * 1024
RECORDS = 3_000
VALUE = b"x" * 1_000


# --- flipped bits


def segment(cluster: Cluster, node: int, topic: str) -> Path:
    (found,) = (cluster.nodes[node].home.data[0] / f"{topic}-0").glob("*.log")
    return found


def fill(cluster: Cluster, topic: str) -> list[bytes]:
    """Old records, beyond what brokers keep in memory once they have started anew."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "batch.size": 20_000, **QUIET})
    values = [b"%06d" % number + VALUE for number in range(RECORDS)]
    for value in values:
        producer.produce(topic, value)
        producer.poll(0)
    assert producer.flush(SECONDS_MAX) == 0
    return values


def restart_all(cluster: Cluster) -> None:
    for node in cluster.nodes.values():
        node.stop()
    cluster.start()


def read_all(cluster: Cluster, topic: str, count: int, seconds: float = 60.0) -> list[bytes]:
    # Without commits: two brokers cannot make the topic for them, and closing would wait for it.
    config = {"group.id": "none", "enable.auto.commit": False, **QUIET}
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, **config})
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: list[bytes] = []
    deadline = time.monotonic() + seconds
    while len(values) < count and time.monotonic() < deadline:
        values += [each.value() or b"" for each in consumer.consume(500, 0.5) if not each.error()]
    consumer.close()
    return values


def is_mended(cluster: Cluster, node: int, topic: str) -> bool:
    others = [one for one in cluster.nodes if one != node]
    sound = segment(cluster, others[0], topic).read_bytes()
    return cluster.partition(topic)[1] == [1, 2, 3] and (
        segment(cluster, node, topic).read_bytes() == sound
    )


def test_a_leader_with_a_flipped_bit_steps_back_and_is_mended(three: Cluster) -> None:
    create_replicated(three, "orders")
    values = fill(three, "orders")
    restart_all(three)
    three.await_in_sync("orders", [1, 2, 3])
    leader, _ = three.partition("orders")
    flip_a_bit(segment(three, leader, "orders"), 0.5)
    assert read_all(three, "orders", RECORDS) == values
    wait_until(lambda: is_mended(three, leader, "orders"), 30)
    log = three.nodes[leader].log.read_text()
    assert "steps back" in log
    assert "is cut at offset" in log


@pytest.mark.long
def test_without_the_check_the_flipped_bit_is_handed_out(tmp_path: Path) -> None:
    """The test above has teeth: nodes that serve bytes as they come give away the wrong value."""
    mutant = Place(program=("-m", "system.faults.mutants", "hands_out_flipped_bits"))
    with cluster_of(3, tmp_path, places=dict.fromkeys((1, 2, 3), mutant)) as cluster:
        create_replicated(cluster, "orders")
        values = fill(cluster, "orders")
        restart_all(cluster)
        cluster.await_in_sync("orders", [1, 2, 3])
        leader, _ = cluster.partition("orders")
        flip_a_bit(segment(cluster, leader, "orders"), 0.5)
        seen = read_all(cluster, "orders", RECORDS)
        assert len(seen) == RECORDS
        assert sum(one != other for one, other in zip(seen, values, strict=True)) == 1


def test_a_follower_with_a_flipped_bit_never_hands_it_out(three: Cluster) -> None:
    create_replicated(three, "orders")
    values = fill(three, "orders")
    restart_all(three)
    three.await_in_sync("orders", [1, 2, 3])
    leader, _ = three.partition("orders")
    follower = next(one for one in (1, 2, 3) if one != leader)
    third = next(one for one in (1, 2, 3) if one not in (leader, follower))
    flip_a_bit(segment(three, follower, "orders"), 0.3)
    three.nodes[leader].stop()  # one of the two others leads now
    three.await_in_sync("orders", sorted([follower, third]))
    assert read_all(three, "orders", RECORDS) == values
    three.nodes[leader].start()
    three.await_in_sync("orders", [1, 2, 3])
    assert read_all(three, "orders", RECORDS) == values


def test_a_tail_that_was_damaged_in_a_crash_is_cut_and_fetched_anew(three: Cluster) -> None:
    create_replicated(three, "orders")
    values = fill(three, "orders")
    leader, _ = three.partition("orders")
    follower = next(one for one in (1, 2, 3) if one != leader)
    three.nodes[follower].kill9()
    flip_a_bit(segment(three, follower, "orders"), 0.9)
    three.nodes[follower].start()
    three.await_in_sync("orders", [1, 2, 3])
    assert read_all(three, "orders", RECORDS) == values
    assert segment(three, follower, "orders").read_bytes() == (
        segment(three, leader, "orders").read_bytes()
    )


# --- a log that cannot be opened


def test_the_controller_learns_of_one_log_that_cannot_be_opened(three: Cluster) -> None:
    create_replicated(three, "orders")
    create_replicated(three, "others")
    fill(three, "orders")
    leader, _ = three.partition("orders")
    node = three.nodes[leader]
    node.stop()
    path = segment(three, leader, "orders")
    shutil.move(path, path.with_suffix(".moved"))
    path.mkdir()  # a directory where a file should be
    node.start()
    three.await_in_sync("others", [1, 2, 3])
    wait_until(lambda: offline_replicas(three, "orders") == [leader], 15)
    assert offline_replicas(three, "others") == []
    assert three.partition("orders")[1] == [one for one in (1, 2, 3) if one != leader]
    assert "cannot be opened and is offline" in node.log.read_text()


def offline_replicas(cluster: Cluster, topic: str) -> list[int]:
    with Connection(cluster.alive()[0].bootstrap, timeout=10) as connection:
        response = connection.ask("metadata", 5, topics=[{"name": topic}])
    return list(response.topics[0].partitions[0].offline_replicas)


# --- a full disk


@pytest.mark.parametrize("role", ["leader", "follower"])
def test_the_others_serve_while_one_disk_is_full(tmp_path: Path, role: str) -> None:
    disk = tmp_path / "node1"
    with small_disk(disk, DISK_BYTES) as is_small, cluster_of(3, tmp_path) as cluster:
        if not is_small:
            pytest.skip("mounting a tmpfs is not allowed here")
        create_led_by(cluster, 1 if role == "leader" else 2)

        def fill_and_free(load: Load) -> None:
            with full(disk):
                wait_until(lambda: cluster_without(cluster, 1), 30)
                load.await_progress()
            cluster.await_in_sync("orders", [1, 2, 3])
            load.await_progress()

        under_load(cluster, "orders", fill_and_free)
        assert "steps back: the disk of" in cluster.nodes[1].log.read_text()


def test_who_has_left_with_a_full_disk_keeps_no_writer_waiting(tmp_path: Path) -> None:
    """Nobody writes while it leaves: its last fetch still waits at the leader."""
    disk = tmp_path / "node1"
    with small_disk(disk, DISK_BYTES) as is_small, cluster_of(3, tmp_path) as cluster:
        if not is_small:
            pytest.skip("mounting a tmpfs is not allowed here")
        create_led_by(cluster, 2)
        with full(disk):
            wait_until(lambda: cluster_without(cluster, 1), 30)
            producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", **QUIET})
            producer.produce("orders", b"x")
            assert producer.flush(10) == 0
            assert cluster_without(cluster, 1)


def test_a_node_with_a_full_disk_votes_and_follows_another_controller(tmp_path: Path) -> None:
    disk = tmp_path / "node1"
    with small_disk(disk, DISK_BYTES) as is_small, cluster_of(3, tmp_path) as cluster:
        if not is_small:
            pytest.skip("mounting a tmpfs is not allowed here")
        if cluster.active_controller() == 1:
            cluster.nodes[1].stop()
            cluster.nodes[1].start()
        active = cluster.active_controller()
        with full(disk):
            for _ in range(2):  # only together with node 1 is the other a majority
                cluster.nodes[active].kill9()
                wait_until(lambda: is_decided_without(cluster, active), 20)
                cluster.nodes[active].start()
        assert 1 in cluster.nodes_alive()
        create_replicated(cluster, "orders")


def is_decided_without(cluster: Cluster, node: int) -> bool:
    with contextlib.suppress(OSError, IndexError):  # while nobody leads there is no answer
        return cluster.active_controller() not in (-1, node)
    return False


def create_led_by(cluster: Cluster, leader: int) -> None:
    replicas = sorted(cluster.nodes, key=lambda node: node != leader)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUIET})
    topic = NewTopic("orders", 1, replica_assignment=[replicas])
    topic.config = {"min.insync.replicas": "2"}
    admin.create_topics([topic])["orders"].result(SECONDS_MAX)
    cluster.await_in_sync("orders", [1, 2, 3])


def cluster_without(cluster: Cluster, node: int) -> bool:
    leader, in_sync = cluster.partition("orders")
    return leader not in (node, -1) and in_sync == [one for one in (1, 2, 3) if one != node]
