"""Partitions that are moved between brokers: where they are put, and how much of them is there."""

from typing import Any

from kio.schema.errors import ErrorCode

from support.clusters import Cluster
from support.wire import Connection

TOPIC, BROKER = 2, 4
SET, DELETE = 0, 1


def create_on(cluster: Cluster, topic: str, replicas: list[int]) -> None:
    placed = [{"partition_index": 0, "broker_ids": replicas}]
    asked = {
        "name": topic,
        "num_partitions": -1,
        "replication_factor": -1,
        "assignments": placed,
        "configs": [],
    }
    [made] = ask(cluster, "create_topics", 7, topics=[asked], timeout=30_000).topics
    assert made.error_code == ErrorCode.none, made.error_message


def configure(cluster: Cluster, kind: int, resource: str, name: str, value: str | None) -> None:
    """Set an option; without a value, take it back. A broker's own is told to that broker."""
    operation = DELETE if value is None else SET
    change = {"name": name, "config_operation": operation, "value": value}
    asked = {"resource_type": kind, "resource_name": resource, "configs": [change]}
    own = cluster.nodes[int(resource)] if kind == BROKER and resource else cluster.alive()[0]
    with Connection(own.bootstrap, timeout=30) as connection:
        [done] = connection.ask("incremental_alter_configs", 1, resources=[asked]).responses
    assert done.error_code == ErrorCode.none, done.error_message


def move(cluster: Cluster, replicas: list[int], *topics: str) -> None:
    """Begin to move partition 0 of each; who watches sees when that is over."""
    partition = {"partition_index": 0, "replicas": replicas}
    moves = [{"name": topic, "partitions": [partition]} for topic in topics]
    answer = ask(cluster, "alter_partition_reassignments", 0, topics=moves, timeout=30_000)
    assert answer.error_code == ErrorCode.none, answer.error_message
    assert all(one.partitions[0].error_code == ErrorCode.none for one in answer.responses)


def bytes_on(cluster: Cluster, node: int, topic: str) -> int:
    """How much of the topic's partitions a broker has."""
    with Connection(cluster.nodes[node].bootstrap, timeout=30) as connection:
        answer = connection.ask("describe_log_dirs", 4, topics=None)
    return sum(
        partition.partition_size
        for directory in answer.results
        for held in directory.topics
        if held.name == topic
        for partition in held.partitions
    )


def ask(cluster: Cluster, api: str, version: int, **fields: Any) -> Any:
    with Connection(cluster.alive()[0].bootstrap, timeout=30) as connection:
        return connection.ask(api, version, **fields)
