"""The move that docs/move.md describes, in place, there and back, while a producer goes on."""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.wire.record_batch import iterate_batches
from support.brokers import BrokerProcess, Kind, format_with_kafka
from support.confluent import wait_until
from support.homes import Home, free_port

NODES = (1, 2, 3)
PARTITIONS = 3
SECONDS_MAX = 90
PAUSE_S = 0.005
SMALL_JAVA = ("java", "-Xms200m", "-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

pytestmark = [pytest.mark.java, pytest.mark.timeout(420)]


def homes(path: Path) -> dict[int, Home]:
    ports = {node: free_port() for node in NODES}
    settings = {
        "controller.quorum.voters": ",".join(f"{n}@127.0.0.1:{port}" for n, port in ports.items()),
        "default.replication.factor": "3",
        "min.insync.replicas": "2",
        "offsets.topic.replication.factor": "3",
        "transaction.state.log.replication.factor": "3",
        "transaction.state.log.min.isr": "2",
    }
    return {
        node: Home(
            path=path / f"node{node}",
            settings={"node.id": str(node), **settings},
            controller_port=ports[node],
        )
        for node in NODES
    }


class Cluster:
    """Three nodes, each of either kind at any moment."""

    def __init__(self, path: Path) -> None:
        self.homes = homes(path)
        self.nodes: dict[int, BrokerProcess] = {}
        self.bootstrap = ",".join(home.bootstrap for home in self.homes.values())

    def start_all(self, kind: Kind) -> None:
        for node, home in self.homes.items():
            if kind == "kafka":
                format_with_kafka(home, home.write_properties())
            self.nodes[node] = BrokerProcess(kind, home, SMALL_JAVA)
            self.nodes[node].launch()
        for process in self.nodes.values():
            process.wait_until_serving(time.perf_counter() + SECONDS_MAX)

    def swap(self, node: int, kind: Kind) -> None:
        self.nodes[node].stop()
        self.nodes[node] = BrokerProcess(kind, self.homes[node], SMALL_JAVA)
        self.nodes[node].start()
        wait_until(self.is_in_sync, SECONDS_MAX)

    def is_in_sync(self) -> bool:
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        topics = admin.list_topics(timeout=SECONDS_MAX).topics
        return "orders" in topics and all(
            len(partition.isrs) == len(NODES)
            for topic in topics.values()
            for partition in topic.partitions.values()
        )


class Load:
    """Idempotent producers that never pause, and what they were told.

    One for each partition. When librdkafka hears that a batch is out of order, it takes a new
    epoch for all partitions of its producer; what another of them had in flight when a node stopped
    is then written once more, under the new epoch, and no broker can know it again
    (confluentinc/librdkafka#4953).
    """

    def __init__(self, bootstrap: str) -> None:
        self.acknowledged: list[tuple[int, int]] = []  # partition, value
        self.refused: list[KafkaError] = []
        self._bootstrap = bootstrap
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._produce)

    def __enter__(self) -> "Load":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _produce(self) -> None:
        config = {"bootstrap.servers": self._bootstrap, "enable.idempotence": True, "log_level": 0}
        producers = [Producer(config) for _ in range(PARTITIONS)]
        number = 0
        while not self._stopping.wait(PAUSE_S):
            value, at = str(number).encode(), number % PARTITIONS
            producers[at].produce("orders", value, partition=at, on_delivery=self._told)
            producers[at].poll(0)
            number += 1
        assert [producer.flush(SECONDS_MAX) for producer in producers] == [0] * PARTITIONS

    def _told(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.refused.append(error)
        else:
            self.acknowledged.append((message.partition() or 0, int(message.value() or b"")))


class Found(NamedTuple):
    partition: int
    value: int
    offset: int
    epoch: int
    """Of the leader that wrote it."""


def read_all(bootstrap: str, count: int) -> list[Found]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "check"})
    consumer.assign([TopicPartition("orders", at, 0) for at in range(PARTITIONS)])
    found: list[Found] = []

    def has_all() -> bool:
        for message in consumer.consume(500, 0.2):
            if message.error() is None:
                place = message.partition() or 0, int(message.value() or b"")
                found.append(Found(*place, message.offset() or 0, message.leader_epoch() or 0))
        return len(found) >= count

    wait_until(has_all, SECONDS_MAX)
    consumer.close()
    return found


def repeated(found: list[Found], home: Home) -> list[tuple[Found, str]]:
    """What was read more than once, and how its batch was written."""
    seen = Counter(one[:2] for one in found)
    return [(one, written(home, one)) for one in found if seen[one[:2]] > 1]


def written(home: Home, one: Found) -> str:
    """The same sequence of one epoch twice is a broker's fault; under two epochs the client's."""
    for file in (home.data[0] / f"orders-{one.partition}").glob("*.log"):
        for _, header in iterate_batches(file.read_bytes()):
            if header.base_offset <= one.offset <= header.last_offset:
                producer = f"producer {header.producer_id}, epoch {header.producer_epoch}"
                return f"{producer}, sequence {header.base_sequence}"
    return "in no log"


@contextlib.contextmanager
def cluster_of(kind: Kind, path: Path) -> Iterator[Cluster]:
    cluster = Cluster(path)
    try:
        cluster.start_all(kind)
        yield cluster
    finally:
        for process in cluster.nodes.values():
            process.discard()


@pytest.mark.parametrize(
    ("first", "then"),
    [("kafka", "ottla"), pytest.param("ottla", "kafka", marks=pytest.mark.long)],
)
def test_node_by_node_there_and_back_nothing_is_lost_twice_or_out_of_order(
    first: Kind, then: Kind, tmp_path: Path
) -> None:
    with cluster_of(first, tmp_path) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        admin.create_topics([NewTopic("orders", PARTITIONS, 3)])["orders"].result(SECONDS_MAX)
        wait_until(cluster.is_in_sync, SECONDS_MAX)
        with Load(cluster.bootstrap) as load:
            for kind in (then, first):
                for node in NODES:
                    cluster.swap(node, kind)
        assert load.refused == []
        found = read_all(cluster.bootstrap, len(load.acknowledged))
        assert repeated(found, cluster.homes[1]) == []
        assert sorted(one[:2] for one in found) == sorted(load.acknowledged)
        for at in range(PARTITIONS):
            values = [one.value for one in found if one.partition == at]
            assert values == sorted(values)
