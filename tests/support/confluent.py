"""Small steps with confluent-kafka that many tests share."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

SECONDS_MAX = 30

# A lambda that binds the variable of a loop has a parameter: `lambda n=n: …`.
Condition = Callable[..., bool]


def create_topic(
    bootstrap: str,
    name: str,
    partitions: int = 1,
    config: Mapping[str, str] | None = None,
    replicas: int = 1,
) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    topic = NewTopic(name, partitions, replicas, config=dict(config or {}))
    admin.create_topics([topic])[name].result(SECONDS_MAX)
    wait_until(lambda: is_led(admin, name, partitions))


def is_led(admin: AdminClient, name: str, partitions: int) -> bool:
    """The controller's word reaches the broker a moment later: only then is a topic usable."""
    places = admin.list_topics(name, timeout=SECONDS_MAX).topics[name].partitions
    return len(places) == partitions and all(place.leader >= 0 for place in places.values())


def produce(
    bootstrap: str,
    topic: str,
    values: Iterable[bytes],
    *,
    partition: int = 0,
    config: Mapping[str, Any] | None = None,
) -> list[int | None]:
    """Produce the values in order to one partition; the offsets they were given, if with acks."""
    offsets: list[int | None] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        offsets.append(message.offset())

    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, **(config or {})})
    for value in values:
        producer.produce(topic, value, partition=partition, on_delivery=delivered)
        producer.poll(0)
    assert producer.flush(SECONDS_MAX) == 0, "not everything was delivered in time"
    return offsets


def read(
    bootstrap: str,
    topic: str,
    count: int,
    *,
    partition: int = 0,
    start: int = 0,
    config: Mapping[str, Any] | None = None,
) -> list[Message]:
    """`count` messages of one partition from an offset on, without a group."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reads-without-committing",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            **(config or {}),
        }
    )
    consumer.assign([TopicPartition(topic, partition, start)])
    try:
        return take(consumer, count)
    finally:
        consumer.close()


def take(consumer: Consumer, count: int, seconds: float = SECONDS_MAX) -> list[Message]:
    """The next `count` messages; an error in place of a message fails the test."""
    messages: list[Message] = []
    deadline = time.monotonic() + seconds
    while len(messages) < count:
        assert time.monotonic() < deadline, f"{len(messages)} of {count} messages came"
        message = consumer.poll(0.5)
        if message is not None:
            assert message.error() is None, message.error()
            messages.append(message)
    return messages


def poll_until(
    condition: Condition, *consumers: Consumer, seconds: float = SECONDS_MAX
) -> list[Message]:
    """Poll the consumers in turn until the condition holds; the messages that came meanwhile."""
    messages: list[Message] = []
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        for consumer in consumers:
            message = consumer.poll(0.05)
            if message is not None and message.error() is None:
                messages.append(message)
    return messages


def close_together(consumers: list[Consumer]) -> None:
    """All give up what they hold before any is closed. One by one, each would wait for a rebalance
    in which those that are not polled take part; and a client that is told of a rebalance while it
    closes may wait for itself for ever, with Python's lock in its hand."""
    for consumer in consumers:
        consumer.unsubscribe()
    poll_until(lambda: not any(consumer.assignment() for consumer in consumers), *consumers)
    for consumer in consumers:
        consumer.close()


def wait_until(condition: Condition, seconds: float = SECONDS_MAX) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.02)
