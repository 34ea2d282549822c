"""Swaps with transactions: finished ones are read rightly, an open one is held back, then ended."""

import pytest
from confluent_kafka import Producer

from support.brokers import Kind
from support.confluent import SECONDS_MAX, create_topic, read

pytestmark = [pytest.mark.java, pytest.mark.timeout(240)]

COMMITTED = {"isolation.level": "read_committed"}
EVERYTHING = {"isolation.level": "read_uncommitted"}


def transactional(bootstrap: str) -> Producer:
    producer = Producer(
        {"bootstrap.servers": bootstrap, "transactional.id": "the-one", "log_level": 0}
    )
    producer.init_transactions(SECONDS_MAX)
    return producer


def in_transaction(producer: Producer, value: bytes) -> None:
    producer.begin_transaction()
    producer.produce("t", value)
    assert producer.flush(SECONDS_MAX) == 0


@pytest.mark.parametrize("kafka_first", [False, True], ids=["from-ottla", "from-kafka"])
def test_a_transaction_open_at_a_kill_is_aborted_by_its_successor(
    turn, broker_kind: Kind, other_kind: Kind, kafka_first: bool
) -> None:
    first, second = (other_kind, broker_kind) if kafka_first else (broker_kind, other_kind)
    broker = turn(first)
    create_topic(broker.bootstrap, "t")
    producer = transactional(broker.bootstrap)
    in_transaction(producer, b"committed")
    producer.commit_transaction(SECONDS_MAX)
    in_transaction(producer, b"aborted")
    producer.abort_transaction(SECONDS_MAX)
    in_transaction(producer, b"left open")
    broker.kill9()

    broker = turn(second)
    everything = [b"committed", b"aborted", b"left open"]
    assert [m.value() for m in read(broker.bootstrap, "t", 3, config=EVERYTHING)] == everything
    producer = transactional(broker.bootstrap)  # fences the first and aborts what it left open
    in_transaction(producer, b"after")
    producer.commit_transaction(SECONDS_MAX)
    stable = [b"committed", b"after"]
    assert [m.value() for m in read(broker.bootstrap, "t", 2, config=COMMITTED)] == stable
    broker.stop()

    broker = turn(first)
    assert [m.value() for m in read(broker.bootstrap, "t", 2, config=COMMITTED)] == stable
    assert [m.value() for m in read(broker.bootstrap, "t", 4, config=EVERYTHING)] == [
        *everything,
        b"after",
    ]
    broker.stop()
