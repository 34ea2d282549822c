"""Programs as they stand in courses and tutorials on confluent-kafka, run as they are."""

import json
import sys

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition


def test_a_producer_with_callbacks_polls_and_flushes_when_its_queue_is_full(
    bootstrap: str, topic: str
) -> None:
    conf = {"bootstrap.servers": bootstrap, "queue.buffering.max.messages": 100}
    p = Producer(**conf)
    delivered = []
    overflows = 0

    def delivery_callback(err: KafkaError | None, msg: Message) -> None:
        if err:
            sys.stderr.write("%% Message failed delivery: %s\n" % err)  # noqa: UP031
        else:
            delivered.append((msg.topic(), msg.partition(), msg.offset()))

    for n in range(1000):
        while True:
            try:
                p.produce(topic, f"line {n}", callback=delivery_callback)
                break
            except BufferError:
                overflows += 1
                p.poll(0.1)
        p.poll(0)
    p.flush()
    assert delivered == [(topic, 0, n) for n in range(1000)]
    assert overflows > 0


def test_a_consumer_from_the_smallest_offset_stops_at_the_end_of_the_partition(
    bootstrap: str, topic: str, group: str
) -> None:
    p = Producer({"bootstrap.servers": bootstrap})
    for n in range(50):
        p.produce(topic, key=str(n), value=json.dumps({"n": n}))
    p.flush()

    conf = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "enable.partition.eof": True,
        "auto.offset.reset": "smallest",
    }
    consumer = Consumer(conf)
    seen = []
    try:
        consumer.subscribe([topic])
        running = True
        while running:
            msg = consumer.poll(timeout=1.0)
            if msg is None:
                continue
            if error := msg.error():
                if error.code() == KafkaError._PARTITION_EOF:
                    running = False
                elif error:
                    raise KafkaException(error)
            else:
                seen.append(json.loads(msg.value() or b"")["n"])
    finally:
        consumer.close()
    assert seen == list(range(50))


def test_a_consumer_commits_by_hand_every_few_messages(
    bootstrap: str, topic: str, group: str
) -> None:
    p = Producer({"bootstrap.servers": bootstrap})
    for n in range(25):
        p.produce(topic, str(n))
    p.flush()

    min_commit_count = 10
    conf = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(conf)
    consumer.subscribe([topic])
    msg_count = 0
    while msg_count < 25:
        msg = consumer.poll(timeout=1.0)
        if msg is None:
            continue
        if msg.error():
            raise KafkaException(msg.error())
        msg_count += 1
        if msg_count % min_commit_count == 0:
            consumer.commit(asynchronous=False)
    consumer.close()

    consumer = Consumer(conf)
    [committed] = consumer.committed([TopicPartition(topic, 0)], timeout=10)
    assert committed.offset == 20
    consumer.subscribe([topic])
    replayed: list[int] = []
    while len(replayed) < 5:
        msg = consumer.poll(timeout=1.0)
        if msg is not None and not msg.error():
            replayed.append(int(msg.value() or b""))
    assert replayed == [20, 21, 22, 23, 24]
    consumer.close()


def test_a_consumer_seeks_back_to_the_beginning_when_partitions_are_assigned(
    bootstrap: str, topic: str, group: str
) -> None:
    p = Producer({"bootstrap.servers": bootstrap})
    for n in range(10):
        p.produce(topic, str(n))
    p.flush()

    def reset_offset(consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            partition.offset = 0
        consumer.assign(partitions)

    for _ in range(2):
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
        consumer.subscribe([topic], on_assign=reset_offset)
        seen: list[int] = []
        while len(seen) < 10:
            msg = consumer.poll(1.0)
            if msg is not None and not msg.error():
                seen.append(int(msg.value() or b""))
        consumer.commit(asynchronous=False)
        consumer.close()
        assert seen == list(range(10))
