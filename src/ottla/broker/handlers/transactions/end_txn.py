"""EndTxn: commit or abort.

v2 (KIP-588): PRODUCER_FENCED, which was INVALID_PRODUCER_EPOCH before; v5 (KIP-890): the reply
carries the bumped epoch to go on with.
"""

from ottla.broker.services import TransactionServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.transactions.machine import EPOCH_BUMP_VERSION, EndTransaction
from ottla.wire.messages.end_txn import EndTxnRequest, EndTxnResponse

FIRST_WITH_EPOCH_BUMP = 5


async def handle(
    request: EndTxnRequest, context: RequestContext, services: TransactionServices
) -> EndTxnResponse:
    bumps = context.api_version >= FIRST_WITH_EPOCH_BUMP
    ask = EndTransaction(
        producer_id=request.producer_id,
        producer_epoch=request.producer_epoch,
        commit=request.committed,
        client_version=EPOCH_BUMP_VERSION if bumps else 0,
    )
    try:
        transaction = await services.coordinator().end(request.transactional_id, ask)
    except KafkaError as error:
        code = error.code
        if code == ErrorCode.PRODUCER_FENCED and context.api_version < 2:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        return EndTxnResponse(error_code=code)
    next_id, next_epoch = transaction.producer_id, transaction.producer_epoch
    if transaction.next_producer_id >= 0:
        next_id, next_epoch = transaction.next_producer_id, 0
    return EndTxnResponse(producer_id=next_id, producer_epoch=next_epoch)
