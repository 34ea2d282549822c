"""ShareFetch: a member of a share group answers for what it had, and takes what is next.

Each partition of the session is asked for records; where there are not enough, the request waits,
until something is appended or given back. The first answer of a session tells of every partition,
later ones of those where something is to tell.

v2 (KIP-1206, KIP-1222): whether whole batches are taken or so many records; locks are renewed,
and then nothing is taken.
"""

import asyncio

from ottla.broker.features import SHARE_GROUPS, require
from ottla.broker.services import ShareServices
from ottla.broker.share.acknowledging import Outcomes, acknowledge
from ottla.broker.share.fetching import Found, ShareFetching, Taken, Wanted
from ottla.broker.share.sessions import (
    CLOSING,
    OPENING,
    Partition,
    SessionKey,
    ShareSession,
    next_epoch,
    rotated,
    session_key,
)
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import Uuid
from ottla.log.reading import Damage
from ottla.wire.messages.share_fetch import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)

WITH_RENEW = 2
RECORD_LIMIT = 1
LED_ELSEWHERE = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
EXPECTED = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
"""What may be said of a partition."""
Answers = dict[Partition, PartitionData]


async def handle(
    request: ShareFetchRequest, context: RequestContext, services: ShareServices
) -> ShareFetchResponse:
    require(services.cluster, SHARE_GROUPS)
    key = session_key(request.group_id, request.member_id)
    is_renewal = context.api_version >= WITH_RENEW and request.is_renew_ack
    if is_renewal:
        _check_renewal(request)
    session = await _session(request, key, context, services)
    answering = acknowledge(
        services.shares,
        services.cluster.image,
        key,
        request.topics if _has_answers(request) else (),
        version=context.api_version,
        is_renewal=is_renewal,
    )
    taking = _take(request, key, session, services, is_renewal)
    # Answers are begun first; records are taken while they are written, and what is given back
    # with them comes with this answer only if nothing else does.
    outcomes, found = await asyncio.gather(answering, taking)
    response = _response(request, session, found, services)
    _add_outcomes(response, outcomes)
    _add_leaders(response, context, services)
    if request.share_session_epoch == CLOSING:
        services.shares.close_session(key)
    lock_s = services.shares.queues.terms_of(key.group_id).lock_s
    response.acquisition_lock_timeout_ms = int(lock_s * 1000)
    return response


def _check_renewal(request: ShareFetchRequest) -> None:
    if request.max_bytes or request.min_bytes or request.max_records or request.max_wait_ms:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Who renews locks does not take records.")


def _has_answers(request: ShareFetchRequest) -> bool:
    return any(
        part.acknowledgement_batches for topic in request.topics for part in topic.partitions
    )


async def _session(
    request: ShareFetchRequest, key: SessionKey, context: RequestContext, services: ShareServices
) -> ShareSession:
    sessions, epoch = services.shares.sessions, request.share_session_epoch
    if epoch == CLOSING:
        return sessions.find(key, epoch)
    if epoch == OPENING:
        if _has_answers(request):
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, "A new session has nothing to acknowledge yet."
            )
        try:
            session = services.shares.open_session(key, context.peer)
        except KafkaError:
            await asyncio.sleep(request.max_wait_ms / 1000)  # lest it asks again at once
            raise
    else:
        session = sessions.find(key, epoch)
    known = services.cluster.image.topics_by_id
    session.add(
        (
            ((topic.topic_id, part.partition_index), topic.topic_id in known)
            for topic in request.topics
            for part in topic.partitions
        ),
        must_be_told=epoch != OPENING,
    )
    session.forget(
        (topic.topic_id, index)
        for topic in request.forgotten_topics_data
        for index in topic.partitions
        if epoch != OPENING
    )
    return session


async def _take(
    request: ShareFetchRequest,
    key: SessionKey,
    session: ShareSession,
    services: ShareServices,
    is_renewal: bool,
) -> Found:
    found: Found = {}
    if request.share_session_epoch == CLOSING or is_renewal:
        return found
    asked: list[Partition] = []
    for partition, member in session.partitions.items():
        if not member.is_named:
            found[partition] = KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        elif services.cluster.partition_state("", *partition) is None:
            found[partition] = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        else:
            asked.append(partition)
    wanted = Wanted(
        request.max_wait_ms / 1000,
        request.min_bytes,
        min(request.max_bytes, services.fetch_bytes_max),
        request.max_records,
        request.batch_size,
        request.share_acquire_mode == RECORD_LIMIT,
    )
    fetching = ShareFetching(services.shares, key, wanted)
    return found | await fetching.run(rotated(asked, request.share_session_epoch))


# -- the answer -------------------------------------------------------------------------------


def _response(
    request: ShareFetchRequest, session: ShareSession, found: Found, services: ShareServices
) -> ShareFetchResponse:
    epoch = request.share_session_epoch
    is_later = epoch not in (OPENING, CLOSING)
    if is_later and session.epoch != next_epoch(epoch):  # another request came meanwhile
        return ShareFetchResponse(error_code=ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    topics: dict[Uuid, list[PartitionData]] = {}
    for partition in sorted(found):  # so those who had records go last in an order that stays
        result = found[partition]
        data = _partition(partition, result, services)
        has_records, is_refused = bool(data.records), bool(data.error_code)
        if is_later and not session.must_tell(
            partition, has_records=has_records, is_refused=is_refused
        ):
            continue
        topics.setdefault(partition[0], []).append(data)
    return ShareFetchResponse(
        responses=[
            ShareFetchableTopicResponse(topic_id=topic_id, partitions=partitions)
            for topic_id, partitions in topics.items()
        ]
    )


def _partition(
    partition: Partition, result: Taken | KafkaError, services: ShareServices
) -> PartitionData:
    data = _empty(partition[1])
    if isinstance(result, KafkaError):
        data.error_code, data.error_message = _understood(result), result.message
        state = services.cluster.partition_state("", *partition)
        if data.error_code in LED_ELSEWHERE and state is not None:
            data.current_leader.leader_id = state.leader
            data.current_leader.leader_epoch = state.leader_epoch
        return data
    data.records = bytes(result.records)
    data.acquired_records = [
        AcquiredRecords(first_offset=one.first, last_offset=one.last, delivery_count=one.deliveries)
        for one in result.acquired
    ]
    return data


def _empty(index: int) -> PartitionData:
    return PartitionData(partition_index=index, current_leader=LeaderIdAndEpoch())


def _understood(refusal: KafkaError) -> ErrorCode:
    """Java's client ends over a code that it does not expect here, as those of the coordinator
    that keeps the state; with this one it looks for the leader, and asks again."""
    if isinstance(refusal, Damage):
        return ErrorCode.KAFKA_STORAGE_ERROR
    return refusal.code if refusal.code in EXPECTED else ErrorCode.NOT_LEADER_OR_FOLLOWER


def _add_outcomes(response: ShareFetchResponse, outcomes: Outcomes) -> None:
    topics = {topic.topic_id: topic for topic in response.responses}
    told = {
        (topic.topic_id, data.partition_index): data
        for topic in response.responses
        for data in topic.partitions
    }
    for partition, refusal in outcomes.items():
        data = told.get(partition)
        if data is None:
            data = _empty(partition[1])
            topic = topics.get(partition[0])
            if topic is None:
                topic = ShareFetchableTopicResponse(topic_id=partition[0], partitions=[])
                topics[partition[0]] = topic
                response.responses.append(topic)
            topic.partitions.append(data)
        if refusal is not None:
            data.acknowledge_error_code = refusal.code
            data.acknowledge_error_message = refusal.message


def _add_leaders(
    response: ShareFetchResponse, context: RequestContext, services: ShareServices
) -> None:
    leaders = {
        data.current_leader.leader_id
        for topic in response.responses
        for data in topic.partitions
        if data.error_code in LED_ELSEWHERE
    }
    response.node_endpoints = [
        NodeEndpoint(node_id=node_id, host=host, port=port, rack=rack)
        for node_id, host, port, rack in services.cluster.endpoints(leaders, context.listener_name)
    ]
