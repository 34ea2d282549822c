"""The form of a transaction on `__transaction_state`."""

from collections import defaultdict
from struct import pack, unpack_from

from ottla.ids import TopicPartition
from ottla.transactions.states import State, Transaction
from ottla.wire.codec import decode, encode
from ottla.wire.records.transactions import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)

VALUE_VERSION = 1  # what transaction.version 1 and 2 write


def key_of(transactional_id: str) -> bytes:
    return pack(">h", 0) + encode(TransactionLogKey(transactional_id=transactional_id), 0)


def value_of(transaction: Transaction) -> bytes:
    by_topic: defaultdict[str, list[int]] = defaultdict(list)
    for topic, partition in sorted(transaction.partitions):
        by_topic[topic].append(partition)
    partitions = None
    if transaction.state is not State.EMPTY:
        partitions = [PartitionsSchema(topic=t, partition_ids=ids) for t, ids in by_topic.items()]
    value = TransactionLogValue(
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
    return pack(">h", VALUE_VERSION) + encode(value, VALUE_VERSION)


def read_key(key: bytes) -> str | None:
    """The transactional id; None for a kind of key that a newer version wrote."""
    (version,) = unpack_from(">h", key)
    if version != 0:
        return None
    return decode(TransactionLogKey, 0, key, 2)[0].transactional_id


def read_value(transactional_id: str, value: bytes) -> Transaction:
    (version,) = unpack_from(">h", value)
    found, _ = decode(TransactionLogValue, version, value, 2)
    return Transaction(
        transactional_id=transactional_id,
        producer_id=found.producer_id,
        previous_producer_id=found.previous_producer_id,
        next_producer_id=found.next_producer_id,
        producer_epoch=found.producer_epoch,
        timeout_ms=found.transaction_timeout_ms,
        state=State(found.transaction_status),
        partitions=frozenset(
            TopicPartition(each.topic, index)
            for each in found.transaction_partitions or ()
            for index in each.partition_ids
        ),
        started_ms=found.transaction_start_timestamp_ms,
        updated_ms=found.transaction_last_update_timestamp_ms,
        client_version=found.client_transaction_version,
    )
