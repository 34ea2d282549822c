"""A partition that is moved under a quota takes its time; the others, and who writes, do not."""

import time
from pathlib import Path

import pytest

from support.clusters import Cluster, cluster_of
from support.confluent import produce, wait_until
from support.moves import BROKER, TOPIC, bytes_on, configure, create_on, move

pytestmark = pytest.mark.timeout(120)

CHUNK = 16 * 1024
SMALL_FETCHES = {"replica.fetch.max.bytes": str(CHUNK), "default.replication.factor": "1"}
SIZE = 2_000_000
WINDOW_S = 11
"""What is over the rate by far is paid for so long."""
RATE = 50_000
"""Bytes a second: that many would take most of a minute."""


def fill(cluster: Cluster, topic: str) -> None:
    create_on(cluster, topic, [1])
    values = [b"%01000d" % number for number in range(SIZE // 1000)]
    produce(cluster.bootstrap, topic, values, config={"batch.size": CHUNK // 2, "linger.ms": 5})


@pytest.mark.parametrize(("side", "node"), [("follower", 2), ("leader", 1)])
def test_a_move_keeps_to_its_rate_until_that_is_taken_back(
    side: str, node: int, tmp_path: Path
) -> None:
    rate, replicas = f"{side}.replication.throttled.rate", f"{side}.replication.throttled.replicas"
    with cluster_of(2, tmp_path, SMALL_FETCHES) as cluster:
        for topic in ("slow", "fast"):
            fill(cluster, topic)
        configure(cluster, BROKER, str(node), rate, str(RATE))
        configure(cluster, TOPIC, "slow", replicas, f"0:{node}")

        began = time.monotonic()
        move(cluster, [1, 2], "slow", "fast")
        cluster.await_in_sync("fast", [1, 2])
        wait_until(lambda: bytes_on(cluster, 2, "slow") > 3 * RATE)
        copied = bytes_on(cluster, 2, "slow")
        assert copied <= RATE * (time.monotonic() - began + 1.0) + CHUNK
        assert cluster.partition("slow") == (1, [1])
        assert bytes_on(cluster, 2, "fast") >= SIZE

        produce(cluster.bootstrap, "slow", [b"not held up"], config={"acks": "all"})
        before = time.monotonic()
        if side == "follower":
            configure(cluster, BROKER, str(node), rate, str(100 * RATE))
        else:
            configure(cluster, TOPIC, "slow", replicas, None)
        cluster.await_in_sync("slow", [1, 2])
        assert time.monotonic() - before < (SIZE - copied) / RATE / 2
        assert bytes_on(cluster, 2, "slow") == bytes_on(cluster, 1, "slow")


def test_a_quota_holds_back_no_replica_that_is_in_sync(tmp_path: Path) -> None:
    with cluster_of(2, tmp_path, SMALL_FETCHES) as cluster:
        create_on(cluster, "orders", [1, 2])
        cluster.await_in_sync("orders", [1, 2])
        for side in ("leader", "follower"):
            configure(cluster, TOPIC, "orders", f"{side}.replication.throttled.replicas", "*")
            configure(cluster, BROKER, "", f"{side}.replication.throttled.rate", "1")
        began = time.monotonic()
        for _ in range(5):  # each is acknowledged only when both have it
            produce(cluster.bootstrap, "orders", [bytes(5000)] * 4, config={"acks": "all"})
        assert cluster.partition("orders") == (1, [1, 2])
        assert time.monotonic() - began < WINDOW_S
