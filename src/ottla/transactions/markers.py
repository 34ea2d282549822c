"""Bringing the end of a transaction to every partition it wrote to.

A decision that is committed is final, so delivery is tried until each partition has its marker:
leaders move, brokers restart. A deleted partition needs none. Only a newer coordinator, or a
newer epoch of the producer, ends the effort early: then somebody else finishes the work.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from ottla.errors import ErrorCode, KafkaError
from ottla.ids import TopicPartition
from ottla.transactions.states import Transaction, TransactionState
from ottla.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

logger = logging.getLogger(__name__)

RETRY_S = 0.02
RETRY_S_MAX = 1.0
SUPERSEDED = {ErrorCode.TRANSACTION_COORDINATOR_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH}


class Leaders(Protocol):
    """Where partitions are led and how their brokers are reached."""

    def exists(self, partition: TopicPartition) -> bool: ...

    def leader_of(self, partition: TopicPartition) -> int | None:
        """None: no leader is known at the moment."""

    async def write_markers(
        self, broker_id: int, request: WriteTxnMarkersRequest
    ) -> WriteTxnMarkersResponse: ...


class Superseded(Exception):
    """A newer coordinator or producer epoch has been here."""


async def deliver(
    transaction: Transaction,
    coordinator_epoch: int,
    leaders: Leaders,
    left: set[TopicPartition],
    is_ours: Callable[[], bool] = lambda: True,
) -> None:
    """Return when nothing is `left` of a prepared transaction's partitions: each one leaves when it
    has its marker."""
    pause = RETRY_S
    while True:
        if not is_ours():
            raise Superseded(f"{transaction.transactional_id} is coordinated elsewhere now")
        left -= {partition for partition in left if not leaders.exists(partition)}
        if not left:
            return
        await asyncio.gather(
            *(
                write(broker_id, partitions, transaction, coordinator_epoch, leaders, left)
                for broker_id, partitions in by_leader(left, leaders).items()
            )
        )
        if not left:
            continue
        await asyncio.sleep(pause)
        pause = min(2 * pause, RETRY_S_MAX)


async def write(
    broker_id: int,
    partitions: list[TopicPartition],
    transaction: Transaction,
    coordinator_epoch: int,
    leaders: Leaders,
    left: set[TopicPartition],
) -> None:
    """By one leader; the partitions that have the marker leave what is left."""
    request = marker_request(transaction, partitions, coordinator_epoch)
    try:
        response = await leaders.write_markers(broker_id, request)
    except (OSError, KafkaError) as error:
        logger.info("Markers for broker %d are tried again: %s", broker_id, error)
        return
    refused = {partition: code for partition, code in results(response) if code != ErrorCode.NONE}
    left.difference_update({partition for partition, _ in results(response)} - refused.keys())
    for partition, code in refused.items():
        if code in SUPERSEDED:
            raise Superseded(f"{transaction.transactional_id} in {partition}: {code.name}")
        logger.info("The marker in %s is tried again: %s", partition, code.name)


def by_leader(
    partitions: Iterable[TopicPartition], leaders: Leaders
) -> dict[int, list[TopicPartition]]:
    grouped: defaultdict[int, list[TopicPartition]] = defaultdict(list)
    for partition in sorted(partitions):
        leader = leaders.leader_of(partition)
        if leader is not None:
            grouped[leader].append(partition)
    return grouped


def marker_request(
    transaction: Transaction, partitions: list[TopicPartition], coordinator_epoch: int
) -> WriteTxnMarkersRequest:
    by_topic: defaultdict[str, list[int]] = defaultdict(list)
    for topic, partition in partitions:
        by_topic[topic].append(partition)
    marker = WritableTxnMarker(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_result=transaction.state is TransactionState.PREPARE_COMMIT,
        topics=[
            WritableTxnMarkerTopic(name=name, partition_indexes=indexes)
            for name, indexes in by_topic.items()
        ],
        coordinator_epoch=coordinator_epoch,
        transaction_version=transaction.client_version,
    )
    return WriteTxnMarkersRequest(markers=[marker])


def results(response: WriteTxnMarkersResponse) -> Iterator[tuple[TopicPartition, ErrorCode]]:
    for marker in response.markers:
        for topic in marker.topics:
            for each in topic.partitions:
                partition = TopicPartition(topic.name, each.partition_index)
                yield partition, ErrorCode(each.error_code)
