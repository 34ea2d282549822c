"""AddOffsetsToTxn: the transaction will commit offsets of a group.

Nothing but one more partition of the transaction: that of `__consumer_offsets` the group is on.
v2 (KIP-588): PRODUCER_FENCED, which was INVALID_PRODUCER_EPOCH before.
"""

from ottla.broker.services import TransactionServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import TopicPartition
from ottla.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse


async def handle(
    request: AddOffsetsToTxnRequest, context: RequestContext, services: TransactionServices
) -> AddOffsetsToTxnResponse:
    offsets = services.groups().shards
    partition = TopicPartition(offsets.topic, offsets.partition_of(request.group_id))
    try:
        await services.coordinator().add_partitions(
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            frozenset({partition}),
        )
    except KafkaError as error:
        code = error.code
        if code == ErrorCode.PRODUCER_FENCED and context.api_version < 2:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        return AddOffsetsToTxnResponse(error_code=code)
    return AddOffsetsToTxnResponse()
