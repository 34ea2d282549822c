"""DeleteRecords: move the start of partitions forward; -1 stands for the high watermark.

Answered when no replica that is alive has the records any more: whoever leads next must not bring
them back. What a broker that is away still has, it drops when it follows again.
"""

from collections.abc import Awaitable

from ottla.broker.internal_topics import INTERNAL_TOPICS
from ottla.broker.services import RecordServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.replication.leader import Leader
from ottla.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

UP_TO_HIGH_WATERMARK = -1
LOOK_S = 0.5
"""That a broker is fenced moves no partition: it is looked for."""


class Deletion:
    """What is asked of one partition; over once it has a result."""

    def __init__(self, services: RecordServices, topic: str, asked: DeleteRecordsPartition) -> None:
        self._services = services
        self._asked = asked
        self.leader: Leader | None = None
        self.result: DeleteRecordsPartitionResult | None = None
        try:
            self.leader = services.partitions.leader(topic, asked.partition_index)
            if topic in INTERNAL_TOPICS:
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic} is internal.")
            self._offset = _begin(self.leader, asked.offset)
        except KafkaError as error:
            self.refuse(error)
        else:
            self.look()

    def look(self) -> None:
        assert self.leader is not None
        if self.leader.deposed:
            self.refuse(KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER))
            return
        low_watermark = self.leader.low_watermark(self._is_alive)
        if low_watermark >= self._offset:
            self.result = DeleteRecordsPartitionResult(
                partition_index=self._asked.partition_index, low_watermark=low_watermark
            )

    def refuse(self, error: KafkaError) -> None:
        self.result = _refused(self._asked, error)

    def _is_alive(self, node_id: int) -> bool:
        broker = self._services.cluster.image.brokers.get(node_id)
        return broker is not None and not broker.fenced


def _begin(leader: Leader, asked_offset: int) -> int:
    """Delete here; up to where."""
    log = leader.log
    if not log.config.delete:
        topic = leader.topic_partition.topic
        raise KafkaError(ErrorCode.POLICY_VIOLATION, f"{topic} is compacted, not deleted.")
    offset = log.high_watermark if asked_offset == UP_TO_HIGH_WATERMARK else asked_offset
    if not 0 <= offset <= log.high_watermark:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
    if offset > log.log_start_offset:
        leader.delete_records_before(offset)
    return offset


def handle(
    request: DeleteRecordsRequest, context: RequestContext, services: RecordServices
) -> DeleteRecordsResponse | Awaitable[DeleteRecordsResponse]:
    deletions = [
        [Deletion(services, topic.name, asked) for asked in topic.partitions]
        for topic in request.topics
    ]
    if _under_way(deletions):
        return _finish(request, deletions, services)
    return _response(request, deletions)


async def _finish(
    request: DeleteRecordsRequest, deletions: list[list[Deletion]], services: RecordServices
) -> DeleteRecordsResponse:
    deadline = services.cluster.clock.monotonic() + request.timeout_ms / 1000
    while waiting := _under_way(deletions):
        left = deadline - services.cluster.clock.monotonic()
        if left <= 0:
            for one in waiting:
                one.refuse(KafkaError(ErrorCode.REQUEST_TIMED_OUT))
            break
        leaders = [one.leader for one in waiting if one.leader is not None]
        await services.waiting.movement(leaders, min(left, LOOK_S))
        for one in waiting:
            one.look()
    return _response(request, deletions)


def _under_way(deletions: list[list[Deletion]]) -> list[Deletion]:
    return [one for several in deletions for one in several if one.result is None]


def _response(
    request: DeleteRecordsRequest, deletions: list[list[Deletion]]
) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[one.result for one in several if one.result is not None],
            )
            for topic, several in zip(request.topics, deletions, strict=True)
        ]
    )


def refuse(request: DeleteRecordsRequest, error: KafkaError) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[_refused(asked, error) for asked in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _refused(asked: DeleteRecordsPartition, error: KafkaError) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(
        partition_index=asked.partition_index, low_watermark=-1, error_code=error.code
    )
