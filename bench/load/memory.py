"""A thousand groups, a million commits, and what is left of them in memory when they are over."""

import socket
import time
from contextlib import ExitStack

from confluent_kafka import Consumer, TopicPartition

from bench.client import commit_request, new_topic
from bench.load.nodes import fresh_node
from bench.processes import memory_mb
from bench.reach import Reach
from bench.report import Values
from support.brokers import BrokerProcess, Kind
from support.wire import Connection

SETTINGS = {  # groups without members are forgotten as soon as may be
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": "2000",
}
FORGOTTEN_S_MAX = 150.0
SETTLE_S = 15.0


def measure(kind: Kind, groups: int, commits: int) -> Values:
    with fresh_node(kind, SETTINGS, warm=False) as broker:
        topic = new_topic(Reach(broker.bootstrap))
        first_commit(broker, topic)
        before = memory_mb(broker.pid)
        commit(broker, topic, groups, commits // groups)
        full = memory_mb(broker.pid)
        await_forgotten(broker)
        time.sleep(SETTLE_S)
        name = f"{groups:,} groups and {commits:,} commits: memory MB"
        return {
            f"{name} before": before,
            f"{name} with them": full,
            f"{name} when they are over": memory_mb(broker.pid),
        }


def first_commit(broker: BrokerProcess, topic: str) -> None:
    """The topic of offsets is made, and its coordinators are loaded."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": topic})
    consumer.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    consumer.close()


def commit(broker: BrokerProcess, topic: str, groups: int, rounds: int) -> None:
    host, port = broker.bootstrap.rsplit(":", 1)
    names = [f"{topic}-{n}" for n in range(groups)]
    with ExitStack() as stack:
        opened = [socket.create_connection((host, int(port)), 60) for _ in names]
        for connection in opened:
            stack.callback(connection.close)
        for number in range(rounds):
            for connection, name in zip(opened, names, strict=True):
                connection.sendall(commit_request(name, topic, number))
            for connection in opened:
                size = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")
                reply = connection.recv(size, socket.MSG_WAITALL)
                assert reply[-2:] == b"\0\0", f"commit refused: {reply!r}"


def await_forgotten(broker: BrokerProcess) -> None:
    began = time.monotonic()
    with Connection(broker.bootstrap, timeout=30) as connection:
        while connection.ask("list_groups", 3).groups:
            assert time.monotonic() - began < FORGOTTEN_S_MAX, "groups are not forgotten"
            time.sleep(1)
