"""usage: python -m bench.failover [--kills 30] [--victim leader|controller|group|…]

Three nodes with default settings and kill -9 again and again: how long nothing was acknowledged,
each time, and whether anything was lost, repeated or out of order at the end. Dies the leader of
the partition, the active controller, the coordinator of a group (then commits are what counts) or
of a transactional id (committed transactions; with -aiokafka through that library, with -wire
through none: librdkafka's own timers are long). The victim is started again and back in sync before
the next kill, which meets new clients unless `--one-client` says otherwise: librdkafka waits longer
each time for a broker that went away within the last ten seconds (reconnect.backoff.max.ms), and
that is not what is measured here.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from bench.failover_aiokafka import AioCommits, AioTransactions
from bench.failover_loads import (
    GROUP,
    QUIET,
    TOPIC,
    TRANSACTIONAL_ID,
    Commits,
    Load,
    Sends,
    Transactions,
)
from bench.failover_wire import Asks, WireCommits, WireTransactions
from bench.reach import Reach
from bench.secured import secured_cluster
from support.brokers import Kind
from support.class_data import BRIEF
from support.clusters import Cluster, cluster_of
from support.confluent import wait_until
from support.wire import Connection

SETTLE_SECONDS = 1.0
RECOVERY_SECONDS_MAX = 60.0
WARM_UP_SECONDS = 2.0

DEFAULTS = {
    "offsets.topic.num.partitions": "50",
    "transaction.state.log.num.partitions": "50",
    "group.initial.rebalance.delay.ms": "3000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "10000",
}
"""Kafka's, where tests use others."""

LOADS: dict[str, type[Load]] = {
    "leader": Sends,
    "controller": Sends,
    "group": Commits,
    "transaction": Transactions,
    "group-aiokafka": AioCommits,
    "transaction-aiokafka": AioTransactions,
    "group-wire": WireCommits,
    "transaction-wire": WireTransactions,
}


class Story:
    """What was acknowledged and delivered over all kills."""

    def __init__(self) -> None:
        self.gaps: list[float] = []
        self.acknowledged: list[int] = []
        self.delivered: list[int] = []
        self.failures: Counter[str] = Counter()

    def end(self, load: Load) -> None:
        load.finish()
        self.acknowledged += load.acknowledged
        self.failures.update(load.failures)
        self.delivered += load.consumed


def measure(
    cluster: Cluster, reach: Reach, kills: int, victim: str, pause_s: float | None
) -> dict[str, object]:
    """`pause_s`: one client for all kills, with so much time between them."""
    create_topic(cluster)
    story, load = Story(), LOADS[victim](reach, 0)
    load.start()
    for number in range(1, kills + 1):
        wait_until(load.has_begun, 60)
        time.sleep(WARM_UP_SECONDS if pause_s is None else pause_s)
        node = cluster.nodes[find(cluster, victim)]
        node.kill9()
        gap = load.gap_after(time.perf_counter(), SETTLE_SECONDS, RECOVERY_SECONDS_MAX)
        story.gaps.append(gap)
        print(f"kill {number} of {kills}: {gap:.3f} s", file=sys.stderr)
        if pause_s is None:
            story.end(load)
        node.start()
        for topic, index in internal(victim):
            cluster.await_in_sync(topic, [1, 2, 3], index)
        if pause_s is None and number < kills:
            load = LOADS[victim](reach, load.next)
            load.start()
    if pause_s is not None:
        story.end(load)
    result: dict[str, object] = {
        "kills": kills,
        "victim": victim,
        "one_client": pause_s is not None,
    }
    result["median_s"] = round(statistics.median(story.gaps), 3)
    result["worst_s"] = round(max(story.gaps), 3)
    result["acknowledged"] = len(story.acknowledged)
    if not isinstance(load, Asks):
        result |= told(story, read_all(cluster.bootstrap, len(story.acknowledged)))
    return result


def told(story: Story, values: list[int]) -> dict[str, object]:
    """What became of all that was acknowledged."""
    result: dict[str, object] = {
        "failed": dict(story.failures),
        "lost": len(set(story.acknowledged) - set(values)),
        "repeated": len(values) - len(set(values)),
        "in_order": values == sorted(values),
    }
    if story.delivered:
        result["not_delivered"] = len(set(story.acknowledged) - set(story.delivered))
        result["delivered_twice"] = len(story.delivered) - len(set(story.delivered))
    return result


def create_topic(cluster: Cluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUIET})
    topic = NewTopic(TOPIC, 1, 3, config={"min.insync.replicas": "2"})
    admin.create_topics([topic])[TOPIC].result(60)
    cluster.await_in_sync(TOPIC, [1, 2, 3])


def find(cluster: Cluster, victim: str) -> int:
    """The node that plays the part."""
    match victim.partition("-")[0]:
        case "controller":
            return cluster.active_controller()
        case "group":
            return coordinator(cluster, GROUP, 0)
        case "transaction":
            return coordinator(cluster, TRANSACTIONAL_ID, 1)
    leader, _ = cluster.partition(TOPIC)
    return leader


def coordinator(cluster: Cluster, key: str, kind: int) -> int:
    with Connection(cluster.alive()[0].bootstrap, timeout=10) as connection:
        return int(connection.ask("find_coordinator", 3, key=key, key_type=kind).node_id)


def internal(victim: str) -> list[tuple[str, int]]:
    """What has to be in sync before the next kill; of internal topics, some partitions."""
    topics = {"group": "__consumer_offsets", "transaction": "__transaction_state"}
    topic = topics.get(victim.partition("-")[0])
    return [(TOPIC, 0), *((topic, index) for index in range(0, 50, 7) if topic is not None)]


def read_all(bootstrap: str, least: int) -> list[int]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "checker", **QUIET})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    values: list[int] = []
    deadline = time.perf_counter() + 120
    while time.perf_counter() < deadline:
        messages = consumer.consume(5000, 2.0)
        values += [int(each.value() or b"-1") for each in messages if each.error() is None]
        if not messages and len(values) >= least:
            break
    consumer.close()
    return values


@contextmanager
def three_nodes(folder: Path, kind: Kind, *, secured: bool) -> Iterator[tuple[Cluster, Reach]]:
    if secured:
        with secured_cluster(3, folder, DEFAULTS, kind, BRIEF) as both:
            yield both
    else:
        with cluster_of(3, folder, DEFAULTS, kind) as cluster:
            yield cluster, Reach(cluster.bootstrap)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.failover")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--kind", choices=["ottla", "kafka"], default="ottla")
    parser.add_argument("--victim", choices=list(LOADS), default="leader")
    parser.add_argument(
        "--secured", action="store_true", help="SCRAM over TLS, TLS between nodes, Kafka's rules"
    )
    parser.add_argument(
        "--one-client", type=float, metavar="SECONDS", help="keep the client, kill so often"
    )
    given = parser.parse_args()
    if given.secured and "-" in given.victim:
        parser.error("loads without librdkafka come in the open only")
    kind: Kind = given.kind
    with (
        tempfile.TemporaryDirectory(prefix="failover-") as folder,
        three_nodes(Path(folder), kind, secured=given.secured) as (cluster, reach),
    ):
        result = measure(cluster, reach, given.kills, given.victim, given.one_client)
    print(json.dumps({"kind": kind, "secured": given.secured, **result}))
    return bool(result.get("lost") or result.get("repeated") or not result.get("in_order", True))


if __name__ == "__main__":
    sys.exit(main())
