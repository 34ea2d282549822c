"""OffsetCommit and TxnOffsetCommit: a member, or anyone for an empty group, says how far it is."""

from typing import TYPE_CHECKING

from ottla.coordination.machine import CoordinatorRecord, Decision, Instant, ProducerIdAndEpoch
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.kind import Check
from ottla.groups.kinds import kind_of
from ottla.groups.offsets.store import commit_value
from ottla.ids import ZERO_UUID
from ottla.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from ottla.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from ottla.wire.records.offsets import OffsetCommitKey

if TYPE_CHECKING:
    from ottla.groups.machine import Groups

GROUP_ID_NOT_FOUND_SINCE = 9
TOO_LARGE = ErrorCode.OFFSET_METADATA_TOO_LARGE


def commit(
    groups: "Groups", now: Instant, request: OffsetCommitRequest, api_version: int
) -> Decision[OffsetCommitResponse]:
    """The topics exist: the caller has seen to that."""
    check = _check(groups, now, request, api_version)
    group_id, now_ms = request.group_id, now.wall_ms
    limit = groups.limits.offset_metadata_max_bytes
    expires = now_ms + request.retention_time_ms if request.retention_time_ms >= 0 else -1
    records: list[CoordinatorRecord] = []
    topics: list[OffsetCommitResponseTopic] = []
    for topic in request.topics:
        name, topic_id = topic.name, topic.topic_id
        partitions: list[OffsetCommitResponsePartition] = []
        topics.append(
            OffsetCommitResponseTopic(name=name, topic_id=topic_id, partitions=partitions)
        )
        for part in topic.partitions:
            index, metadata = part.partition_index, part.committed_metadata
            answer = OffsetCommitResponsePartition(partition_index=index)
            partitions.append(answer)
            if metadata and len(metadata) > limit:
                answer.error_code = TOO_LARGE
                continue
            if check is not None:
                check(name, topic_id, index)
            key = OffsetCommitKey(group=group_id, topic=name, partition=index)
            value = commit_value(
                part.committed_offset, part.committed_leader_epoch, metadata, now_ms, topic_id
            )
            value.expire_timestamp = expires
            records.append(CoordinatorRecord(key, value))
    return Decision(records, OffsetCommitResponse(topics=topics))


def _check(
    groups: "Groups", now: Instant, request: OffsetCommitRequest, api_version: int
) -> Check | None:
    generation = request.generation_id_or_member_epoch
    group = groups.find(request.group_id)
    if group is None:
        if generation < 0:
            if request.topics:  # the group is there even if no offset of them is kept
                groups.make_simple(request.group_id)
            return None
        if api_version >= GROUP_ID_NOT_FOUND_SINCE:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    return kind_of(group).check_commit(groups, group, now, request, api_version)


def _check_in_transaction(groups: "Groups", request: TxnOffsetCommitRequest) -> Check | None:
    group = groups.find(request.group_id)
    if group is not None:
        return kind_of(group).check_commit_in_transaction(group, request)
    if request.generation_id >= 0:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    groups.make_simple(request.group_id)
    return None


def _check_whole_transaction(groups: "Groups", request: TxnOffsetCommitRequest) -> None:
    """Producers know generations, not epochs."""
    try:
        check = _check_in_transaction(groups, request)
        if check is None:
            return
        known = groups.image().topics_by_name
        for topic in request.topics:
            topic_id = known[topic.name].id if topic.name in known else ZERO_UUID
            for part in topic.partitions:
                check(topic.name, topic_id, part.partition_index)
    except KafkaError as error:
        if error.code is ErrorCode.STALE_MEMBER_EPOCH:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION, error.message) from None
        raise


def commit_in_transaction(
    groups: "Groups", now: Instant, request: TxnOffsetCommitRequest
) -> Decision[TxnOffsetCommitResponse]:
    """The offsets count when the transaction's marker comes. Who may write in it is checked by
    the transaction's coordinator before."""
    _check_whole_transaction(groups, request)
    limit = groups.limits.offset_metadata_max_bytes
    records: list[CoordinatorRecord] = []
    response = TxnOffsetCommitResponse(topics=[])
    for topic in request.topics:
        answers = TxnOffsetCommitResponseTopic(name=topic.name, partitions=[])
        response.topics.append(answers)
        for part in topic.partitions:
            index, metadata = part.partition_index, part.committed_metadata
            answer = TxnOffsetCommitResponsePartition(partition_index=index)
            answers.partitions.append(answer)
            if metadata and len(metadata) > limit:
                answer.error_code = TOO_LARGE
                continue
            key = OffsetCommitKey(group=request.group_id, topic=topic.name, partition=index)
            offset, epoch = part.committed_offset, part.committed_leader_epoch
            records.append(
                CoordinatorRecord(key, commit_value(offset, epoch, metadata, now.wall_ms))
            )
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    return Decision(records, response, producer=producer)
