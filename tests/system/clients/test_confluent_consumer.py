"""librdkafka's consumer without a group's rebalancing: positions, resets, seeks, time."""

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    Message,
    Producer,
    TopicPartition,
)

from support.confluent import SECONDS_MAX, poll_until, produce, read, take
from system.clients.conftest import MakeTopic


def consumer_of(bootstrap: str, group: str, **config: object) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            **{name.replace("_", "."): value for name, value in config.items()},
        }
    )


def polled(consumer: Consumer) -> Message:
    """The next message, or what comes in place of one."""
    message = consumer.poll(SECONDS_MAX)
    assert message is not None
    return message


def code_of(message: Message) -> int:
    error = message.error()
    assert error is not None
    return error.code()


def test_reading_starts_at_the_offset_asked_for(bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, [b"%d" % n for n in range(100)], config={"batch.num.messages": 7})
    messages = read(bootstrap, topic, 60, start=40)
    assert [(m.offset(), m.value()) for m in messages] == [(n, b"%d" % n) for n in range(40, 100)]


def test_the_end_of_a_partition_is_reported_once_each_time(
    bootstrap: str, topic: str, group: str
) -> None:
    produce(bootstrap, topic, [b"a", b"b"])
    consumer = consumer_of(bootstrap, group, enable_partition_eof=True)
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    seen: list[object] = []
    while len(seen) < 3:
        message = polled(consumer)
        error = message.error()
        seen.append((error.code(), message.offset()) if error else message.value())
    assert seen == [b"a", b"b", (KafkaError._PARTITION_EOF, 2)]
    produce(bootstrap, topic, [b"c"])
    assert polled(consumer).value() == b"c"
    assert code_of(polled(consumer)) == KafkaError._PARTITION_EOF
    consumer.close()


def test_watermarks_tell_where_the_log_begins_and_ends(bootstrap: str, topic: str) -> None:
    consumer = consumer_of(bootstrap, "any")
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=SECONDS_MAX) == (0, 0)
    produce(bootstrap, topic, [b"v"] * 10)
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=SECONDS_MAX) == (0, 10)
    consumer.close()


@pytest.mark.parametrize(
    ("reset", "expected"), [("earliest", b"0"), ("smallest", b"0"), ("latest", b"new")]
)
def test_an_offset_out_of_range_is_reset_as_configured(
    bootstrap: str, topic: str, group: str, reset: str, expected: bytes
) -> None:
    produce(bootstrap, topic, [b"%d" % n for n in range(10)])
    consumer = consumer_of(bootstrap, group, auto_offset_reset=reset, enable_partition_eof=True)
    consumer.assign([TopicPartition(topic, 0, 1000)])
    message = polled(consumer)
    if message.error():
        assert code_of(message) == KafkaError._PARTITION_EOF
        produce(bootstrap, topic, [b"new"])
        message = polled(consumer)
    assert message.value() == expected
    consumer.close()


def test_an_offset_out_of_range_is_an_error_where_resets_are_off(
    bootstrap: str, topic: str, group: str
) -> None:
    produce(bootstrap, topic, [b"v"])
    consumer = consumer_of(bootstrap, group, auto_offset_reset="error")
    consumer.assign([TopicPartition(topic, 0, 1000)])
    message = polled(consumer)
    assert code_of(message) == KafkaError._AUTO_OFFSET_RESET
    consumer.close()


def test_seek_replays_from_any_offset(bootstrap: str, topic: str, group: str) -> None:
    produce(bootstrap, topic, [b"%d" % n for n in range(20)])
    consumer = consumer_of(bootstrap, group)
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    assert [m.offset() for m in take(consumer, 20)] == list(range(20))
    consumer.seek(TopicPartition(topic, 0, 5))
    assert [m.offset() for m in take(consumer, 15)] == list(range(5, 20))
    assert consumer.position([TopicPartition(topic, 0)])[0].offset == 20
    consumer.close()


def test_reading_from_the_end_waits_for_what_comes(bootstrap: str, topic: str, group: str) -> None:
    produce(bootstrap, topic, [b"old"] * 5)
    consumer = consumer_of(bootstrap, group, enable_partition_eof=True)
    consumer.assign([TopicPartition(topic, 0, OFFSET_END)])
    assert code_of(polled(consumer)) == KafkaError._PARTITION_EOF
    produce(bootstrap, topic, [b"new"])
    message = polled(consumer)
    assert (message.value(), message.offset()) == (b"new", 5)
    consumer.close()


def test_offsets_are_found_by_time(bootstrap: str, topic: str, group: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for n in range(10):
        producer.produce(topic, b"%d" % n, timestamp=1_700_000_000_000 + n * 1000)
        producer.flush(SECONDS_MAX)
    consumer = consumer_of(bootstrap, group)

    def at(timestamp: int) -> int:
        asked = [TopicPartition(topic, 0, timestamp)]
        return int(consumer.offsets_for_times(asked, timeout=SECONDS_MAX)[0].offset)

    assert at(1_700_000_000_000) == 0
    assert at(1_700_000_003_000) == 3
    assert at(1_700_000_003_001) == 4
    assert at(1) == 0
    assert at(1_800_000_000_000) == OFFSET_END
    consumer.close()


def test_pause_holds_one_partition_and_resume_goes_on(
    bootstrap: str, make_topic: MakeTopic, group: str
) -> None:
    topic = make_topic(partitions=2)
    for partition in (0, 1):
        produce(bootstrap, topic, [b"v"] * 3, partition=partition)
    consumer = consumer_of(bootstrap, group)
    paused = TopicPartition(topic, 1)
    consumer.assign([TopicPartition(topic, 0, 0), TopicPartition(topic, 1, 0)])
    consumer.pause([paused])
    assert {m.partition() for m in take(consumer, 3)} == {0}
    consumer.resume([paused])
    assert [m.partition() for m in take(consumer, 3)] == [1, 1, 1]
    consumer.close()


def test_small_fetches_still_deliver_large_records(bootstrap: str, topic: str, group: str) -> None:
    """A first batch beyond max.partition.fetch.bytes is sent all the same (KIP-74)."""
    values = [bytes([n]) * 200_000 for n in range(5)]
    produce(bootstrap, topic, values, config={"linger.ms": 0})
    small = {"fetch.message.max.bytes": 1000, "fetch.max.bytes": 1000, "message.max.bytes": 1000}
    assert [m.value() for m in read(bootstrap, topic, 5, config=small)] == values


def test_two_consumers_in_different_groups_both_read_all(
    bootstrap: str, topic: str, group: str
) -> None:
    produce(bootstrap, topic, [b"%d" % n for n in range(50)])
    for suffix in ("-a", "-b"):
        consumer = consumer_of(bootstrap, group + suffix, auto_offset_reset="earliest")
        consumer.subscribe([topic])
        assert [m.offset() for m in take(consumer, 50)] == list(range(50))
        consumer.close()


def test_a_topic_that_does_not_exist_is_named_in_the_error(bootstrap: str, group: str) -> None:
    consumer = consumer_of(bootstrap, group, allow_auto_create_topics=False)
    consumer.subscribe([f"absent-{group}"])
    errors: list[int] = []

    def an_error_came() -> bool:
        message = consumer.poll(1)
        if message is not None and (error := message.error()):
            errors.append(error.code())
        return bool(errors)

    poll_until(an_error_came)
    assert errors == [KafkaError.UNKNOWN_TOPIC_OR_PART]
    consumer.close()
