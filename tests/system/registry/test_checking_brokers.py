"""A broker that knows a registry takes what confluent-kafka's serializers wrote, and no more."""

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from ottla.testing import Node, Registry


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    with Registry() as started:
        yield started


@pytest.fixture(scope="module")
def checking(registry: Registry) -> Iterator[Node]:
    with Node(settings={"confluent.schema.registry.url": registry.url}) as node:
        yield node


def test_a_topic_with_validation_takes_what_bears_an_id_of_its_subject(
    registry: Registry, checking: Node
) -> None:
    at: dict[str, Any] = {"bootstrap.servers": checking.bootstrap_servers}
    asked = {"confluent.value.schema.validation": "true"}
    admin = AdminClient(at)
    made = admin.create_topics([NewTopic("orders", 1, config=asked), NewTopic("free", 1)])
    for one in made.values():
        one.result(30)
    outcomes: list[int | None] = []

    def told(error: KafkaError | None, _: object) -> None:
        outcomes.append(None if error is None else error.code())

    producer = Producer({**at, "linger.ms": 0, "enable.idempotence": True})
    client = SchemaRegistryClient({"url": registry.url})
    ours = AvroSerializer(client, '"string"')(
        "fits", SerializationContext("orders", MessageField.VALUE)
    )
    theirs = AvroSerializer(client, '"long"')(7, SerializationContext("others", MessageField.VALUE))
    refused = KafkaError.INVALID_RECORD
    for topic, value, expected in (
        ("orders", None, None),
        ("orders", ours, None),
        ("orders", theirs, refused),
        ("orders", b"plain", refused),
        ("orders", ours, None),
        ("free", b"plain", None),
    ):
        producer.produce(topic, value, on_delivery=told)
        assert producer.flush(30) == 0
        assert outcomes.pop() == expected
