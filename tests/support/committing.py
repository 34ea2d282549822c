"""What a member of group "g" is told when it commits a partition in an epoch."""

from ottla.errors import ErrorCode, KafkaError
from ottla.groups.offsets.committing import commit, commit_in_transaction
from ottla.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from ottla.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from support.group_driver import Driver

Place = tuple[str, int]


def committing(driver: Driver, member_id: str, epoch: int, *places: Place) -> ErrorCode:
    known = driver.groups.image().topics_by_name
    topics = [
        OffsetCommitRequestTopic(
            name=topic,
            topic_id=known[topic].id,
            partitions=[OffsetCommitRequestPartition(partition_index=index, committed_offset=1)],
        )
        for topic, index in places
    ]
    request = OffsetCommitRequest(
        group_id="g", member_id=member_id, generation_id_or_member_epoch=epoch, topics=topics
    )
    return _told(driver.ask(lambda _: commit(driver.groups, driver.now, request, 9)).reply)


def committing_in_transaction(
    driver: Driver, member_id: str, epoch: int, *places: Place
) -> ErrorCode:
    topics = [
        TxnOffsetCommitRequestTopic(
            name=topic,
            partitions=[TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=1)],
        )
        for topic, index in places
    ]
    request = TxnOffsetCommitRequest(
        group_id="g", member_id=member_id, generation_id=epoch, producer_id=1, topics=topics
    )
    return _told(
        driver.ask(lambda _: commit_in_transaction(driver.groups, driver.now, request)).reply
    )


def _told(reply: OffsetCommitResponse | TxnOffsetCommitResponse | KafkaError) -> ErrorCode:
    """The refusal, or the first error of a partition."""
    if isinstance(reply, KafkaError):
        return reply.code
    codes = [part.error_code for topic in reply.topics for part in topic.partitions]
    return ErrorCode(next((code for code in codes if code), ErrorCode.NONE))
