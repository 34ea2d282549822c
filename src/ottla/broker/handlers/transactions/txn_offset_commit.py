"""TxnOffsetCommit: offsets of a group that count if the transaction commits.

The transaction's coordinator is asked first whether the group's partition is part of it; a client
of version 5 has not announced it, so asking adds it (KIP-890). v2: a coordinator that loads says
so; v3 (KIP-447): the group checks its member; v4: TRANSACTION_ABORTABLE.
"""

from ottla.broker.producing.transaction_verification import Patience
from ottla.broker.services import TransactionServices
from ottla.broker.transport.context import RequestContext
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
FIRST_THAT_KNOWS_LOADING = 2
NO_SEQUENCE = -1


async def handle(
    request: TxnOffsetCommitRequest, context: RequestContext, services: TransactionServices
) -> TxnOffsetCommitResponse:
    refused = set_aside_unknown(request, services)
    if not request.topics:
        return TxnOffsetCommitResponse(topics=refused)
    try:
        await admit(request, context.api_version, services)
        refused += set_aside_unknown(request, services)  # deleted while we asked
        response = TxnOffsetCommitResponse(topics=[])
        if request.topics:
            response = await services.groups().commit_in_transaction(request)
    except KafkaError as error:
        response = refuse(request, error)
    response.topics = merged(refused, response.topics)
    if context.api_version < FIRST_THAT_KNOWS_LOADING:
        hide_loading(response)
    return response


def set_aside_unknown(
    request: TxnOffsetCommitRequest, services: TransactionServices
) -> list[TxnOffsetCommitResponseTopic]:
    """Take the partitions that do not exist out of the request, before anything else is looked
    at; what is deleted later takes its offsets along."""
    refused = []
    known = []
    for topic in request.topics:
        exists = [
            services.cluster.has_partition(TopicPartition(topic.name, part.partition_index))
            for part in topic.partitions
        ]
        there = [part for part, is_there in zip(topic.partitions, exists, strict=True) if is_there]
        missing = [part for part in topic.partitions if part not in there]
        if missing:
            unknown = TxnOffsetCommitRequestTopic(name=topic.name, partitions=missing)
            refused.append(refusal(unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        if there:
            known.append(TxnOffsetCommitRequestTopic(name=topic.name, partitions=there))
    request.topics = known
    return refused


def merged(
    refused: list[TxnOffsetCommitResponseTopic], others: list[TxnOffsetCommitResponseTopic]
) -> list[TxnOffsetCommitResponseTopic]:
    """Each topic once, its refused partitions first."""
    topics: dict[str, TxnOffsetCommitResponseTopic] = {}
    for topic in refused + others:
        if topic.name in topics:
            topics[topic.name].partitions += topic.partitions
        else:
            topics[topic.name] = topic
    return list(topics.values())


def hide_loading(response: TxnOffsetCommitResponse) -> None:
    """Clients of those versions fail on a coordinator that loads."""
    for topic in response.topics:
        for part in topic.partitions:
            if part.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                part.error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE


async def admit(
    request: TxnOffsetCommitRequest, version: int, services: TransactionServices
) -> None:
    """Return when the transaction's coordinator agrees, and a commit may follow at once."""
    if not request.group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    shards = services.groups().shards
    partition = TopicPartition(shards.topic, shards.partition_of(request.group_id))
    producer = (request.producer_id, request.producer_epoch)
    adds = version >= FIRST_THAT_ADDS
    patience = Patience(adds)
    while True:
        try:
            leader = services.partitions.leader(*partition)
        except KafkaError as error:
            raise KafkaError(ErrorCode.NOT_COORDINATOR, error.message) from None
        producers = leader.log.producers
        verification = producers.verify(
            *producer, NO_SEQUENCE, adds=adds, now_ms=services.cluster.clock.wall_ms()
        )
        if verification is None:
            return
        codes = await services.verifier().ask(
            request.transactional_id, *producer, frozenset({partition}), add=adds
        )
        if await patience.bears(codes):
            continue
        code = told(codes[partition], version)
        if code == ErrorCode.NONE and leader.deposed:
            code = ErrorCode.NOT_COORDINATOR
        if code != ErrorCode.NONE:
            raise KafkaError(code)
        producers.check_verified(*producer, verification)
        return


def told(code: ErrorCode, version: int) -> ErrorCode:
    """The coordinator's code as this client knows it."""
    if code == ErrorCode.TRANSACTION_ABORTABLE and version < FIRST_WITH_ABORTABLE:
        return ErrorCode.INVALID_TXN_STATE
    if code == ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code == ErrorCode.NETWORK_EXCEPTION:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS  # tried again without a new look-up
    return code


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
