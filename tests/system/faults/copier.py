"""A process that copies one topic to another through transactions, until it is killed or fenced.

python copier.py BOOTSTRAP SOURCE TARGET NAME
"""

import signal
import sys
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

RECORDS_PER_TRANSACTION = 50
TIMEOUT_S = 3.0
STUCK_S = 4.0
"""librdkafka 2.16 may wait for ever for a coordinator that came back: the process ends itself."""
FENCED = (KafkaError._FATAL, KafkaError.FENCED_INSTANCE_ID)
"""Errors that come as messages do not say of themselves that they are fatal."""
QUICK = {"reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 100, "log_level": 0}


def main(bootstrap: str, source: str, target: str, name: str) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "copiers",
            "group.instance.id": name,  # comes back to its partitions without a time-out
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 500,
            **QUICK,
        }
    )
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": name,
            "transaction.timeout.ms": 10_000,
            "retry.backoff.ms": 20,
            **QUICK,
        }
    )
    consumer.subscribe([source])
    signal.setitimer(signal.ITIMER_REAL, 3 * STUCK_S)
    insist(producer.init_transactions)
    print("has the name", flush=True)
    while True:
        signal.setitimer(signal.ITIMER_REAL, STUCK_S)
        messages = consumer.consume(RECORDS_PER_TRANSACTION, 0.1)
        errors = [error for message in messages if (error := message.error())]
        if any(error.fatal() or error.code() in FENCED for error in errors):
            sys.exit(f"fenced: {errors}")
        if len(messages) > len(errors):
            copy([m for m in messages if not m.error()], consumer, producer, target)


def copy(messages: list[Message], consumer: Consumer, producer: Producer, target: str) -> None:
    producer.begin_transaction()
    last: dict[tuple[str, int], int] = {}
    for message in messages:
        source, partition, offset = message.topic(), message.partition(), message.offset()
        assert source is not None
        assert partition is not None
        assert offset is not None
        producer.produce(target, message.value(), key=message.key(), partition=partition)
        last[source, partition] = offset + 1
    offsets = [TopicPartition(topic, partition, at) for (topic, partition), at in last.items()]
    try:
        insist(producer.send_offsets_to_transaction, offsets, consumer.consumer_group_metadata())
        insist(producer.commit_transaction)
    except KafkaException as error:
        if not error.args[0].txn_requires_abort():
            raise
        insist(producer.abort_transaction)
        rewind(consumer)


def rewind(consumer: Consumer) -> None:
    """What was not copied is read once more."""
    for place in consumer.committed(consumer.assignment(), timeout=60):
        consumer.seek(TopicPartition(place.topic, place.partition, max(place.offset, 0)))


def insist(call: Any, *arguments: Any) -> None:
    while True:
        try:
            call(*arguments, TIMEOUT_S)
            return
        except KafkaException as error:
            if not error.args[0].retriable():
                raise


if __name__ == "__main__":
    main(*sys.argv[1:])
