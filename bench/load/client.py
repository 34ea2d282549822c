"""One client of a load, a process of its own: says `ready`, works, prints one JSON value.

What goes on until somebody has had enough reads a line from standard input for that.
"""

import argparse
import json
import os
import random
import select
import sys
import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from bench.client import FAST_CONSUMER

WINDOW_BYTES = 4_000_000  # of the writer's records that are not acknowledged yet
TICK_S = 0.005


def ready() -> None:
    print("ready", flush=True)


def enough() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def acks(given: argparse.Namespace) -> list[tuple[float, float]]:
    """One record after the other, a pause between: when each was sent, and how long its
    acknowledgement took."""
    config = {"bootstrap.servers": given.bootstrap, "acks": "all", "linger.ms": 0}
    producer = Producer(config)
    value = os.urandom(given.size)
    producer.produce(given.topic, value)
    producer.flush()
    ready()
    times = []
    while not enough():
        wall, began = time.time(), time.perf_counter()
        producer.produce(given.topic, value)
        producer.flush()
        times.append((wall, time.perf_counter() - began))
        time.sleep(given.pause)
    return times


def read(given: argparse.Namespace) -> tuple[float, float]:
    """A partition from its beginning: when it began and ended."""
    consumer = Consumer({"bootstrap.servers": given.bootstrap, "group.id": "old", **FAST_CONSUMER})
    ready()
    left, began = int(given.count), time.time()
    last = began
    consumer.assign([TopicPartition(given.topic, 0, 0)])
    while left > 0:
        if messages := consumer.consume(10_000, 0.02):
            left -= len(messages)
            last = time.time()
        assert time.time() - last < 60, f"{left} records did not come"
    consumer.close()
    return began, last


def write(given: argparse.Namespace) -> list[float]:
    """Records over many keys, at a steady pace: how long each acknowledgement took."""
    producer = Producer(
        {
            "bootstrap.servers": given.bootstrap,
            "acks": "all",
            "linger.ms": 1,
            "batch.size": 1_000_000,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    chance = random.Random(1)
    value = os.urandom(int(given.size))
    times: list[float] = []

    def acknowledged(began: float) -> Callable[[KafkaError | None, Message], None]:
        def note(error: KafkaError | None, _: Message) -> None:
            assert error is None, error
            times.append(time.perf_counter() - began)

        return note

    ready()
    began, sent, count = time.perf_counter(), 0, int(given.count)
    while sent < count:
        due = min(count, int((time.perf_counter() - began) * given.rate / given.size))
        now = time.perf_counter()
        note = acknowledged(now)
        while sent < due and (sent - len(times)) * given.size < WINDOW_BYTES:
            key = b"%012d" % chance.randrange(int(given.keys))
            producer.produce(given.topic, value, key, on_delivery=note)
            sent += 1
        producer.poll(TICK_S)
    assert producer.flush(120) == 0, "not everything was acknowledged"
    return times


WORK: dict[str, Callable[[argparse.Namespace], Any]] = {
    work.__name__: work for work in (acks, read, write)
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", choices=WORK)
    parser.add_argument("bootstrap")
    parser.add_argument("topic")
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--rate", type=float, default=40e6, help="bytes a second")
    parser.add_argument("--pause", type=float, default=0.001, help="seconds between records")
    return parser.parse_args()


if __name__ == "__main__":
    given = arguments()
    print(json.dumps(WORK[given.work](given)))
