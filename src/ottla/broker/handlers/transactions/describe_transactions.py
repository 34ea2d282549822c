"""DescribeTransactions: how transactions stand that this broker coordinates."""

from collections import defaultdict

from ottla.broker.services import TransactionServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import KafkaError
from ottla.transactions.coordinator import TransactionCoordinator
from ottla.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)


def handle(
    request: DescribeTransactionsRequest, context: RequestContext, services: TransactionServices
) -> DescribeTransactionsResponse:
    coordinator = services.coordinator()
    return DescribeTransactionsResponse(
        transaction_states=[describe(name, coordinator) for name in request.transactional_ids]
    )


def refuse(request: DescribeTransactionsRequest, error: KafkaError) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[
            TransactionState(transactional_id=name, error_code=error.code)
            for name in request.transactional_ids
        ]
    )


def describe(transactional_id: str, coordinator: TransactionCoordinator) -> TransactionState:
    try:
        transaction = coordinator.describe(transactional_id)
    except KafkaError as error:
        return TransactionState(transactional_id=transactional_id, error_code=error.code)
    by_topic: defaultdict[str, list[int]] = defaultdict(list)
    for topic, partition in sorted(transaction.partitions):
        by_topic[topic].append(partition)
    return TransactionState(
        transactional_id=transactional_id,
        transaction_state=transaction.state.title,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.started_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=[TopicData(topic=topic, partitions=ids) for topic, ids in by_topic.items()],
    )
