"""The outcome of deciding: the records to write and what to answer once they are committed."""

from collections.abc import Iterator
from typing import Generic, TypeVar

from msgspec import Struct

from ottla.errors import ErrorCode, KafkaError
from ottla.metadata.image import Image, PartitionRegistration, Topic
from ottla.metadata.records import Record

R = TypeVar("R")

RECORDS_MAX = 10_000
"""Kafka's bound for one user's request: it must fit into one atomic batch."""


class ControllerResult(Struct, Generic[R]):
    records: list[Record]
    reply: R
    atomic: bool = True
    """False: a consequence for many partitions, which may be spread over several batches."""


def refuse_excess(records: list[Record]) -> None:
    if len(records) > RECORDS_MAX:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION,
            f"The request would change more than {RECORDS_MAX} things at once: split it.",
        )


def check_broker_epoch(image: Image, broker_id: int, epoch: int) -> None:
    """An old incarnation of a broker, or one that was never registered, has no say."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, f"Broker {broker_id} is not registered.")
    if broker.epoch != epoch:
        raise KafkaError(
            ErrorCode.STALE_BROKER_EPOCH,
            f"Broker {broker_id} has epoch {broker.epoch} now, not {epoch}.",
        )


def all_partitions(image: Image) -> Iterator[tuple[Topic, int, PartitionRegistration]]:
    for topic in image.topics_by_id.values():
        for index, partition in topic.partitions.items():
            yield topic, index, partition
