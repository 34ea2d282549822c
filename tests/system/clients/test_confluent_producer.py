"""librdkafka's producer: offsets, order, codecs, headers, timestamps, refusals."""

import time

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from support.confluent import SECONDS_MAX, produce, read
from system.clients.conftest import MakeTopic

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def test_offsets_are_given_in_order_from_zero(bootstrap: str, topic: str) -> None:
    values = [b"%d" % n for n in range(1000)]
    assert produce(bootstrap, topic, values) == list(range(1000))
    assert [m.value() for m in read(bootstrap, topic, 1000)] == values


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_comes_back_as_it_went_in(bootstrap: str, topic: str, codec: str) -> None:
    values = [b"value %d " % n * 20 for n in range(500)]
    produce(bootstrap, topic, values, config={"compression.codec": codec, "linger.ms": 50})
    assert [m.value() for m in read(bootstrap, topic, 500)] == values


@pytest.mark.parametrize("codec", CODECS[1:])
def test_a_topic_with_its_own_codec_recompresses(
    bootstrap: str, make_topic: MakeTopic, codec: str
) -> None:
    topic = make_topic(config={"compression.type": codec})
    values = [b"value %d " % n * 20 for n in range(200)]
    assert produce(bootstrap, topic, values, config={"linger.ms": 50}) == list(range(200))
    assert [m.value() for m in read(bootstrap, topic, 200)] == values


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_level_of_acknowledgement_stores_the_records(
    bootstrap: str, topic: str, acks: str
) -> None:
    values = [b"a", b"b", b"c"]
    produce(bootstrap, topic, values, config={"acks": acks})
    assert [m.value() for m in read(bootstrap, topic, 3)] == values


def test_key_headers_and_timestamp_survive(bootstrap: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    headers: list[tuple[str, str | bytes | None]] = [
        ("a", b"1"),
        ("a", b"2"),
        ("empty", b""),
        ("null", None),
    ]
    producer.produce(topic, b"v", key=b"k", headers=headers, timestamp=1_600_000_000_123)
    producer.produce(topic, None, key=b"tombstone")
    producer.produce(topic, b"", key=b"")
    assert producer.flush(SECONDS_MAX) == 0
    first, tombstone, empty = read(bootstrap, topic, 3)
    assert (first.key(), first.value()) == (b"k", b"v")
    assert first.headers() == headers
    assert first.timestamp() == (1, 1_600_000_000_123)  # 1: CreateTime
    assert (tombstone.key(), tombstone.value()) == (b"tombstone", None)
    assert (empty.key(), empty.value()) == (b"", b"")


def test_log_append_time_replaces_the_producers_timestamp(
    bootstrap: str, make_topic: MakeTopic
) -> None:
    topic = make_topic(config={"message.timestamp.type": "LogAppendTime"})
    before = time.time() * 1000 - 1
    reported: list[tuple[int, int]] = []
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(
        topic,
        b"v",
        timestamp=1,
        on_delivery=lambda _, message: reported.append(message.timestamp()),
    )
    producer.flush(SECONDS_MAX)
    [message] = read(bootstrap, topic, 1)
    kind, timestamp = message.timestamp()
    assert kind == 2  # LogAppendTime
    assert before <= timestamp <= time.time() * 1000 + 1
    assert reported == [(2, timestamp)]


def test_keys_choose_partitions_and_keep_order_within_them(
    bootstrap: str, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=3)
    places: dict[bytes | None, set[int | None]] = {}

    def delivered(error: KafkaError | None, message: Message) -> None:
        assert error is None
        places.setdefault(message.key(), set()).add(message.partition())

    producer = Producer({"bootstrap.servers": bootstrap})
    for n in range(300):
        producer.produce(topic, b"%d" % n, key=b"key-%d" % (n % 30), on_delivery=delivered)
    assert producer.flush(SECONDS_MAX) == 0
    assert all(len(partitions) == 1 for partitions in places.values())
    assert set.union(*places.values()) == {0, 1, 2}


def test_an_idempotent_producer_writes_each_record_once(bootstrap: str, topic: str) -> None:
    config = {"enable.idempotence": True, "linger.ms": 0, "batch.num.messages": 10}
    values = [b"%d" % n for n in range(5000)]
    assert produce(bootstrap, topic, values, config=config) == list(range(5000))
    assert [m.value() for m in read(bootstrap, topic, 5000)] == values


def test_a_record_above_the_topics_limit_is_refused(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(config={"max.message.bytes": "2000"})
    errors: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    producer.produce(topic, b"x" * 4000, on_delivery=lambda error, _: errors.append(error))
    producer.flush(SECONDS_MAX)
    assert [error.code() for error in errors if error] == [KafkaError.MSG_SIZE_TOO_LARGE]
    assert produce(bootstrap, topic, [b"small"]) == [0]


def test_a_compacted_topic_refuses_a_record_without_a_key(
    bootstrap: str, make_topic: MakeTopic
) -> None:
    topic = make_topic(config={"cleanup.policy": "compact"})
    errors: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(topic, b"no key", on_delivery=lambda error, _: errors.append(error))
    producer.flush(SECONDS_MAX)
    assert [error.code() for error in errors if error] == [KafkaError.INVALID_RECORD]


def test_a_timestamp_too_far_in_the_future_is_refused(
    bootstrap: str, make_topic: MakeTopic
) -> None:
    topic = make_topic(config={"message.timestamp.after.max.ms": "60000"})
    errors: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": bootstrap})
    tomorrow = int(time.time() * 1000) + 86_400_000
    producer.produce(topic, b"v", timestamp=tomorrow, on_delivery=lambda e, _: errors.append(e))
    producer.flush(SECONDS_MAX)
    assert [error.code() for error in errors if error] == [KafkaError.INVALID_TIMESTAMP]


def test_a_partition_that_is_not_there_is_refused(bootstrap: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "message.timeout.ms": 5000})
    errors: list[KafkaError | None] = []
    try:
        producer.produce(topic, b"v", partition=7, on_delivery=lambda e, _: errors.append(e))
        producer.flush(SECONDS_MAX)
        [code] = [error.code() for error in errors if error]
    except KafkaException as error:
        code = error.args[0].code()
    assert code == KafkaError._UNKNOWN_PARTITION


def test_a_topic_is_created_at_its_first_use(bootstrap: str, group: str) -> None:
    topic = f"auto-{group}"
    assert produce(bootstrap, topic, [b"first"]) == [0]
    assert [m.value() for m in read(bootstrap, topic, 1)] == [b"first"]
