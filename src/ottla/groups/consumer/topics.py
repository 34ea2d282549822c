"""What groups need to know of the cluster's topics, and the number that tells when it changed.

The number is the one Apache Kafka writes, so that either goes on where the other stopped
without a rebalance: XXH3 over each topic's id, name, partitions and racks.
"""

from collections.abc import Iterable
from struct import pack

from xxhash import xxh3_64_digest, xxh3_64_intdigest

from ottla.ids import Uuid
from ottla.metadata.image import Image, Topic
from ottla.wire.records.consumer_protocol import ConsumerProtocolSubscription

MAGIC = 0


def partition_counts(image: Image, names: Iterable[str]) -> dict[Uuid, int]:
    """Of those that exist, in the order of their names."""
    topics = (image.topics_by_name.get(name) for name in sorted(names))
    return {topic.id: len(topic.partitions) for topic in topics if topic is not None}


def owned_partitions(
    image: Image, subscription: ConsumerProtocolSubscription
) -> dict[Uuid, frozenset[int]]:
    """What a classic member says it still has when it joins."""
    return {
        image.topics_by_name[one.topic].id: frozenset(one.partitions)
        for one in subscription.owned_partitions
        if one.topic in image.topics_by_name
    }


def metadata_hash(image: Image, names: Iterable[str]) -> int:
    """0 where none of the topics exists."""
    topics = [image.topics_by_name[name] for name in sorted(names) if name in image.topics_by_name]
    if not topics:
        return 0
    digests = b"".join(xxh3_64_digest(_described(topic, image))[::-1] for topic in topics)
    value: int = xxh3_64_intdigest(digests)
    return value - (1 << 64) if value >= 1 << 63 else value


def _described(topic: Topic, image: Image) -> bytes:
    high, low = topic.id[:8][::-1], topic.id[8:][::-1]  # two longs, in the order of x86
    parts = [pack("<b", MAGIC), high, low, _text(topic.name), pack("<i", len(topic.partitions))]
    for index in range(len(topic.partitions)):
        parts.append(pack("<i", index))
        brokers = (image.brokers.get(replica) for replica in topic.partitions[index].replicas)
        for rack in sorted(broker.rack for broker in brokers if broker and broker.rack):
            parts += (pack("<i", len(rack)), _text(rack))
    return b"".join(parts)


def _text(text: str) -> bytes:
    units = text.encode("utf-16-le")
    return units + pack("<i", len(units) // 2)
