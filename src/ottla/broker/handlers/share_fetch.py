"""ShareFetch: a member of a share group answers for what it had, and takes what is next.

Answers come first. Then each partition of the session is asked for records; where none has any,
the request waits, until something is appended or given back.
"""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.broker.features import SHARE_GROUPS, require
from ottla.broker.share_queues import Queue
from ottla.broker.share_sessions import (
    CLOSING,
    OPENING,
    Partition,
    SessionKey,
    ShareSession,
    session_key,
)
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

BATCH_OPTIMIZED = 0
EXPECTED = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
"""What may be said of a partition."""
Answers = dict[Partition, PartitionData]


async def handle(
    request: ShareFetchRequest, context: RequestContext, broker: Broker
) -> ShareFetchResponse:
    require(broker, SHARE_GROUPS)
    key = session_key(request.group_id, request.member_id)
    shares = broker.shares
    session = shares.sessions.find(key, request.share_session_epoch, context.peer)
    _update(session, request)
    answers: Answers = {}
    await _acknowledge(request, key, broker, answers)
    if request.share_session_epoch == CLOSING:
        shares.close_session(key)
    elif not request.is_renew_ack:
        await _take(request, key, session, broker, answers)
    return _response(broker, context, key, answers)


def _update(session: ShareSession, request: ShareFetchRequest) -> None:
    if request.share_session_epoch == OPENING and any(
        part.acknowledgement_batches for topic in request.topics for part in topic.partitions
    ):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "A new session has nothing to acknowledge yet.")
    if request.share_session_epoch == CLOSING:
        return
    for topic in request.topics:
        for part in topic.partitions:
            session.partitions.setdefault((topic.topic_id, part.partition_index), False)
    for forgotten in request.forgotten_topics_data:
        for index in forgotten.partitions:
            session.partitions.pop((forgotten.topic_id, index), None)


async def _acknowledge(
    request: ShareFetchRequest, key: SessionKey, broker: Broker, answers: Answers
) -> None:
    for topic in request.topics:
        for part in topic.partitions:
            if not part.acknowledgement_batches:
                continue
            data = _answer(answers, (topic.topic_id, part.partition_index))
            try:
                await broker.shares.acknowledge(
                    key, topic.topic_id, part.partition_index, part.acknowledgement_batches
                )
            except KafkaError as refusal:
                data.acknowledge_error_code = refusal.code
                data.acknowledge_error_message = refusal.message


async def _take(
    request: ShareFetchRequest,
    key: SessionKey,
    session: ShareSession,
    broker: Broker,
    answers: Answers,
) -> None:
    deadline = broker.now() + request.max_wait_ms / 1000
    queues = await _open(key, session, broker, answers)
    while not await _take_once(request, key, queues, broker, answers):
        seconds = deadline - broker.now()
        if seconds <= 0 or not queues or answers:
            return  # errors and answers are not kept waiting
        await broker.shares.wait(list(queues.values()), seconds)
        queues = await _open(key, session, broker, answers)


async def _open(
    key: SessionKey, session: ShareSession, broker: Broker, answers: Answers
) -> dict[Partition, Queue]:
    queues = {}
    for partition in session.rotated():
        try:
            # Offsets are reset while nobody is in the group: who comes then opens a session.
            confirmed = session.partitions.get(partition, True)
            queues[partition] = await broker.shares.queues.open(
                key.group_id, *partition, confirmed=confirmed
            )
            if not confirmed and partition in session.partitions:
                session.partitions[partition] = True
        except KafkaError as refusal:
            _refuse(partition, refusal, broker, answers)
    return queues


async def _take_once(
    request: ShareFetchRequest,
    key: SessionKey,
    queues: dict[Partition, Queue],
    broker: Broker,
    answers: Answers,
) -> bool:
    left = request.max_records if request.max_records > 0 else 500
    whole = request.share_acquire_mode == BATCH_OPTIMIZED
    size = 0
    for partition, queue in queues.items():
        if left <= 0 or size >= request.max_bytes:
            break
        try:
            taken = await broker.shares.take(key, queue, left, whole_batches=whole)
        except KafkaError as refusal:  # the member keeps what it has of the others
            _refuse(partition, refusal, broker, answers)
            continue
        if taken is None:
            continue
        data = _answer(answers, partition)
        data.records = bytes(taken.records)
        data.acquired_records = [
            AcquiredRecords(
                first_offset=one.first, last_offset=one.last, delivery_count=one.deliveries
            )
            for one in taken.acquired
        ]
        size += len(taken.records)
        left -= sum(one.last - one.first + 1 for one in taken.acquired)
    return size > 0


def _answer(answers: Answers, partition: Partition) -> PartitionData:
    found = answers.get(partition)
    if found is None:
        nobody = LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1)
        found = PartitionData(partition_index=partition[1], current_leader=nobody)
        answers[partition] = found
    return found


def _refuse(partition: Partition, refusal: KafkaError, broker: Broker, answers: Answers) -> None:
    data = _answer(answers, partition)
    data.error_code, data.error_message = _understood(refusal), refusal.message
    data.current_leader = _leader(partition, broker)


def _understood(refusal: KafkaError) -> ErrorCode:
    """Java's client ends over a code that it does not expect here, as those of the coordinator
    that keeps the state; with this one it looks for the leader, and asks again."""
    if isinstance(refusal, Damage):
        return ErrorCode.KAFKA_STORAGE_ERROR
    return refusal.code if refusal.code in EXPECTED else ErrorCode.NOT_LEADER_OR_FOLLOWER


def _leader(partition: Partition, broker: Broker) -> LeaderIdAndEpoch:
    state = broker.partition_state("", *partition)
    if state is None:
        return LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1)
    return LeaderIdAndEpoch(leader_id=state.leader, leader_epoch=state.leader_epoch)


def _response(
    broker: Broker, context: RequestContext, key: SessionKey, answers: Answers
) -> ShareFetchResponse:
    topics: dict[Uuid, list[PartitionData]] = {}
    for (topic_id, _), data in answers.items():
        topics.setdefault(topic_id, []).append(data)
    leaders = {data.current_leader.leader_id for data in answers.values()} - {-1}
    return ShareFetchResponse(
        acquisition_lock_timeout_ms=int(broker.shares.queues.terms_of(key.group_id).lock_s * 1000),
        responses=[
            ShareFetchableTopicResponse(topic_id=topic_id, partitions=partitions)
            for topic_id, partitions in topics.items()
        ],
        node_endpoints=[
            NodeEndpoint(node_id=node_id, host=host, port=port, rack=rack)
            for node_id, host, port, rack in broker.endpoints(leaders, context.listener_name)
        ],
    )
