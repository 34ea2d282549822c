"""WriteTxnMarkers: a coordinator ends a transaction in the partitions led here.

A marker in `__consumer_offsets` also decides about the offsets that the transaction committed.
From transaction version 2 on a marker carries a newer epoch than the records it ends: one that
does not is late, and the transaction it would end is not its own (KIP-890, KIP-1228).
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from ottla.broker.internal_topics import CONSUMER_OFFSETS
from ottla.broker.services import TransactionServices
from ottla.broker.transport.context import RequestContext
from ottla.coordination.machine import ProducerIdAndEpoch
from ottla.errors import ErrorCode, KafkaError
from ottla.replication.coordinator_log import CoordinatorLog
from ottla.replication.leader import Leader
from ottla.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from ottla.wire.record_batch import build_marker

EPOCH_BUMP_VERSION = 2


async def handle(
    request: WriteTxnMarkersRequest, context: RequestContext | None, services: TransactionServices
) -> WriteTxnMarkersResponse:
    """`context` is None where the coordinator is on this very broker."""
    writes: list[Coroutine[Any, Any, ErrorCode]] = []
    results: list[WritableTxnMarkerPartitionResult] = []
    response = WriteTxnMarkersResponse(markers=[])
    for marker in request.markers:
        answer = WritableTxnMarkerResult(producer_id=marker.producer_id, topics=[])
        response.markers.append(answer)
        for topic in marker.topics:
            partitions = [
                WritableTxnMarkerPartitionResult(partition_index=index)
                for index in topic.partition_indexes
            ]
            answer.topics.append(
                WritableTxnMarkerTopicResult(name=topic.name, partitions=partitions)
            )
            results += partitions
            writes += [write(topic.name, p.partition_index, marker, services) for p in partitions]
    codes = [await writes[0]] if len(writes) == 1 else await asyncio.gather(*writes)
    for result, code in zip(results, codes, strict=True):
        result.error_code = code
    return response


def refuse(request: WriteTxnMarkersRequest, error: KafkaError) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            WritableTxnMarkerPartitionResult(
                                partition_index=index, error_code=error.code
                            )
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


async def write(
    topic: str, index: int, marker: WritableTxnMarker, services: TransactionServices
) -> ErrorCode:
    try:
        leader = services.partitions.leader(topic, index)
        if topic == CONSUMER_OFFSETS:
            producer = ProducerIdAndEpoch(marker.producer_id, marker.producer_epoch)
            await (
                services.groups()
                .shards.at(index)
                .end_transaction(
                    producer,
                    marker.coordinator_epoch,
                    marker.transaction_result,
                    lambda: refuse_late(marker, leader),
                )
            )
            return ErrorCode.NONE
        refuse_late(marker, leader)
        log = CoordinatorLog(leader, services.cluster.clock.monotonic, services.durability.ask)
        now_ms = services.cluster.clock.wall_ms()
        batch = build_marker(
            commit=marker.transaction_result,
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            coordinator_epoch=marker.coordinator_epoch,
            timestamp=now_ms,
            leader_epoch=leader.epoch,
        )
        await log.committed(log.append(batch, now_ms))
    except KafkaError as error:
        return error.code
    except Exception as error:
        return services.background.unexpected(f"writing a marker to {topic}-{index}", error).code
    return ErrorCode.NONE


def refuse_late(marker: WritableTxnMarker, leader: Leader) -> None:
    open_in_its_epoch = leader.log.producers.has_ongoing_transaction(
        marker.producer_id, marker.producer_epoch
    )
    if open_in_its_epoch and marker.transaction_version >= EPOCH_BUMP_VERSION:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH, "The marker is late.")
