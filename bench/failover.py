"""usage: python -m bench.failover [--kills 30] [--kind ottla|kafka] [--victim leader|controller]

Three nodes with default settings, an idempotent producer with acks=all, and kill -9 again and
again: how long no acknowledgement came, each time, and whether anything was lost, repeated or
out of order at the end. The victim is started again and back in sync before the next kill, which
meets a new producer: librdkafka waits longer each time for a broker that went away before (up to
reconnect.backoff.max.ms, 10 s), and that is not what is measured here.
"""

import argparse
import itertools
import json
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.brokers import Kind
from support.clusters import Cluster, cluster_of

TOPIC = "failover"
SETTLE_SECONDS = 1.0
RECOVERY_SECONDS_MAX = 60.0


class Load(threading.Thread):
    """Numbers, one every millisecond, and when each was acknowledged."""

    def __init__(self, bootstrap: str, first: int) -> None:
        super().__init__(daemon=True)
        self.first = first
        self.acknowledged: list[tuple[float, int]] = []
        self.failed = 0
        self.sent = 0
        self.done = threading.Event()
        options = {"acks": "all", "enable.idempotence": True, "linger.ms": 1, "log_level": 0}
        self.producer = Producer(
            {"bootstrap.servers": bootstrap, "delivery.timeout.ms": 120_000, **options}
        )

    def run(self) -> None:
        for number in itertools.count(self.first):
            if self.done.is_set():
                break
            self.producer.produce(TOPIC, b"%d" % number, on_delivery=self.delivered)
            self.sent += 1
            self.producer.poll(0.001)
        self.producer.flush(120)

    def delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed += 1
        else:
            self.acknowledged.append((time.perf_counter(), int(message.value() or b"-1")))

    def gap_after(self, moment: float) -> float:
        """The longest silence from `moment` on, once acknowledgements flow again."""
        deadline = moment + RECOVERY_SECONDS_MAX
        while time.perf_counter() < deadline:
            times = [at for at, _ in self.acknowledged[-3000:] if at >= moment]
            if times and time.perf_counter() - times[0] > SETTLE_SECONDS:
                return max(
                    later - earlier for earlier, later in itertools.pairwise([moment, *times])
                )
            time.sleep(0.05)
        return RECOVERY_SECONDS_MAX


def measure(cluster: Cluster, kills: int, victim: str) -> dict[str, object]:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    topic = NewTopic(TOPIC, 1, 3, config={"min.insync.replicas": "2"})
    admin.create_topics([topic])[TOPIC].result(60)
    cluster.await_in_sync(TOPIC, [1, 2, 3])
    gaps: list[float] = []
    acknowledged: list[int] = []
    failed = sent = 0
    for number in range(1, kills + 1):
        load = Load(cluster.bootstrap, sent)
        load.start()
        time.sleep(2)
        leader, _ = cluster.partition(TOPIC)
        node = cluster.nodes[leader if victim == "leader" else cluster.active_controller()]
        node.kill9()
        gaps.append(load.gap_after(time.perf_counter()))
        print(f"kill {number} of {kills}: {gaps[-1]:.3f} s", file=sys.stderr)
        load.done.set()
        load.join(150)
        acknowledged += [value for _, value in load.acknowledged]
        failed += load.failed
        sent += load.sent
        node.start()
        cluster.await_in_sync(TOPIC, [1, 2, 3])
    values = read_all(cluster.bootstrap, len(acknowledged))
    return {
        "kills": kills,
        "victim": victim,
        "median_s": round(statistics.median(gaps), 3),
        "worst_s": round(max(gaps), 3),
        "acknowledged": len(acknowledged),
        "failed": failed,
        "lost": len(set(acknowledged) - set(values)),
        "repeated": len(values) - len(set(values)),
        "in_order": values == sorted(values),
    }


def read_all(bootstrap: str, least: int) -> list[int]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "checker", "log_level": 0})
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


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.failover")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--kind", choices=["ottla", "kafka"], default="ottla")
    parser.add_argument("--victim", choices=["leader", "controller"], default="leader")
    given = parser.parse_args()
    kind: Kind = given.kind
    with (
        tempfile.TemporaryDirectory(prefix="failover-") as folder,
        cluster_of(3, Path(folder), kind=kind) as cluster,
    ):
        result = measure(cluster, given.kills, given.victim)
    print(json.dumps({"kind": kind, **result}))
    return bool(result["lost"] or result["repeated"] or not result["in_order"])


if __name__ == "__main__":
    sys.exit(main())
