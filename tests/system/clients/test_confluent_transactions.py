"""Transactions through librdkafka: whole or not at all, zombies fenced, copies exactly once."""

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from support.confluent import SECONDS_MAX, produce, read, take
from system.clients.conftest import MakeTopic

COMMITTED = {"isolation.level": "read_committed"}
EVERYTHING = {"isolation.level": "read_uncommitted"}


def transactional(bootstrap: str, name: str) -> Producer:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
    producer.init_transactions(SECONDS_MAX)
    return producer


def test_a_transaction_is_visible_whole_or_not_at_all(
    bootstrap: str, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=2)
    producer = transactional(bootstrap, topic)
    for value, finish in ((b"aborted", "abort"), (b"committed", "commit")):
        producer.begin_transaction()
        for partition in (0, 1):
            producer.produce(topic, value, partition=partition)
        assert producer.flush(SECONDS_MAX) == 0
        getattr(producer, f"{finish}_transaction")(SECONDS_MAX)
    for partition in (0, 1):
        [seen] = read(bootstrap, topic, 1, partition=partition, config=COMMITTED)
        assert (seen.value(), seen.offset()) == (b"committed", 2)  # 1 is the abort's marker
        everything = read(bootstrap, topic, 2, partition=partition, config=EVERYTHING)
        assert [m.value() for m in everything] == [b"aborted", b"committed"]


def test_an_open_transaction_holds_back_what_comes_after_it(bootstrap: str, topic: str) -> None:
    producer = transactional(bootstrap, topic)
    producer.begin_transaction()
    producer.produce(topic, b"open")
    assert producer.flush(SECONDS_MAX) == 0
    produce(bootstrap, topic, [b"plain"])
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": topic, **COMMITTED})
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert consumer.poll(1) is None
    producer.commit_transaction(SECONDS_MAX)
    assert [m.value() for m in take(consumer, 2)] == [b"open", b"plain"]
    consumer.close()


def test_a_zombie_is_fenced_by_its_successor(bootstrap: str, topic: str) -> None:
    zombie = transactional(bootstrap, topic)
    zombie.begin_transaction()
    zombie.produce(topic, b"late")
    assert zombie.flush(SECONDS_MAX) == 0
    successor = transactional(bootstrap, topic)
    with pytest.raises(KafkaException) as refused:
        zombie.commit_transaction(SECONDS_MAX)
    assert refused.value.args[0].code() in (
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
    )
    successor.begin_transaction()
    successor.produce(topic, b"new")
    successor.commit_transaction(SECONDS_MAX)
    assert [m.value() for m in read(bootstrap, topic, 1, config=COMMITTED)] == [b"new"]


def test_consume_transform_produce_moves_offsets_and_records_together(
    bootstrap: str, make_topic: MakeTopic, group: str
) -> None:
    source, target = make_topic(), make_topic()
    produce(bootstrap, source, [b"%d" % n for n in range(20)])
    producer = transactional(bootstrap, group)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([source])

    def copy(count: int) -> None:
        producer.begin_transaction()
        for message in take(consumer, count):
            producer.produce(target, (message.value() or b"") + b"!")
        positions = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(
            positions, consumer.consumer_group_metadata(), SECONDS_MAX
        )

    copy(10)
    producer.commit_transaction(SECONDS_MAX)
    copy(5)
    producer.abort_transaction(SECONDS_MAX)
    [place] = consumer.committed([TopicPartition(source, 0)], timeout=SECONDS_MAX)
    assert place.offset == 10
    consumer.seek(place)
    copy(10)
    producer.commit_transaction(SECONDS_MAX)
    consumer.close()
    copied = read(bootstrap, target, 20, config=COMMITTED)
    assert [m.value() for m in copied] == [b"%d!" % n for n in range(20)]
