"""InitProducerId: an id and an epoch for an idempotent producer.

Without a transactional id any number that nobody else has will do; with one, the transaction
coordinator knows who it was before. v3 (KIP-360): the client may name the id and epoch it has;
v4 (KIP-588): PRODUCER_FENCED, which was INVALID_PRODUCER_EPOCH before.
"""

from ottla.broker.services import TransactionServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.transactions.states import NO_EPOCH, NO_PRODUCER_ID
from ottla.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

PRODUCER_FENCED_SINCE = 4


async def handle(
    request: InitProducerIdRequest, context: RequestContext, services: TransactionServices
) -> InitProducerIdResponse:
    known = (request.producer_id, request.producer_epoch)
    if (known[0] == NO_PRODUCER_ID) != (known[1] == NO_EPOCH):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "A producer id comes with its epoch.")
    if request.transactional_id is None:
        producer_id = await services.producer_ids.next()
        return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
    try:
        transaction = await services.coordinator().init_producer(
            request.transactional_id,
            request.transaction_timeout_ms,
            expected=None if known[0] == NO_PRODUCER_ID else known,
        )
    except KafkaError as error:
        if error.code == ErrorCode.PRODUCER_FENCED and context.api_version < PRODUCER_FENCED_SINCE:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH, error.message) from None
        raise
    return InitProducerIdResponse(
        producer_id=transaction.producer_id, producer_epoch=transaction.producer_epoch
    )


def refuse(request: InitProducerIdRequest, error: KafkaError) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error.code, producer_id=-1, producer_epoch=-1)
