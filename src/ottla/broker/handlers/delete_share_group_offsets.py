"""DeleteShareGroupOffsets: a share group that nobody is in forgets topics."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.broker.features import SHARE_GROUPS, require
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share.states import Place
from ottla.ids import Uuid
from ottla.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)


async def handle(
    request: DeleteShareGroupOffsetsRequest, context: RequestContext, broker: Broker
) -> DeleteShareGroupOffsetsResponse:
    require(broker, SHARE_GROUPS)
    names = {topic.topic_name for topic in request.topics}
    queues = broker.groups.share_queues_to_forget(request.group_id, names)
    by_name = {name: (topic_id, indexes) for topic_id, (name, indexes) in queues.items()}
    responses, deleted = [], set[str]()
    for name in sorted(names):
        response = DeleteShareGroupOffsetsResponseTopic(topic_name=name)
        responses.append(response)
        if name not in by_name:
            response.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            continue
        response.topic_id, indexes = by_name[name]
        try:
            await delete_states(broker, request.group_id, response.topic_id, indexes)
            deleted.add(name)
        except KafkaError as refusal:
            response.error_code, response.error_message = refusal.code, refusal.message
    if deleted:
        await broker.groups.forget_share(request.group_id, deleted)
    return DeleteShareGroupOffsetsResponse(responses=responses)


async def delete_states(
    broker: Broker, group_id: str, topic_id: Uuid, partitions: frozenset[int]
) -> None:
    for partition in sorted(partitions):
        await broker.share_states.delete(Place(group_id, topic_id, partition))
