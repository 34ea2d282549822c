"""Records that were deleted stay so, whoever leads next."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from support.clusters import Cluster, cluster_of
from support.confluent import create_topic, produce, wait_until
from support.wire import Connection

pytestmark = pytest.mark.timeout(120)

PATIENCE_S = 20.0
PATIENT = {"replica.fetch.wait.max.ms": str(int(PATIENCE_S * 1000))}
"""A follower would learn of it late, were it not told at once."""
STRICT = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}


@contextmanager
def filled(path: Path, settings: dict[str, str]) -> Iterator[Cluster]:
    with cluster_of(3, path, settings) as cluster:
        create_topic(cluster.bootstrap, "t", partitions=1, replicas=3)
        cluster.await_in_sync("t", [1, 2, 3])
        produce(cluster.bootstrap, "t", [b"%d" % n for n in range(9)], config={"linger.ms": 0})
        yield cluster


def delete_before(cluster: Cluster, leader: int, offset: int, timeout_ms: int) -> Any:
    topics = [{"name": "t", "partitions": [{"partition_index": 0, "offset": offset}]}]
    with Connection(cluster.nodes[leader].bootstrap, timeout=60) as connection:
        reply = connection.ask("delete_records", 2, topics=topics, timeout=timeout_ms)
    return reply.topics[0].partitions[0]


def start_at(cluster: Cluster, leader: int) -> int:
    place = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": -2}
    topics = [{"name": "t", "partitions": [place]}]
    with Connection(cluster.nodes[leader].bootstrap) as connection:
        reply = connection.ask("list_offsets", 7, replica_id=-1, isolation_level=0, topics=topics)
    found = reply.topics[0].partitions[0]
    assert found.error_code == ErrorCode.none
    return int(found.offset)


def test_what_was_deleted_does_not_come_back_with_the_next_leader(tmp_path: Path) -> None:
    with filled(tmp_path, PATIENT) as cluster:
        leader, _ = cluster.partition("t")
        for offset in (4, 7):  # the second finds followers that wait for records
            began = time.monotonic()
            answer = delete_before(cluster, leader, offset, 60_000)
            assert (answer.error_code, answer.low_watermark) == (ErrorCode.none, offset)
            assert time.monotonic() - began < PATIENCE_S / 2
        cluster.nodes[leader].kill9()
        wait_until(lambda: cluster.partition("t")[0] not in (-1, leader))
        assert start_at(cluster, cluster.partition("t")[0]) == 7


def test_a_replica_is_waited_for_until_its_broker_is_given_up(tmp_path: Path) -> None:
    with filled(tmp_path, STRICT) as cluster:
        leader, _ = cluster.partition("t")
        silent = next(
            node for node in cluster.nodes if node not in (leader, cluster.active_controller())
        )
        os.kill(cluster.nodes[silent].pid, signal.SIGSTOP)
        try:
            late = delete_before(cluster, leader, 4, 300)
            assert late.error_code == ErrorCode.request_timed_out
            answer = delete_before(cluster, leader, 4, 60_000)  # the controller fences it meanwhile
            assert (answer.error_code, answer.low_watermark) == (ErrorCode.none, 4)
        finally:
            os.kill(cluster.nodes[silent].pid, signal.SIGCONT)
        cluster.await_in_sync("t", [1, 2, 3])
        answer = delete_before(cluster, leader, 4, 60_000)
        assert (answer.error_code, answer.low_watermark) == (ErrorCode.none, 4)
