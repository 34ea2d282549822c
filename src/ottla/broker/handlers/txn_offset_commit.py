"""TxnOffsetCommit: offsets of a group that count if the transaction commits.

The transaction's coordinator is asked first whether the group's partition is part of it; a client
of version 5 has not announced it, so asking adds it.
"""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import TopicPartition
from ottla.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

FIRST_THAT_ADDS = 5
FIRST_WITH_ABORTABLE = 4


async def handle(
    request: TxnOffsetCommitRequest, context: RequestContext, broker: Broker
) -> TxnOffsetCommitResponse:
    if any(topic.name in broker.image.topics_by_name for topic in request.topics):
        await admit(request, context.api_version, broker)
    known = broker.image.topics_by_name  # as it is now: what is deleted later takes offsets along
    unknown = [topic for topic in request.topics if topic.name not in known]
    refused = [refusal(topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) for topic in unknown]
    request.topics = [topic for topic in request.topics if topic.name in known]
    if not request.topics:
        return TxnOffsetCommitResponse(topics=refused)
    response = await broker.groups.commit_in_transaction(request)
    response.topics = refused + response.topics
    return response


async def admit(request: TxnOffsetCommitRequest, version: int, broker: Broker) -> None:
    shards = broker.groups.shards
    partition = TopicPartition(shards.topic, shards.partition_of(request.group_id))
    try:
        leader = broker.partitions.leader(*partition)
    except KafkaError as error:
        raise KafkaError(ErrorCode.NOT_COORDINATOR, error.message) from None
    producer = (request.producer_id, request.producer_epoch)
    producers = leader.log.producers
    if producers.has_ongoing_transaction(*producer):
        return
    marker = producers.last_marker(request.producer_id)
    codes = await broker.transaction_gate.admit(
        request.transactional_id, *producer, frozenset({partition}), add=version >= FIRST_THAT_ADDS
    )
    code = codes[partition]
    if code == ErrorCode.NONE and leader.deposed:
        code = ErrorCode.NOT_COORDINATOR
    if code == ErrorCode.NONE and producers.last_marker(request.producer_id) != marker:
        code = ErrorCode.INVALID_TXN_STATE  # it ended while we asked: it may not begin anew
    if code == ErrorCode.TRANSACTION_ABORTABLE and version < FIRST_WITH_ABORTABLE:
        code = ErrorCode.INVALID_TXN_STATE
    elif code == ErrorCode.PRODUCER_FENCED:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    elif code in (ErrorCode.NETWORK_EXCEPTION, ErrorCode.COORDINATOR_NOT_AVAILABLE):
        code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS  # tried again without a new look-up
    if code != ErrorCode.NONE:
        raise KafkaError(code)


def refuse(request: TxnOffsetCommitRequest, error: KafkaError) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(topics=[refusal(topic, error.code) for topic in request.topics])


def refusal(topic: TxnOffsetCommitRequestTopic, code: ErrorCode) -> TxnOffsetCommitResponseTopic:
    return TxnOffsetCommitResponseTopic(
        name=topic.name,
        partitions=[
            TxnOffsetCommitResponsePartition(partition_index=part.partition_index, error_code=code)
            for part in topic.partitions
        ],
    )
