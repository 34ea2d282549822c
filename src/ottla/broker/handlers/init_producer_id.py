"""InitProducerId: an id and an epoch for an idempotent producer.

Without a transactional id any number that nobody else has will do; with one, the transaction
coordinator knows who it was before.
"""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


async def handle(
    request: InitProducerIdRequest, context: RequestContext, broker: Broker
) -> InitProducerIdResponse:
    if request.transactional_id is not None:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "No coordinator is running here.")
    producer_id = await broker.producer_ids.next()
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def refuse(request: InitProducerIdRequest, error: KafkaError) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error.code, producer_id=-1, producer_epoch=-1)
