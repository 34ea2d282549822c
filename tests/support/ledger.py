"""What was written to a node and must be found there, whichever broker serves it next."""

import time
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from kio.schema.errors import ErrorCode

from support.batches import batch
from support.confluent import SECONDS_MAX, create_topic, produce, read, wait_until
from support.wire import Connection

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PER_ROUND = 20
LOADING = (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS)


@dataclass
class Ledger:
    """Filled by `write`, one round per broker; `check` holds a broker to all rounds."""

    rounds: list[str] = field(default_factory=list)
    producer_id: int = -1

    def write(self, bootstrap: str, name: str) -> None:
        """Everything a client can leave behind, under names that carry the round's."""
        if not self.rounds:
            make_topics(bootstrap)
        self.rounds.append(name)
        for codec in CODECS:
            values = [f"{name} {codec} {n}".encode() for n in range(PER_ROUND)]
            produce(bootstrap, f"codec-{codec}", values, config={"compression.codec": codec})
        create_topic(bootstrap, f"made-by-{name}", 3, {"retention.ms": "7200000"})
        make_and_delete(bootstrap, f"deleted-by-{name}")
        set_topic_config(bootstrap, "altered", "segment.bytes", self.segment_bytes)
        commit(bootstrap, "a-group", "codec-none", PER_ROUND * len(self.rounds))
        commit(bootstrap, f"group-of-{name}", "codec-lz4", 7)
        delete_records(bootstrap, "trimmed", self.trimmed_to)
        keyed = Producer({"bootstrap.servers": bootstrap})
        keyed.produce("compacted", name.encode(), key=b"last-round")
        assert keyed.flush(SECONDS_MAX) == 0
        self.write_idempotently(bootstrap)

    @property
    def segment_bytes(self) -> str:
        return str(1_100_000 + len(self.rounds))

    @property
    def trimmed_to(self) -> int:
        return 3 * len(self.rounds)

    def write_idempotently(self, bootstrap: str) -> None:
        """One producer id through all brokers: each takes its next batch and knows its last."""
        with Connection(bootstrap) as connection:
            if self.producer_id < 0:
                self.producer_id = connection.new_producer_id()
            number = len(self.rounds) - 1
            if number > 0:
                self.send(connection, number - 1)  # written by the broker before: a duplicate
            self.send(connection, number)
            self.send(connection, number)

    def send(self, connection: Connection, number: int) -> None:
        records = batch(
            [b"once"] * 2,
            timestamp=int(time.time() * 1000),  # a producer of old records is forgotten at a start
            producer_id=self.producer_id,
            producer_epoch=0,
            sequence=2 * number,
        )
        places = [{"index": 0, "records": records}]
        topics = [{"name": "idempotent", "partition_data": places}]
        reply = connection.ask("produce", 9, acks=-1, timeout=10_000, topic_data=topics)
        [stored] = reply.responses[0].partition_responses
        assert (stored.error_code, stored.base_offset) == (ErrorCode.none, 2 * number)

    def check(self, bootstrap: str, *, after_kill: bool = False) -> None:
        """Everything of all rounds so far is there, and nothing else.

        After a kill deleted records may be back: Kafka writes down a log's start once a minute."""
        self.check_topics(bootstrap)
        for codec in CODECS:
            expected = [
                f"{name} {codec} {n}".encode() for name in self.rounds for n in range(PER_ROUND)
            ]
            messages = read(bootstrap, f"codec-{codec}", len(expected))
            assert [m.value() for m in messages] == expected
            assert [m.offset() for m in messages] == list(range(len(expected)))
        low, high = watermarks(bootstrap, "trimmed")
        assert high == 100
        assert low == self.trimmed_to or (after_kill and low < self.trimmed_to)
        assert watermarks(bootstrap, "idempotent") == (0, 2 * len(self.rounds))
        assert last_round(read(bootstrap, "compacted", len(self.rounds))) == self.rounds[-1]
        at = PER_ROUND * len(self.rounds)
        assert committed(bootstrap, "a-group", "codec-none") == (at, f"at {at}")
        for name in self.rounds:
            assert committed(bootstrap, f"group-of-{name}", "codec-lz4") == (7, "at 7")

    def check_topics(self, bootstrap: str) -> None:
        admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        wait_until(lambda: "altered" in admin.list_topics(timeout=SECONDS_MAX).topics)
        topics = admin.list_topics(timeout=SECONDS_MAX).topics
        ours = {name for name in topics if not name.startswith("__")}
        assert ours == {
            *(f"codec-{codec}" for codec in CODECS),
            *("altered", "trimmed", "compacted", "idempotent", "transactions"),
            *(f"made-by-{name}" for name in self.rounds),
        }
        for name in self.rounds:
            assert len(topics[f"made-by-{name}"].partitions) == 3
            assert topic_config(bootstrap, f"made-by-{name}")["retention.ms"] == "7200000"
        assert topic_config(bootstrap, "altered")["segment.bytes"] == self.segment_bytes
        assert topic_config(bootstrap, "compacted")["cleanup.policy"] == "compact"


def make_topics(bootstrap: str) -> None:
    for codec in CODECS:
        create_topic(bootstrap, f"codec-{codec}")
    create_topic(bootstrap, "altered")
    create_topic(bootstrap, "idempotent")
    create_topic(bootstrap, "transactions")
    create_topic(bootstrap, "compacted", config={"cleanup.policy": "compact"})
    create_topic(bootstrap, "trimmed")
    produce(bootstrap, "trimmed", [b"x"] * 100)


def make_and_delete(bootstrap: str, name: str) -> None:
    create_topic(bootstrap, name)
    produce(bootstrap, name, [b"gone"])
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.delete_topics([name])[name].result(SECONDS_MAX)


def set_topic_config(bootstrap: str, topic: str, name: str, value: str) -> None:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.incremental_alter_configs([resource])[resource].result(SECONDS_MAX)


def topic_config(bootstrap: str, topic: str) -> dict[str, str]:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    entries = admin.describe_configs([resource])[resource].result(SECONDS_MAX)
    return {name: entry.value for name, entry in entries.items()}


def commit(bootstrap: str, group: str, topic: str, offset: int) -> None:
    place = TopicPartition(topic, 0, offset, metadata=f"at {offset}")
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    consumer.commit(offsets=[place], asynchronous=False)
    consumer.close()


def committed(bootstrap: str, group: str, topic: str) -> tuple[int, str | None]:
    """A coordinator that still loads says so, and the client does not ask again by itself."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    found: list[TopicPartition] = []

    def loaded() -> bool:
        try:
            found.extend(consumer.committed([TopicPartition(topic, 0)], timeout=SECONDS_MAX))
        except KafkaException as error:
            if error.args[0].code() not in LOADING:
                raise
        return bool(found)

    wait_until(loaded)
    consumer.close()
    return found[0].offset, found[0].metadata


def delete_records(bootstrap: str, topic: str, offset: int) -> None:
    place = TopicPartition(topic, 0, offset)
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.delete_records([place])[place].result(SECONDS_MAX)


def watermarks(bootstrap: str, topic: str) -> tuple[int, int]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "watermarks"})
    low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=SECONDS_MAX)
    consumer.close()
    return low, high


def last_round(messages: list[Message]) -> str:
    value = messages[-1].value()
    assert value is not None
    return value.decode()
