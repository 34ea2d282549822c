"""ListOffsets: where a partition begins and ends, and where a moment lies in it.

Instead of a time the client may name a place: latest (-1), earliest (-2), the record with the
largest timestamp (-3, from version 7), earliest on this broker's disk (-4, from 8), latest and
next to go in tiered storage (-5 from 9, -6 from 11), which there is none of. v5 (KIP-207): while a
new leader does not know what is committed, OFFSET_NOT_AVAILABLE; before, LEADER_NOT_AVAILABLE.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial

from ottla.broker.services import RecordServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.log.timestamps import TimestampOffset
from ottla.replication.coordinator_log import not_leader
from ottla.replication.leader import Leader, check_epoch
from ottla.replication.partitions import Partitions
from ottla.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = range(-1, -7, -1)
SINCE_VERSION = {
    EARLIEST: 1,
    LATEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING: 11,
}
NEVER = 2**15
CONSUMER = -1
ANY_REPLICA = -2  # tools that look at replicas ask each broker for its own
READ_COMMITTED = 1


async def handle(
    request: ListOffsetsRequest, context: RequestContext, services: RecordServices
) -> ListOffsetsResponse:
    """Each topic once, and in it each partition once, however often they are named."""
    search = Search(request, context, services.partitions)
    topics: dict[str, dict[int, ListOffsetsPartitionResponse]] = {}
    for topic in request.topics:
        answers = topics.setdefault(topic.name, {})
        for partition in topic.partitions:
            answers[partition.partition_index] = await search.partition(topic.name, partition)
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(name=name, partitions=list(answers.values()))
            for name, answers in topics.items()
            if answers
        ]
    )


def refuse(request: ListOffsetsRequest, error: KafkaError) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(
                        partition_index=partition.partition_index, error_code=error.code
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


class Search:
    def __init__(
        self, request: ListOffsetsRequest, context: RequestContext, partitions: Partitions
    ) -> None:
        self.request = request
        self.version = context.api_version
        self.partitions = partitions
        names = [
            (topic.name, partition.partition_index)
            for topic in request.topics
            for partition in topic.partitions
        ]
        self.twice = {name for name, times in Counter(names).items() if times > 1}

    async def partition(
        self, topic: str, wanted: ListOffsetsPartition
    ) -> ListOffsetsPartitionResponse:
        answer = ListOffsetsPartitionResponse(partition_index=wanted.partition_index)
        try:
            if (topic, wanted.partition_index) in self.twice:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "The partition is named twice.")
            self._check_timestamp(wanted.timestamp)
            if self.request.replica_id == ANY_REPLICA and wanted.timestamp == LATEST:
                replica = self.partitions.replica(topic, wanted.partition_index)
                check_epoch(
                    wanted.current_leader_epoch, replica.state.leader_epoch, replica.topic_partition
                )
                answer.offset = replica.log.log_end_offset
                answer.leader_epoch = replica.state.leader_epoch
                return answer
            leader = self.partitions.leader(topic, wanted.partition_index)
            leader.check_epoch(wanted.current_leader_epoch)
            found = await self._find(leader, wanted.timestamp)
            answer.timestamp, answer.offset, answer.leader_epoch = found
        except KafkaError as error:
            answer.error_code = error.code
        return answer

    def _check_timestamp(self, timestamp: int) -> None:
        if timestamp < 0 and self.version < SINCE_VERSION.get(timestamp, NEVER):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)

    async def _find(self, leader: Leader, timestamp: int) -> tuple[int, int, int]:
        """Timestamp, offset and the epoch of that record's leader; -1 for what there is none of."""
        log = leader.log
        if timestamp in (EARLIEST, EARLIEST_LOCAL):
            return -1, log.log_start_offset, log.epochs.epoch_for(log.log_start_offset)
        if timestamp == LATEST:
            self._refuse_while_uncertain(leader)
            return -1, self._readable_end(leader), leader.epoch
        if timestamp in (LATEST_TIERED, EARLIEST_PENDING):
            return -1, -1, -1
        if timestamp == MAX_TIMESTAMP:
            found = await search(leader, log.max_timestamp)
        else:
            found = await search(leader, partial(log.offset_for_timestamp, timestamp))
        if found is None:
            return -1, -1, -1
        if found.offset >= self._readable_end(leader):
            self._refuse_while_uncertain(leader)
            return -1, -1, -1
        return found

    def _readable_end(self, leader: Leader) -> int:
        if self.request.replica_id != CONSUMER:
            return leader.log.log_end_offset
        if self.request.isolation_level == READ_COMMITTED:
            return leader.log.last_stable_offset
        return leader.log.high_watermark

    def _refuse_while_uncertain(self, leader: Leader) -> None:
        """A new leader may not know yet what its predecessor committed (KIP-207)."""
        in_sync = leader.in_sync
        is_consumer = self.request.replica_id == CONSUMER
        if is_consumer and in_sync.high_watermark < in_sync.epoch_start:
            late = self.version >= 5
            raise KafkaError(
                ErrorCode.OFFSET_NOT_AVAILABLE if late else ErrorCode.LEADER_NOT_AVAILABLE
            )


async def search(
    leader: Leader, find: Callable[[], TimestampOffset | None]
) -> TimestampOffset | None:
    """In a thread; once more if retention or the cleaner took segments away beside it."""
    log, loop = leader.log, asyncio.get_running_loop()
    while True:
        before, found, failure = log.set_aside_count, None, None
        try:
            found = await loop.run_in_executor(None, find)
        except Exception as error:
            failure = error
        if leader.deposed:
            raise not_leader(leader)
        if log.set_aside_count != before:
            continue
        if isinstance(failure, OSError):
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(failure))
        if failure is not None:
            raise failure
        return found
