"""Consumers read from the replica in their own rack (KIP-392)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from support.clusters import Cluster, cluster_of
from support.confluent import create_topic, produce, read, wait_until
from support.wire import Connection

pytestmark = pytest.mark.timeout(120)

BROKER, SET = 4, 0
SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def fetch(cluster: Cluster, node: int, rack: str, offset: int, wait_ms: int = 0) -> Any:
    with Connection(cluster.nodes[node].bootstrap) as connection:
        wanted = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
        reply = connection.ask(
            "fetch",
            11,
            replica_id=-1,
            max_wait=wait_ms,
            min_bytes=1,
            max_bytes=1 << 20,
            session_epoch=-1,
            rack_id=rack,
            topics=[{"topic": "t", "partitions": [wanted]}],
        )
    return reply.responses[0].partitions[0]


@contextmanager
def racks(
    path: Path, settings: Mapping[str, str] | None = None
) -> Iterator[tuple[Cluster, int, int]]:
    """Two records on three nodes, each in a rack of its own; who leads, and one that follows."""
    with cluster_of(3, path, {"replica.selector.class": SELECTOR, **(settings or {})}) as cluster:
        create_topic(cluster.bootstrap, "t", replicas=3)
        cluster.await_in_sync("t", [1, 2, 3])
        produce(cluster.bootstrap, "t", [b"a", b"b"])
        leader, _ = cluster.partition("t")
        yield cluster, leader, leader % 3 + 1


def forget_old_records(cluster: Cluster, node: int) -> None:
    """One broker keeps less than the others."""
    option = {"name": "log.retention.ms", "value": "1", "config_operation": SET}
    resource = {"resource_type": BROKER, "resource_name": str(node), "configs": [option]}
    with Connection(cluster.nodes[node].bootstrap) as connection:
        reply = connection.ask("incremental_alter_configs", 1, resources=[resource])
    assert reply.responses[0].error_code == ErrorCode.none


def test_a_consumer_is_sent_to_the_replica_in_its_rack_and_served_there(tmp_path: Path) -> None:
    with racks(tmp_path) as (cluster, leader, near):

        def is_sent_there() -> bool:
            answer = fetch(cluster, leader, f"rack-{near}", 2)
            return int(answer.preferred_read_replica) == near

        wait_until(is_sent_there)
        at_home = fetch(cluster, leader, f"rack-{leader}", 0)
        assert int(at_home.preferred_read_replica) == -1
        assert at_home.records

        def is_served_there() -> bool:
            answer = fetch(cluster, near, f"rack-{near}", 0, wait_ms=500)
            assert answer.error_code == ErrorCode.none
            return int(answer.high_watermark) == 2 and bool(answer.records)

        wait_until(is_served_there)
        ahead = fetch(cluster, near, f"rack-{near}", 100)
        assert ahead.error_code == ErrorCode.offset_not_available
        own = {"client.rack": f"rack-{near}"}
        values = [message.value() for message in read(cluster.bootstrap, "t", 2, config=own)]
        assert values == [b"a", b"b"]


def test_a_consumer_is_not_sent_to_a_replica_that_has_dropped_what_it_asks_for(
    tmp_path: Path,
) -> None:
    with racks(tmp_path, {"log.retention.check.interval.ms": "200"}) as (cluster, leader, near):

        def sent_to(offset: int) -> int:
            return int(fetch(cluster, leader, f"rack-{near}", offset).preferred_read_replica)

        wait_until(lambda: sent_to(0) == near)
        forget_old_records(cluster, near)
        wait_until(lambda: sent_to(0) == -1)
        assert fetch(cluster, leader, f"rack-{near}", 0).records
        assert sent_to(2) == near
