"""OffsetCommit and TxnOffsetCommit: a member, or anyone for an empty group, says how far it is."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ottla.coordination.machine import Decision, Entry, Instant, Producer
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.classic.group import ClassicGroup, State
from ottla.groups.consumer.group import ConsumerGroup
from ottla.groups.offsets.store import commit_value
from ottla.groups.share.group import ShareGroup
from ottla.groups.streams.group import StreamsGroup
from ottla.ids import ZERO_UUID, Uuid
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
from ottla.wire.records.groups import OffsetCommitKey

if TYPE_CHECKING:
    from ottla.groups.machine import Groups

GROUP_ID_NOT_FOUND_SINCE = 9
MEMBER_EPOCHS_SINCE = 9
Check = Callable[[str, Uuid, int], None]
"""Refuses the commit when this topic's partition was not the member's in the epoch it knows."""
TOO_LARGE = ErrorCode.OFFSET_METADATA_TOO_LARGE


def commit(
    groups: "Groups", now: Instant, request: OffsetCommitRequest, api_version: int
) -> Decision[OffsetCommitResponse]:
    """The topics exist: the caller has seen to that."""
    check = _check(groups, now, request, api_version)
    group_id, now_ms = request.group_id, now.wall_ms
    limit = groups.limits.offset_metadata_max_bytes
    expires = now_ms + request.retention_time_ms if request.retention_time_ms >= 0 else -1
    records: list[Entry] = []
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
            records.append(Entry(key, value))
    return Decision(records, OffsetCommitResponse(topics=topics))


def _check(
    groups: "Groups", now: Instant, request: OffsetCommitRequest, api_version: int
) -> Check | None:
    generation = request.generation_id_or_member_epoch
    group = groups.find(request.group_id)
    if group is None:
        if generation < 0:
            return None  # nobody manages that group: replaying the record makes it
        if api_version >= GROUP_ID_NOT_FOUND_SINCE:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    if isinstance(group, ShareGroup):
        raise KafkaError(
            ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group.id} is a share group: it has no offsets."
        )
    if isinstance(group, ConsumerGroup):
        return _check_consumer(group, request.member_id, generation, api_version)
    if isinstance(group, StreamsGroup):
        return _check_streams(group, request.member_id, generation, api_version)
    _check_classic(group, request.member_id, request.group_instance_id, generation)
    committer = group.members.get(request.member_id)
    if committer is not None and group.state in (State.STABLE, State.PREPARING_REBALANCE):
        groups.expect_heartbeat(group.id, committer.id, now, committer.session_timeout_ms)
    return None


def _check_classic(
    group: ClassicGroup,
    member_id: str,
    instance_id: str | None,
    generation: int,
    *,
    transactional: bool = False,
) -> None:
    if generation < 0 and group.is_empty:
        return
    if generation >= 0 or member_id or instance_id is not None:
        group.check_member(member_id, instance_id)
        if generation != group.generation:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    elif not transactional:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    if not transactional and group.state is State.COMPLETING_REBALANCE:
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)


def _check_consumer(
    group: ConsumerGroup, member_id: str, epoch: int, api_version: int = MEMBER_EPOCHS_SINCE
) -> Check | None:
    """A member in its epoch may commit what it likes. One that has not yet heard of its newest
    epoch may commit what it has had since the epoch it knows; zombies have nothing (KIP-1251)."""
    if epoch < 0 and group.is_empty:
        return None
    member = group.member(member_id)
    stale = ErrorCode.STALE_MEMBER_EPOCH
    if member.classic is not None:
        stale = ErrorCode.ILLEGAL_GENERATION
    elif api_version < MEMBER_EPOCHS_SINCE:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            "OffsetCommit version 9 or above must be used by members of the consumer protocol.",
        )
    if epoch > member.epoch:
        raise KafkaError(stale)
    if epoch == member.epoch:
        return None
    held, revoking = member.held, member.revoking

    def check(name: str, topic_id: Uuid, partition: int) -> None:
        since = held.get(topic_id, {}).get(partition)
        if since is None:
            since = revoking.get(topic_id, {}).get(partition)
        if since is None or since > epoch:
            raise KafkaError(stale, f"{name}-{partition} was not the member's in epoch {epoch}.")

    return check


def _check_streams(
    group: StreamsGroup, member_id: str, epoch: int, api_version: int = MEMBER_EPOCHS_SINCE
) -> Check | None:
    """As for members of the consumer protocol; a partition belongs to who has its task."""
    if epoch < 0 and group.is_empty:
        return None
    member = group.member(member_id)
    stale = ErrorCode.STALE_MEMBER_EPOCH
    if api_version < MEMBER_EPOCHS_SINCE:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            "OffsetCommit version 9 or above must be used by members of the streams protocol.",
        )
    if epoch > member.epoch or group.topology is None:
        raise KafkaError(stale)
    if epoch == member.epoch:
        return None
    topology, since = group.topology, member.since

    def check(name: str, topic_id: Uuid, partition: int) -> None:
        subtopology = topology.reader_of(name)
        if subtopology is None or since.get((subtopology, partition), epoch + 1) > epoch:
            raise KafkaError(stale, f"{name}-{partition} was not the member's in epoch {epoch}.")

    return check


def _check_in_transaction(groups: "Groups", request: TxnOffsetCommitRequest) -> Check | None:
    group = groups.find(request.group_id)
    member_id, generation = request.member_id, request.generation_id
    if group is None:
        if generation >= 0:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        return None
    if isinstance(group, ClassicGroup):
        instance_id = request.group_instance_id
        _check_classic(group, member_id, instance_id, generation, transactional=True)
        return None
    if isinstance(group, ShareGroup):
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
    if generation < 0 and not member_id:
        return None  # a producer that commits for a group without being of it
    if isinstance(group, StreamsGroup):
        return _check_streams(group, member_id, generation)
    return _check_consumer(group, member_id, generation)


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
    records: list[Entry] = []
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
            records.append(Entry(key, commit_value(offset, epoch, metadata, now.wall_ms)))
    producer = Producer(request.producer_id, request.producer_epoch)
    return Decision(records, response, producer=producer)
