"""What a member of group "g" is told when it commits a partition in an epoch."""

from ottla.errors import ErrorCode, KafkaError
from ottla.groups.offsets.committing import commit, commit_in_transaction
from ottla.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
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
    reply = driver.ask(lambda _: commit(driver.groups, driver.now, request, 9)).reply
    return reply.code if isinstance(reply, KafkaError) else ErrorCode.NONE


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
    reply = driver.ask(lambda _: commit_in_transaction(driver.groups, driver.now, request)).reply
    return reply.code if isinstance(reply, KafkaError) else ErrorCode.NONE
