"""Rights to transactions, and to what is written in them."""

from typing import Any

from ottla.broker.access import Operation, Resource
from ottla.broker.internal_topics import INTERNAL_TOPICS
from ottla.broker.rights.guard import (
    After,
    Asker,
    Guard,
    Refuse,
    each,
    first_of,
    shown,
    split,
    whole,
)
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.message import Message
from ottla.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)

FIRST_OF_BROKERS = 4
"""From there on only brokers ask AddPartitionsToTxn."""
WRITES = whole(Operation.WRITE, Resource.TRANSACTIONAL_ID, "transactional_id")
READS_GROUP = whole(Operation.READ, Resource.GROUP, "group_id")


def _init_producer_id(request: Any, asker: Asker, refuse: Refuse) -> None:
    """Without transactions whoever may write to some topic may be idempotent."""
    if request.transactional_id is not None:
        asker.demand(Operation.WRITE, Resource.TRANSACTIONAL_ID, request.transactional_id)
        if getattr(request, "enable2_pc", False):
            asker.demand(
                Operation.TWO_PHASE_COMMIT, Resource.TRANSACTIONAL_ID, request.transactional_id
            )
    elif not asker.may_cluster(Operation.IDEMPOTENT_WRITE) and not asker.access.allows_some(
        asker.context, Operation.WRITE, Resource.TOPIC
    ):
        raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


def _add_partitions_to_txn(
    request: AddPartitionsToTxnRequest, asker: Asker, refuse: Refuse
) -> Message | None:
    """One that is refused keeps the others out as well."""
    if asker.version >= FIRST_OF_BROKERS:
        asker.demand_cluster(Operation.CLUSTER_ACTION)
        return None
    topics = request.v3_and_below_topics
    if not asker.may(
        Operation.WRITE, Resource.TRANSACTIONAL_ID, request.v3_and_below_transactional_id
    ):
        code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return _added([(topic, code) for topic in topics])
    _, denied = split(topics, lambda topic: _may_write(topic, asker))
    if not denied:
        return None
    return _added([(topic, _why_not(topic, asker)) for topic in topics])


def _may_write(topic: AddPartitionsToTxnTopic, asker: Asker) -> bool:
    return topic.name not in INTERNAL_TOPICS and asker.may_topic(Operation.WRITE, topic.name)


def _why_not(topic: AddPartitionsToTxnTopic, asker: Asker) -> ErrorCode:
    if not _may_write(topic, asker):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    known = asker.image.topics_by_name.get(topic.name)
    there = known is not None and all(index in known.partitions for index in topic.partitions)
    return ErrorCode.OPERATION_NOT_ATTEMPTED if there else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _added(
    topics: list[tuple[AddPartitionsToTxnTopic, ErrorCode]],
) -> AddPartitionsToTxnResponse:
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    AddPartitionsToTxnPartitionResult(
                        partition_index=index, partition_error_code=code
                    )
                    for index in topic.partitions
                ],
            )
            for topic, code in topics
        ]
    )


def _write_txn_markers(request: Any, asker: Asker, refuse: Refuse) -> None:
    if not asker.may_cluster(Operation.ALTER):
        asker.demand_cluster(Operation.CLUSTER_ACTION)


_DESCRIBED = each(
    "transactional_ids",
    Operation.DESCRIBE,
    Resource.TRANSACTIONAL_ID,
    answers="transaction_states",
)


def _describe_transactions(request: Any, asker: Asker, refuse: Refuse) -> After | Message:
    """Of what a transaction writes to, only topics that the asker may see."""
    outcome = _DESCRIBED(request, asker, refuse)
    if isinstance(outcome, Message):
        return outcome

    def after(response: Any) -> None:
        for state in response.transaction_states:
            state.topics = [
                topic for topic in state.topics if asker.may_topic(Operation.DESCRIBE, topic.topic)
            ]
        if outcome is not None:
            outcome(response)

    return after


GUARDS: dict[str, Guard] = {
    "init_producer_id": _init_producer_id,
    "add_partitions_to_txn": _add_partitions_to_txn,
    "add_offsets_to_txn": first_of(WRITES, READS_GROUP),
    "end_txn": WRITES,
    "write_txn_markers": _write_txn_markers,
    "txn_offset_commit": first_of(
        WRITES,
        READS_GROUP,
        each("topics", Operation.READ, Resource.TOPIC, answers="topics", name="name"),
    ),
    "describe_transactions": _describe_transactions,
    "list_transactions": shown(
        "transaction_states", "transactional_id", Operation.DESCRIBE, Resource.TRANSACTIONAL_ID
    ),
}
