"""kafka-python: the pure Python client."""

from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.errors import TopicAlreadyExistsError
from kafka.structs import OffsetAndMetadata


def consumer_of(bootstrap: str, *topics: str, **config: Any) -> KafkaConsumer:
    return KafkaConsumer(
        *topics,
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=15_000,
        **config,
    )


@pytest.mark.parametrize("codec", [None, "gzip"])  # the others need packages beside it
def test_records_come_back(bootstrap: str, topic: str, codec: str | None) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, compression_type=codec, linger_ms=20)
    futures = [
        producer.send(topic, b"value %d" % n * 10, key=b"k", headers=[("h", b"1")])
        for n in range(100)
    ]
    producer.close()
    assert [future.get(15).offset for future in futures] == list(range(100))
    consumer = consumer_of(bootstrap, topic)
    records = [next(consumer) for _ in range(100)]
    consumer.close()
    assert [r.value for r in records] == [b"value %d" % n * 10 for n in range(100)]
    assert all(r.key == b"k" and list(r.headers) == [("h", b"1")] for r in records)


def test_a_group_goes_on_where_it_committed(bootstrap: str, topic: str, group: str) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for n in range(10):
        producer.send(topic, b"%d" % n)
    producer.close()
    place = TopicPartition(topic, 0)
    consumer = consumer_of(bootstrap, topic, group_id=group)
    assert [next(consumer).offset for _ in range(6)] == list(range(6))
    consumer.commit({place: OffsetAndMetadata(6, "six", -1)})
    consumer.close()
    consumer = consumer_of(bootstrap, topic, group_id=group)
    assert [next(consumer).offset for _ in range(4)] == [6, 7, 8, 9]
    assert consumer.committed(place) == 6
    assert consumer.end_offsets([place]) == {place: 10}
    assert consumer.beginning_offsets([place]) == {place: 0}
    consumer.close()


def test_the_admin_client_makes_lists_and_deletes_topics(bootstrap: str, group: str) -> None:
    name = f"kp-{group}"
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(name, num_partitions=3, replication_factor=1)])
    assert name in admin.list_topics()
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics([NewTopic(name, num_partitions=3, replication_factor=1)])
    admin.delete_topics([name])
    admin.close()
