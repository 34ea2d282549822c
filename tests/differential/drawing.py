"""What several areas draw: batches, fetches, wrong values among the right ones."""

from collections.abc import Sequence as Values
from random import Random
from struct import pack
from typing import Any

from differential.steps import Step, any_version
from differential.symbols import Name, Ref, made, topic_id
from ottla.wire.compression import Codec
from ottla.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from ottla.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.wire.record_batch import NewRecord, build_batch

TIMESTAMP = 1_700_000_000_000


def rarely(random: Random, chance: float, wrong: Any, right: Any) -> Any:
    return wrong if random.random() < chance else right


def weighted(random: Random, choices: dict[str, float]) -> str:
    return random.choices(list(choices), list(choices.values()))[0]


def records(
    values: Values[str],
    producer_id: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    transactional: bool = False,
    codec: int = 0,
    timestamp: int = TIMESTAMP,
    key: str | None = "k",
) -> bytes:
    """One batch. Numbers beyond their fields wrap, as arithmetic of clients does."""
    inside = [
        NewRecord(
            timestamp=timestamp + n, key=None if key is None else key.encode(), value=value.encode()
        )
        for n, value in enumerate(values)
    ]
    return build_batch(
        inside,
        producer_id=producer_id,
        producer_epoch=(epoch + 0x8000) % 0x10000 - 0x8000,
        base_sequence=(sequence + 0x80000000) % 0x100000000 - 0x80000000,
        transactional=transactional,
        codec=Codec(codec),
    )


def batch(values: Values[str], **given: Any) -> Any:
    """The same, with symbols."""
    return made(records, values=tuple(values), **given)


def subscription(topic: str, user_data: str) -> bytes:
    """What a classic consumer says of itself (version 0)."""
    name, said = topic.encode(), user_data.encode()
    return pack(f">hih{len(name)}si{len(said)}s", 0, 1, len(name), name, len(said), said)


def assignment(topic: str, user_data: str) -> bytes:
    """What a classic consumer is told to read: partition 0 (version 0)."""
    name, said = topic.encode(), user_data.encode()
    form = f">hih{len(name)}siii{len(said)}s"
    return pack(form, 0, 1, len(name), name, 1, 0, len(said), said)


def produce(
    version: int,
    topic: str,
    partitions: dict[int, Any],
    *,
    transactional_id: Name | None = None,
    acks: int = -1,
    connection: str = "a",
) -> Step:
    data = TopicProduceData(
        name=Name(topic),
        topic_id=topic_id(topic),
        partition_data=[PartitionProduceData(index=n, records=r) for n, r in partitions.items()],
    )
    request = ProduceRequest(
        transactional_id=transactional_id, acks=acks, timeout_ms=5000, topic_data=[data]
    )
    return Step(request=request, version=version, connection=connection)


def look(random: Random, topic: str, partitions: int, isolation: int | None = None) -> Step:
    """A fetch of everything, once nothing moves any more."""
    places = [FetchPartition(partition=n, partition_max_bytes=1 << 20) for n in range(partitions)]
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 24,
        isolation_level=random.choice((0, 1)) if isolation is None else isolation,
        topics=[FetchTopic(topic=Name(topic), topic_id=topic_id(topic), partitions=places)],
    )
    version = any_version(random, FetchRequest)
    return Step(request=request, version=version, connection="look", observes=True)


def plus(ref: Ref, by: int) -> Ref:
    return Ref(ref.key, ref.otherwise, by, ref.back)
