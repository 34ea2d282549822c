"""AddPartitionsToTxn: partitions that a transaction is going to write to.

Up to version 3 a client asks, for one transaction; from 4 on brokers ask on behalf of clients,
for several at once, and may only want to know (`verify_only`) whether a partition is in already
(KIP-890). v2 (KIP-588): PRODUCER_FENCED; v5: the transaction is one whose epoch is bumped.
"""

from collections.abc import Mapping

from ottla.broker.services import TransactionServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import TopicPartition
from ottla.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

FIRST_OF_BROKERS = 4
FIRST_WITH_EPOCH_BUMP = 5
EPOCH_BUMP_VERSION = 2
Codes = Mapping[TopicPartition, ErrorCode]


async def handle(
    request: AddPartitionsToTxnRequest, context: RequestContext, services: TransactionServices
) -> AddPartitionsToTxnResponse:
    if context.api_version >= FIRST_OF_BROKERS:
        results = []
        bumps = context.api_version >= FIRST_WITH_EPOCH_BUMP
        for ask in request.transactions:
            codes = await decide(ask, services, client_version=EPOCH_BUMP_VERSION if bumps else 0)
            topics = by_topic(ask.topics, codes)
            results.append(
                AddPartitionsToTxnResult(
                    transactional_id=ask.transactional_id, topic_results=topics
                )
            )
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    ask = AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    codes = await decide(ask, services, client_version=0)
    if context.api_version < 2:  # those clients do not know the newer code
        codes = {
            partition: ErrorCode.INVALID_PRODUCER_EPOCH
            if code == ErrorCode.PRODUCER_FENCED
            else code
            for partition, code in codes.items()
        }
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=by_topic(ask.topics, codes))


async def decide(
    ask: AddPartitionsToTxnTransaction, services: TransactionServices, client_version: int
) -> Codes:
    asked = frozenset(
        TopicPartition(topic.name, index) for topic in ask.topics for index in topic.partitions
    )
    unknown = {each for each in asked if not services.cluster.has_partition(each)}
    if unknown:
        return {
            each: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if each in unknown
            else ErrorCode.OPERATION_NOT_ATTEMPTED
            for each in asked
        }
    try:
        if ask.verify_only:
            return await services.coordinator().verify_partitions(
                ask.transactional_id, ask.producer_id, ask.producer_epoch, asked
            )
        await services.coordinator().add_partitions(
            ask.transactional_id, ask.producer_id, ask.producer_epoch, asked, client_version
        )
    except KafkaError as error:
        return dict.fromkeys(asked, error.code)
    return dict.fromkeys(asked, ErrorCode.NONE)


def by_topic(
    topics: list[AddPartitionsToTxnTopic], codes: Codes
) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=index,
                    partition_error_code=codes[TopicPartition(topic.name, index)],
                )
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]
