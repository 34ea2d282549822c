"""Members of the classic and the consumer protocol in one group, through confluent-kafka."""

import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupType
from confluent_kafka.admin import AdminClient, NewTopic

from support.brokers import Kind

PARTITIONS = 4


@pytest.fixture
def topic(bootstrap: str) -> str:
    name = f"protocols-{uuid.uuid4()}"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(10)
    return name


def member(bootstrap: str, topic: str, **options: Any) -> Consumer:
    settings = {name.replace("_", "."): value for name, value in options.items()}
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": topic, **settings})
    consumer.subscribe([topic])
    return consumer


def until(content: Callable[[], bool], *consumers: Consumer) -> None:
    deadline = time.monotonic() + 40
    while not content():
        assert time.monotonic() < deadline, [len(c.assignment()) for c in consumers]
        for consumer in consumers:
            consumer.poll(0.05)


def share(*consumers: Consumer) -> Callable[[], bool]:
    """Everyone has the same number of partitions."""
    each = PARTITIONS // len(consumers)
    return lambda: all(len(consumer.assignment()) == each for consumer in consumers)


def kind_of(bootstrap: str, group: str) -> ConsumerGroupType:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    listed = admin.list_consumer_groups().result(10).valid
    kind: ConsumerGroupType = next(one.type for one in listed if one.group_id == group)
    return kind


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_group_is_upgraded_and_downgraded_while_it_reads(
    bootstrap: str, broker_kind: Kind, topic: str, strategy: str
) -> None:
    if (broker_kind, strategy) == ("kafka", "cooperative-sticky"):
        pytest.skip("Apache Kafka 4.3.1 and this client do not settle")
    old = member(bootstrap, topic, partition_assignment_strategy=strategy)
    until(share(old), old)
    new = member(bootstrap, topic, group_protocol="consumer")
    until(share(old, new), old, new)
    assert kind_of(bootstrap, topic) is ConsumerGroupType.CONSUMER
    new.close()
    until(share(old), old)
    assert kind_of(bootstrap, topic) is ConsumerGroupType.CLASSIC
    new = member(bootstrap, topic, group_protocol="consumer")
    until(share(old, new), old, new)
    old.close()
    until(share(new), new)
    new.close()


def test_a_static_member_of_the_consumer_protocol_comes_back_to_what_it_had(
    bootstrap: str, topic: str
) -> None:
    def instance() -> Consumer:
        return member(bootstrap, topic, group_protocol="consumer", group_instance_id="one")

    other = member(bootstrap, topic, group_protocol="consumer")
    static = instance()
    until(share(static, other), static, other)
    had = {part.partition for part in static.assignment()}
    static.close()
    static = instance()
    until(share(static, other), static, other)
    assert {part.partition for part in static.assignment()} == had
    static.close()
    other.close()
