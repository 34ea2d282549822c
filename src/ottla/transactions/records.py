"""The form of a transaction on `__transaction_state`."""

from collections import defaultdict

from ottla.coordination.machine import CoordinatorRecord, RecordTypes
from ottla.ids import TopicPartition
from ottla.transactions.states import Transaction, TransactionState
from ottla.wire.records.transactions import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)

RECORDS = RecordTypes(
    classes={TransactionLogKey.API_KEY: (TransactionLogKey, TransactionLogValue)},
    value_versions={TransactionLogValue: 1},
)


def entry_of(transaction: Transaction) -> CoordinatorRecord:
    return CoordinatorRecord(key_of(transaction.transactional_id), value_of(transaction))


def tombstone_of(transactional_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(key_of(transactional_id), None)


def key_of(transactional_id: str) -> TransactionLogKey:
    return TransactionLogKey(transactional_id=transactional_id)


def value_of(transaction: Transaction) -> TransactionLogValue:
    by_topic: defaultdict[str, list[int]] = defaultdict(list)
    for topic, partition in sorted(transaction.partitions):
        by_topic[topic].append(partition)
    partitions = None
    if transaction.state is not TransactionState.EMPTY:
        partitions = [PartitionsSchema(topic=t, partition_ids=ids) for t, ids in by_topic.items()]
    return TransactionLogValue(
        producer_id=transaction.producer_id,
        previous_producer_id=transaction.previous_producer_id,
        next_producer_id=transaction.next_producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        transaction_partitions=partitions,
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.started_ms,
        client_transaction_version=transaction.client_version,
    )


def transaction_of(transactional_id: str, value: TransactionLogValue) -> Transaction:
    return Transaction(
        transactional_id=transactional_id,
        producer_id=value.producer_id,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        state=TransactionState(value.transaction_status),
        partitions=frozenset(
            TopicPartition(each.topic, index)
            for each in value.transaction_partitions or ()
            for index in each.partition_ids
        ),
        started_ms=value.transaction_start_timestamp_ms,
        updated_ms=value.transaction_last_update_timestamp_ms,
        client_version=value.client_transaction_version,
    )
