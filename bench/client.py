"""The client's side of one measurement, run as a process of its own: prints one JSON object.

librdkafka is the client of both brokers, so that only the brokers differ.
"""

import argparse
import json
import os
import struct
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from bench.openers import METADATA_REQUEST, openers
from bench.processes import memory_mb
from bench.reach import Reach, receive

FAST_PRODUCER = {
    "acks": "all",
    "linger.ms": 5,
    "batch.size": 1_000_000,
    "queue.buffering.max.messages": 1_000_000,
    "queue.buffering.max.kbytes": 2_000_000,
}
FAST_CONSUMER = {
    "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
    "fetch.max.bytes": 52_428_800,
    "max.partition.fetch.bytes": 10_485_760,
    "queued.min.messages": 1_000_000,
    "queued.max.messages.kbytes": 2_000_000,  # else a fast broker makes the client rest for 1 s
}
BROKERS_DEFAULT = -1  # replicas of a new topic: 1 on one node, 3 on three


def new_topic(reach: Reach, partitions: int = 1) -> str:
    name = f"bench-{uuid.uuid4().hex[:8]}"
    admin = AdminClient(reach.config())
    admin.create_topics([NewTopic(name, partitions, BROKERS_DEFAULT)])[name].result(60)
    while len(admin.list_topics(name, timeout=30).topics[name].partitions) < partitions:
        time.sleep(0.02)
    return name


def fill(reach: Reach, topic: str, args: argparse.Namespace, count: int) -> float:
    """Produce records of the asked size; the seconds until the last is acknowledged."""
    config = {**reach.config(compression_codec=args.codec), **FAST_PRODUCER}
    producer = Producer(config)
    for partition in range(args.partitions):
        producer.produce(topic, b"warm", partition=partition)
    producer.flush()
    value = os.urandom(args.size)
    began = time.perf_counter()
    for number in range(count):
        while True:
            try:
                producer.produce(topic, value, partition=number % args.partitions)
                break
            except BufferError:
                producer.poll(0.01)
        if number % 10_000 == 0:
            producer.poll(0)
    assert producer.flush(300) == 0, "not everything was acknowledged"
    return time.perf_counter() - began


def drain(reach: Reach, places: list[TopicPartition], count: int) -> float:
    """The seconds to read `count` records from the places on."""
    consumer = Consumer({**reach.config(group_id="drain"), **FAST_CONSUMER})
    consumer.assign(places)
    began = last = time.perf_counter()
    left = count
    while left > 0:
        if messages := consumer.consume(10_000, 0.02):
            left -= len(messages)
            last = time.perf_counter()
        assert time.perf_counter() - last < 30, f"{left} records did not come"
    seconds = last - began
    consumer.close()
    return seconds


def throughput(reach: Reach, args: argparse.Namespace) -> dict[str, float]:
    topic = new_topic(reach, args.partitions)
    megabytes = args.count * args.size / 1e6
    produced = fill(reach, topic, args, args.count)
    places = [TopicPartition(topic, n, 0) for n in range(args.partitions)]
    consumed = drain(reach, places, args.count + args.partitions)
    return {"produce MB/s": megabytes / produced, "consume MB/s": megabytes / consumed}


def head(reach: Reach, args: argparse.Namespace) -> dict[str, float]:
    """Produce to and read from the end of a log that already holds `stored` megabytes."""
    topic = new_topic(reach)
    large = argparse.Namespace(**{**vars(args), "size": 10_000})
    fill(reach, topic, large, args.stored * 100)
    seconds = fill(reach, topic, args, args.count)
    place = TopicPartition(topic, 0)
    consumer = Consumer(reach.config(group_id="end"))
    _, end = consumer.get_watermark_offsets(place, timeout=30)
    consumer.close()
    place.offset = end - args.count
    read = drain(reach, [place], args.count)
    megabytes = args.count * args.size / 1e6
    return {"produce MB/s": megabytes / seconds, "consume MB/s": megabytes / read}


def percentiles(name: str, seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {
        f"{name} p50 ms": ordered[len(ordered) // 2] * 1000,
        f"{name} p99 ms": ordered[len(ordered) * 99 // 100] * 1000,
    }


def timed(count: int, step: Callable[[], object]) -> list[float]:
    times = []
    for _ in range(count):
        began = time.perf_counter()
        step()
        times.append(time.perf_counter() - began)
    return times


def latency(reach: Reach, args: argparse.Namespace) -> dict[str, float]:
    """One record at a time: until its acknowledgement, and until a waiting consumer has it."""
    topic = new_topic(reach)
    producer = Producer(reach.config(acks="all", linger_ms=0))
    value = os.urandom(args.size)

    def acknowledged() -> None:
        producer.produce(topic, value)
        producer.flush()

    acknowledged()
    acks = timed(args.count, acknowledged)
    consumer = Consumer(reach.config(group_id=topic, fetch_wait_max_ms=500))
    consumer.assign([TopicPartition(topic, 0, args.count + 1)])
    consumer.poll(1)

    def received() -> None:
        producer.produce(topic, value)
        producer.poll(0)
        message: Message | None = consumer.poll(10)
        assert message is not None, "a record did not come"

    ends = timed(args.count, received)
    consumer.close()
    return {**percentiles("ack", acks), **percentiles("end to end", ends)}


def partitions(reach: Reach, args: argparse.Namespace) -> dict[str, float]:
    """Create topics of two partitions and wait until all are known."""
    admin = AdminClient(reach.config())
    names = [f"many-{uuid.uuid4().hex[:8]}-{n}" for n in range(args.count // 2)]
    began = time.perf_counter()
    futures = admin.create_topics(
        [NewTopic(name, 2, BROKERS_DEFAULT) for name in names], request_timeout=120
    )
    for future in futures.values():
        future.result(120)
    while not set(names) <= admin.list_topics(timeout=30).topics.keys():
        time.sleep(0.02)
    return {"s": time.perf_counter() - began}


def connections(reach: Reach, args: argparse.Namespace) -> dict[str, float]:
    """Open many connections, ask one question on each, and measure acks beside them."""
    if reach.properties:
        return secured_connections(reach, args)
    began = time.perf_counter()
    opened = reach.open_many(args.count)
    for connection in opened:
        connection.sendall(METADATA_REQUEST)
    for connection in opened:
        assert len(receive(connection, 4)) == 4
    seconds = time.perf_counter() - began
    beside = latency(reach, argparse.Namespace(**{**vars(args), "count": 300}))
    for connection in opened:
        connection.close()
    return {"open s": seconds, "ack p50 ms beside": beside["ack p50 ms"]}


def secured_connections(reach: Reach, args: argparse.Namespace) -> dict[str, float]:
    """The same by two processes, since a handshake costs a client as much as a broker; and what
    each connection takes of the broker's memory."""
    with openers(reach, args.count) as them:
        before_mb = memory(args.pids)
        began = time.perf_counter()
        them.open()
        seconds = time.perf_counter() - began
        each_kb = (memory(args.pids) - before_mb) * 1024 / args.count
        beside = latency(reach, argparse.Namespace(**{**vars(args), "count": 300}))
    return {"open s": seconds, "KB each": each_kb, "ack p50 ms beside": beside["ack p50 ms"]}


def memory(pids: list[int]) -> float:
    return sum(map(memory_mb, pids))


def transactions(reach: Reach, args: argparse.Namespace) -> dict[str, float]:
    """Transactions per second, of `size` records each."""
    topic = new_topic(reach)
    producer = Producer(reach.config(transactional_id=topic, linger_ms=0))
    producer.init_transactions(60)

    def one() -> None:
        producer.begin_transaction()
        for _ in range(args.size):
            producer.produce(topic, b"x" * 100)
        producer.commit_transaction(60)

    one()
    return {"per s": args.count / sum(timed(args.count, one))}


LEAVE, REST_S = 10, 1.5
"""So many leave one after the other, each of a group that has rested: for longer than both brokers'
interval between two assignments."""


class Member(threading.Thread):
    """A group's member that polls in a thread of its own and counts what it holds."""

    def __init__(self, config: dict[str, Any], topic: str) -> None:
        super().__init__(daemon=True)
        self.holds = 0
        self.leaves = threading.Event()
        self.consumer = Consumer(config)
        self.consumer.subscribe([topic], on_assign=self.given, on_revoke=self.taken)
        self.start()

    def given(self, _: Consumer, places: list[TopicPartition]) -> None:
        self.holds += len(places)

    def taken(self, _: Consumer, places: list[TopicPartition]) -> None:
        self.holds -= len(places)

    def run(self) -> None:
        while not self.leaves.is_set():
            self.consumer.poll(0.05)
        self.consumer.close()


def settling(reach: Reach, args: argparse.Namespace) -> dict[str, float]:
    """The seconds until `count` members that come at once have settled, and each time one leaves.

    A coordinator assigns no more often than `group.consumer.assignment.interval.ms` allows. Who
    leaves at once waits for the rest of that, and the longer the faster the group had settled.
    So the group has rested whenever somebody leaves."""
    topic = new_topic(reach, args.count)
    config = reach.config(group_id=topic, group_protocol=args.codec)
    if args.codec == "classic":
        config |= {"heartbeat.interval.ms": 500, "partition.assignment.strategy": "range"}
    began = time.perf_counter()
    members = [Member(config, topic) for _ in range(args.count)]

    def wait_until_settled() -> None:
        while sum(m.holds for m in members) < args.count or min(m.holds for m in members) < 1:
            assert time.perf_counter() - began < 120, "the group did not settle"
            time.sleep(0.01)

    wait_until_settled()
    joined_s = time.perf_counter() - began
    left_s = []
    for _ in range(LEAVE):
        time.sleep(REST_S)
        began = time.perf_counter()
        members.pop(0).leaves.set()
        wait_until_settled()
        left_s.append(time.perf_counter() - began)
    for member in members:
        member.leaves.set()
    return {"join s": joined_s, "leave s": sum(left_s) / LEAVE}


def commits(reach: Reach, args: argparse.Namespace) -> dict[str, float]:
    """Commits per second of many groups, each through a raw connection, ten rounds."""
    topic = new_topic(reach)
    groups = [f"{topic}-{n}" for n in range(args.count)]
    warm = Consumer(reach.config(group_id=groups[0]))
    warm.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    warm.close()
    opened = reach.open_many(len(groups))
    rounds = 10
    began = time.perf_counter()
    for number in range(rounds):
        for connection, group in zip(opened, groups, strict=True):
            connection.sendall(commit_request(group, topic, number))
        for connection in opened:
            (size,) = struct.unpack(">i", receive(connection, 4))
            reply = receive(connection, size)
            assert reply[-2:] == b"\0\0", f"commit refused: {reply!r}"
    return {"per s": rounds * len(groups) / (time.perf_counter() - began)}


def commit_request(group: str, topic: str, offset: int) -> bytes:
    """OffsetCommit version 7 by a stranger to an empty group."""

    def text(value: str) -> bytes:
        return struct.pack(">h", len(value)) + value.encode()

    body = struct.pack(">hhih", 8, 7, 1, -1) + text(group) + struct.pack(">i", -1) + text("")
    body += struct.pack(">hi", -1, 1) + text(topic) + struct.pack(">i", 1)
    body += struct.pack(">iqi", 0, offset, -1) + text("")
    return struct.pack(">i", len(body)) + body


WORK: dict[str, Callable[[Reach, argparse.Namespace], dict[str, float]]] = {
    work.__name__: work
    for work in (
        throughput,
        head,
        latency,
        partitions,
        connections,
        transactions,
        settling,
        commits,
    )
}


def arguments() -> Any:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", choices=WORK)
    parser.add_argument("bootstrap")
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--codec", default="none", help="or, for settling, the group protocol")
    parser.add_argument("--stored", type=int, default=0, help="megabytes in the log beforehand")
    parser.add_argument("--properties", type=Path, help="how a client comes in, as JSON")
    parser.add_argument("--pids", type=int, nargs="*", default=[], help="whose memory is measured")
    return parser.parse_args()


if __name__ == "__main__":
    given = arguments()
    print(json.dumps(WORK[given.work](Reach.read(given.bootstrap, given.properties), given)))
