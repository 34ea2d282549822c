"""What many partitions cost while nobody asks for anything."""

import time

from confluent_kafka.admin import AdminClient, NewTopic

from bench.load.nodes import fresh_node
from bench.processes import cpu_seconds, memory_mb
from bench.report import Values
from support.brokers import BrokerProcess, Kind

PARTITIONS_A_TOPIC = 50
SETTLE_S = 15.0
IDLE_S = 20.0


def measure(kind: Kind, partitions: int) -> Values:
    with fresh_node(kind, warm=False) as broker:
        create(broker, partitions)
        time.sleep(SETTLE_S)
        before = cpu_seconds(broker.pid)
        time.sleep(IDLE_S)
        spent = cpu_seconds(broker.pid) - before
        name = f"{partitions:,} partitions, nothing to do"
        return {
            f"{name}: CPU %": max(100 * spent / IDLE_S, 0.05),
            f"{name}: memory MB": memory_mb(broker.pid),
        }


def create(broker: BrokerProcess, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for first in range(0, partitions, 1000):
        names = [f"idle-{first + n}" for n in range(0, 1000, PARTITIONS_A_TOPIC)]
        topics = [NewTopic(name, PARTITIONS_A_TOPIC, -1) for name in names]
        for future in admin.create_topics(topics, request_timeout=120).values():
            future.result(120)
