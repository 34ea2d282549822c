"""Whether every partition of a cluster has a leader that serves: the leaders are asked."""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator

from confluent_kafka.admin import AdminClient, NewTopic

from support.clusters import Cluster
from support.wire import Connection

PARTITIONS_PER_TOPIC = 10
LATEST = -1
POLL_SECONDS = 0.03


def create_partitions(cluster: Cluster, count: int, prefix: str = "many") -> list[str]:
    """Topics of ten partitions, as many replicas as the brokers' default; their names."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    names = [f"{prefix}-{number}" for number in range(count // PARTITIONS_PER_TOPIC)]
    for start in range(0, len(names), 50):
        wanted = [NewTopic(name, PARTITIONS_PER_TOPIC, -1) for name in names[start : start + 50]]
        for created in admin.create_topics(wanted, request_timeout=120).values():
            created.result(120)
    return names


def await_leaders(cluster: Cluster, topics: list[str], began: float, seconds_max: float) -> float:
    """The seconds since `began` (of perf_counter) when all partitions were led and served."""
    last: Exception | None = None
    while time.perf_counter() - began < seconds_max:
        try:
            if all_are_led(cluster, topics):
                return time.perf_counter() - began
        except OSError as error:  # nobody listens yet, or no longer
            last = error
        time.sleep(POLL_SECONDS)
    raise AssertionError(f"not every partition was led after {seconds_max} s ({last})")


def all_are_led(cluster: Cluster, topics: list[str]) -> bool:
    """Every leader that the metadata names is alive and tells where its partition ends."""
    addresses = {node: cluster.nodes[node].bootstrap for node in cluster.nodes_alive()}
    led: defaultdict[int, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    with Connection(next(iter(addresses.values()))) as connection:
        response = connection.ask("metadata", 12, topics=[{"name": name} for name in topics])
    for topic in response.topics:
        for partition in topic.partitions:
            if partition.leader_id not in addresses:
                return False
            led[partition.leader_id][topic.name].append(partition.partition_index)
    known = sum(len(indexes) for by_topic in led.values() for indexes in by_topic.values())
    if known < len(topics) * PARTITIONS_PER_TOPIC:
        return False
    return all(serves(addresses[node], by_topic.items()) for node, by_topic in led.items())


def serves(bootstrap: str, led: Iterable[tuple[str, list[int]]]) -> bool:
    with Connection(bootstrap) as connection:
        response = connection.ask("list_offsets", 7, replica_id=-1, topics=list(questions(led)))
    answers = [answer for topic in response.topics for answer in topic.partitions]
    return all(answer.error_code == 0 for answer in answers)


def questions(led: Iterable[tuple[str, list[int]]]) -> Iterator[dict[str, object]]:
    for name, indexes in led:
        yield {
            "name": name,
            "partitions": [
                {"partition_index": index, "current_leader_epoch": -1, "timestamp": LATEST}
                for index in indexes
            ],
        }
