"""The offsets topic as Connect writes it: how far each source partition was read.

Other workers look an offset up by the bytes of its key, so there are no blanks and fields keep
their order. What is read is what is committed, up to the end that the topic had at the beginning:
another connector's open transaction is waited out, since ours may stand behind it.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ottla.client.connection import Connection
from ottla.connect.connector import Place, RetriableError

if TYPE_CHECKING:
    from confluent_kafka import Consumer

READ_WITHIN_S = 60.0
_BATCH = 1000


def place_bytes(place: Any) -> bytes:
    return json.dumps(place, separators=(",", ":"), ensure_ascii=False).encode()


def offset_key(connector: str, partition: Place) -> bytes:
    return place_bytes([connector, partition])


def offset_value(offset: Place | None) -> bytes | None:
    return None if offset is None else place_bytes(offset)


class StoredOffsets:
    """Those of one connector; asked by partition, in whatever order its fields are."""

    def __init__(self, connector: str) -> None:
        self._connector = connector
        self._offsets: dict[str, tuple[Place, Place]] = {}

    def apply(self, key: bytes | None, value: bytes | None) -> None:
        """Records of other connectors, and what no worker wrote, are passed over."""
        try:
            connector, partition = json.loads(key or b"")
        except (ValueError, TypeError):
            return
        if connector != self._connector or not isinstance(partition, dict):
            return
        if not value or value == b"null":
            self._offsets.pop(_canonical(partition), None)
        else:
            self._offsets[_canonical(partition)] = (partition, json.loads(value))

    def get(self, partition: Place) -> Place | None:
        found = self._offsets.get(_canonical(partition))
        return None if found is None else found[1]

    def lay(self, others: Iterable[tuple[Place, Place]]) -> None:
        """Over what is known already."""
        self._offsets |= {_canonical(one[0]): one for one in others}

    def all(self) -> list[tuple[Place, Place]]:
        return list(self._offsets.values())


def _canonical(partition: Mapping[str, Any]) -> str:
    return json.dumps(partition, sort_keys=True)


def laid_over(connection: Connection, topics: Sequence[str], connector: str) -> StoredOffsets:
    """Of several topics: what a later one says counts before what an earlier one says."""
    stored = StoredOffsets(connector)
    for topic in topics:
        stored.lay(read_offsets(connection, topic, connector).all())
    return stored


def read_offsets(connection: Connection, topic: str, connector: str) -> StoredOffsets:
    """RetriableError while brokers are away, or a transaction does not end."""
    from confluent_kafka import KafkaException

    stored = StoredOffsets(connector)
    consumer = connection.consumer(
        fixed={
            "group.id": f"ottla-connect-{connector}",  # librdkafka asks for one; nothing is kept
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
        }
    )
    try:
        _read_to_end(consumer, topic, stored)
    except KafkaException as error:
        raise RetriableError(
            f"The offsets in {topic} cannot be read: {error.args[0].str()}"
        ) from error
    finally:
        consumer.close()
    return stored


def _read_to_end(consumer: "Consumer", topic: str, stored: StoredOffsets) -> None:
    from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, TopicPartition

    described = consumer.list_topics(topic, timeout=10.0).topics[topic]
    if described.error is not None:
        raise KafkaException(described.error)
    left: dict[int, int] = {}
    for partition in described.partitions:
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=10.0)
        if high > low:
            left[partition] = high
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in left])
    until = time.monotonic() + READ_WITHIN_S
    while left:
        for message in consumer.consume(_BATCH, timeout=1.0):
            error = message.error()
            if error is None:
                stored.apply(message.key(), message.value())
            elif error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            elif (message.offset() or 0) >= left.get(message.partition() or 0, 0):
                left.pop(message.partition() or 0, None)
        if time.monotonic() > until:
            raise RetriableError(f"The end of {topic} was not reached: a transaction is open.")
