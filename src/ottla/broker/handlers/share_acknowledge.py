"""ShareAcknowledge: a member of a share group says what became of records it took."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.broker.features import SHARE_GROUPS, require
from ottla.broker.share_sessions import CLOSING, OPENING, SessionKey, session_key
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.messages.share_acknowledge import (
    AcknowledgeTopic,
    LeaderIdAndEpoch,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)


async def handle(
    request: ShareAcknowledgeRequest, context: RequestContext, broker: Broker
) -> ShareAcknowledgeResponse:
    require(broker, SHARE_GROUPS)
    key = session_key(request.group_id, request.member_id)
    if request.share_session_epoch == OPENING:
        raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    broker.shares.sessions.find(key, request.share_session_epoch, context.peer)
    responses = [await _answer(topic, key, broker) for topic in request.topics]
    if request.share_session_epoch == CLOSING:
        broker.shares.close_session(key)
    lock_s = broker.shares.queues.terms_of(key.group_id).lock_s
    return ShareAcknowledgeResponse(
        responses=responses, acquisition_lock_timeout_ms=int(lock_s * 1000)
    )


async def _answer(
    topic: AcknowledgeTopic, key: SessionKey, broker: Broker
) -> ShareAcknowledgeTopicResponse:
    response = ShareAcknowledgeTopicResponse(topic_id=topic.topic_id, partitions=[])
    for part in topic.partitions:
        index = part.partition_index
        nobody = LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1)
        data = PartitionData(partition_index=index, current_leader=nobody)
        response.partitions.append(data)
        try:
            await broker.shares.acknowledge(
                key, topic.topic_id, index, part.acknowledgement_batches
            )
        except KafkaError as refusal:
            data.error_code, data.error_message = refusal.code, refusal.message
            state = broker.partition_state("", topic.topic_id, index)
            if refusal.code is ErrorCode.NOT_LEADER_OR_FOLLOWER and state is not None:
                data.current_leader = LeaderIdAndEpoch(
                    leader_id=state.leader, leader_epoch=state.leader_epoch
                )
    return response
