"""Transactions through librdkafka: what readers see, who is fenced, what is aborted for whom."""

import uuid
from collections.abc import Mapping
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from kio.schema.errors import ErrorCode

from support.confluent import SECONDS_MAX, poll_until, produce, read, take, wait_until
from support.wire import Connection
from system.clients.conftest import MakeTopic

COMMITTED = {"isolation.level": "read_committed"}
EVERYTHING = {"isolation.level": "read_uncommitted"}


@pytest.fixture
def name() -> str:
    return f"app-{uuid.uuid4().hex[:10]}"


def transactional(bootstrap: str, name: str, **config: Any) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": name,
            "log_level": 0,
            **{key.replace("_", "."): value for key, value in config.items()},
        }
    )
    producer.init_transactions(SECONDS_MAX)
    return producer


def send(producer: Producer, topic: str, *values: bytes, partition: int = 0) -> None:
    """Delivered, whatever becomes of the transaction."""
    for value in values:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(SECONDS_MAX) == 0


def in_transaction(producer: Producer, topic: str, *values: bytes) -> None:
    producer.begin_transaction()
    send(producer, topic, *values)


def values(messages: list[Message]) -> list[bytes | None]:
    return [message.value() for message in messages]


def behind(message: Message) -> int:
    offset = message.offset()
    assert offset is not None
    return offset + 1


def seen(bootstrap: str, topic: str, count: int, config: Mapping[str, str]) -> list[bytes | None]:
    """The first `count` values, and that there are no more."""
    messages = read(bootstrap, topic, count, config=config)
    after = behind(messages[-1]) if messages else 0
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "rest", **config})
    consumer.assign([TopicPartition(topic, 0, after)])
    assert consumer.poll(0.7) is None
    consumer.close()
    return values(messages)


def end_offset(bootstrap: str, topic: str, level: int) -> int:
    """What ListOffsets calls the latest: the high watermark (0) or the last stable offset (1)."""
    place = {"partition_index": 0, "timestamp": -1, "current_leader_epoch": -1}
    with Connection(bootstrap) as connection:
        reply = connection.ask(
            "list_offsets",
            5,
            replica_id=-1,
            isolation_level=level,
            topics=[{"name": topic, "partitions": [place]}],
        )
    return int(reply.topics[0].partitions[0].offset)


def test_committed_is_seen_aborted_is_not(bootstrap: str, topic: str, name: str) -> None:
    producer = transactional(bootstrap, name)
    in_transaction(producer, topic, b"a", b"b")
    producer.commit_transaction(SECONDS_MAX)
    in_transaction(producer, topic, b"no")
    producer.abort_transaction(SECONDS_MAX)
    in_transaction(producer, topic, b"c")
    producer.commit_transaction(SECONDS_MAX)
    assert seen(bootstrap, topic, 3, COMMITTED) == [b"a", b"b", b"c"]
    assert seen(bootstrap, topic, 4, EVERYTHING) == [b"a", b"b", b"no", b"c"]


def test_nothing_is_seen_before_the_commit(bootstrap: str, topic: str, name: str) -> None:
    producer = transactional(bootstrap, name)
    in_transaction(producer, topic, b"a", b"b")
    produce(bootstrap, topic, [b"plain"])
    assert seen(bootstrap, topic, 0, COMMITTED) == []  # also not what others wrote after it
    assert (end_offset(bootstrap, topic, 1), end_offset(bootstrap, topic, 0)) == (0, 3)
    producer.commit_transaction(SECONDS_MAX)
    assert seen(bootstrap, topic, 3, COMMITTED) == [b"a", b"b", b"plain"]
    assert (end_offset(bootstrap, topic, 1), end_offset(bootstrap, topic, 0)) == (4, 4)


def test_transactions_of_two_producers_in_one_partition(
    bootstrap: str, topic: str, name: str
) -> None:
    one, two = transactional(bootstrap, name), transactional(bootstrap, f"{name}-2")
    in_transaction(one, topic, b"one")
    in_transaction(two, topic, b"two")
    send(one, topic, b"one again")
    two.commit_transaction(SECONDS_MAX)
    assert seen(bootstrap, topic, 0, COMMITTED) == []  # the older one is still open
    one.abort_transaction(SECONDS_MAX)
    assert seen(bootstrap, topic, 1, COMMITTED) == [b"two"]


def test_many_partitions_end_together(bootstrap: str, make_topic: MakeTopic, name: str) -> None:
    topics = [make_topic(partitions=4), make_topic(partitions=4)]
    places = [(topic, partition) for topic in topics for partition in range(4)]
    producer = transactional(bootstrap, name)
    for word, end in ((b"no", producer.abort_transaction), (b"yes", producer.commit_transaction)):
        producer.begin_transaction()
        for topic, partition in places:
            producer.produce(topic, word, partition=partition)
        end(SECONDS_MAX)
    for topic, partition in places:
        messages = read(bootstrap, topic, 1, partition=partition, config=COMMITTED)
        assert values(messages) == [b"yes"]


def committed_offset(bootstrap: str, group: str, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    [place] = consumer.committed([TopicPartition(topic, 0)], timeout=SECONDS_MAX)
    consumer.close()
    return int(place.offset)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_offsets_move_with_the_transaction(
    bootstrap: str, make_topic: MakeTopic, group: str, name: str, protocol: str
) -> None:
    source, target = make_topic(), make_topic()
    produce(bootstrap, source, [b"%d" % n for n in range(10)])
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([source])
    producer = transactional(bootstrap, name)
    for end in (producer.abort_transaction, producer.commit_transaction):
        messages = take(consumer, 5)
        in_transaction(producer, target, *((m.value() or b"") * 2 for m in messages))
        where = [TopicPartition(source, 0, behind(messages[-1]))]
        producer.send_offsets_to_transaction(where, consumer.consumer_group_metadata(), SECONDS_MAX)
        end(SECONDS_MAX)
        expected = 5 if end == producer.commit_transaction else -1001
        assert committed_offset(bootstrap, group, source) == expected
        consumer.seek(TopicPartition(source, 0, 0))
    consumer.close()
    assert values(read(bootstrap, target, 5, config=COMMITTED)) == [b"%d" % n * 2 for n in range(5)]


def test_offsets_of_a_member_that_was_replaced_are_refused(
    bootstrap: str, make_topic: MakeTopic, group: str, name: str
) -> None:
    source, target = make_topic(), make_topic()
    config = {"bootstrap.servers": bootstrap, "group.id": group, "session.timeout.ms": 6000}
    zombie = Consumer(config)
    zombie.subscribe([source])
    poll_until(lambda: len(zombie.assignment()) == 1, zombie)
    old = zombie.consumer_group_metadata()
    zombie.close()
    heir = Consumer(config)
    heir.subscribe([source])
    poll_until(lambda: len(heir.assignment()) == 1, heir)
    producer = transactional(bootstrap, name)
    in_transaction(producer, target, b"late")
    with pytest.raises(KafkaException) as caught:
        producer.send_offsets_to_transaction([TopicPartition(source, 0, 7)], old, SECONDS_MAX)
    assert caught.value.args[0].txn_requires_abort()
    producer.abort_transaction(SECONDS_MAX)
    heir.close()
    assert committed_offset(bootstrap, group, source) == -1001


def test_a_second_producer_of_the_same_name_fences_the_first(
    bootstrap: str, topic: str, name: str
) -> None:
    zombie = transactional(bootstrap, name)
    in_transaction(zombie, topic, b"zombie's")
    heir = transactional(bootstrap, name)
    in_transaction(heir, topic, b"heir's")
    heir.commit_transaction(SECONDS_MAX)
    with pytest.raises(KafkaException) as caught:
        zombie.commit_transaction(SECONDS_MAX)
    assert caught.value.args[0].code() in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH)
    assert caught.value.args[0].fatal()
    assert seen(bootstrap, topic, 1, COMMITTED) == [b"heir's"]


def test_a_transaction_left_open_is_aborted_when_its_time_is_up(
    bootstrap: str, topic: str, name: str
) -> None:
    producer = transactional(bootstrap, name, transaction_timeout_ms=1000)
    in_transaction(producer, topic, b"forgotten")
    produce(bootstrap, topic, [b"plain"])
    assert values(read(bootstrap, topic, 1, config=COMMITTED)) == [b"plain"]  # once it is aborted
    with pytest.raises(KafkaException) as caught:
        producer.commit_transaction(SECONDS_MAX)
    assert caught.value.args[0].fatal() or caught.value.args[0].txn_requires_abort()
    assert state_of(bootstrap, name).transaction_state == "CompleteAbort"


def state_of(bootstrap: str, name: str) -> Any:
    with Connection(bootstrap) as connection:
        [state] = connection.ask(
            "describe_transactions", 0, transactional_ids=[name]
        ).transaction_states
    return state


def test_open_and_ended_transactions_are_described_and_listed(
    bootstrap: str, topic: str, name: str
) -> None:
    producer = transactional(bootstrap, name, transaction_timeout_ms=45_000)
    in_transaction(producer, topic, b"open")
    state = state_of(bootstrap, name)
    assert (state.error_code, state.transaction_state) == (ErrorCode.none, "Ongoing")
    assert state.transaction_timeout.total_seconds() == 45
    assert [(each.topic, each.partitions) for each in state.topics] == [(topic, (0,))]
    with Connection(bootstrap) as connection:

        def listed(*states: str) -> set[str]:
            reply = connection.ask("list_transactions", 0, state_filters=states)
            return {each.transactional_id for each in reply.transaction_states}

        assert name in listed() & listed("Ongoing")
        assert name not in listed("CompleteCommit", "CompleteAbort")
        producers = connection.ask(
            "describe_producers", 0, topics=[{"name": topic, "partition_indexes": (0,)}]
        )
        [place] = producers.topics[0].partitions
        [active] = [p for p in place.active_producers if p.producer_id == state.producer_id]
        assert active.current_txn_start_offset == 0
        producer.commit_transaction(SECONDS_MAX)
        wait_until(lambda: name in listed("CompleteCommit"))
        missing = connection.ask("describe_transactions", 0, transactional_ids=["nobody's"])
        assert missing.transaction_states[0].error_code == ErrorCode.transactional_id_not_found


def test_a_topic_deleted_during_a_transaction_does_not_hold_it_up(
    bootstrap: str, make_topic: MakeTopic, admin: AdminClient, name: str
) -> None:
    kept, deleted = make_topic(), make_topic()
    producer = transactional(bootstrap, name)
    in_transaction(producer, kept, b"kept")
    send(producer, deleted, b"gone")
    admin.delete_topics([deleted])[deleted].result(SECONDS_MAX)
    producer.commit_transaction(SECONDS_MAX)
    in_transaction(producer, kept, b"next")
    producer.commit_transaction(SECONDS_MAX)
    assert seen(bootstrap, kept, 2, COMMITTED) == [b"kept", b"next"]
