"""DeleteShareGroupOffsets: a share group that nobody is in forgets topics."""

from ottla.broker.features import SHARE_GROUPS, require
from ottla.broker.services import ShareServices
from ottla.broker.share.starting import delete_states
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import Uuid
from ottla.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)


async def handle(
    request: DeleteShareGroupOffsetsRequest, context: RequestContext, services: ShareServices
) -> DeleteShareGroupOffsetsResponse:
    require(services.cluster, SHARE_GROUPS)
    if not request.group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    names = [topic.topic_name for topic in request.topics]
    known, unknown = await services.groups.begin_to_forget_share(request.group_id, names)
    responses, deleted = [], set[Uuid]()
    for topic_id, (name, indexes) in known.items():
        response = DeleteShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic_id)
        responses.append(response)
        try:
            await delete_states(services.states, request.group_id, topic_id, indexes)
            deleted.add(topic_id)
        except KafkaError as refusal:
            response.error_code, response.error_message = refusal.code, refusal.message
    if deleted:
        await services.groups.forget_share(request.group_id, deleted)
    responses += [
        DeleteShareGroupOffsetsResponseTopic(
            topic_name=name, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        )
        for name in unknown
    ]
    return DeleteShareGroupOffsetsResponse(responses=responses)
