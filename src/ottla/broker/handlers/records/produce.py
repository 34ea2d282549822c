"""Produce: append batches to the partitions led here, and answer when they are safe enough.

acks 0: no reply at all, but a closed connection when something went wrong; 1: when written here;
all (-1): when every replica in sync has them. Versions: 5 adds the log's start, 8 errors with a
message, 7 allows zstd, 9 is flexible, 10 names the leader in a refusal, 12 adds partitions to
transactions, 13 has topic ids instead of names.
"""

from functools import partial
from struct import Struct
from typing import TYPE_CHECKING

from ottla.broker.dispatch import BadRequest
from ottla.broker.internal_topics import INTERNAL_TOPICS
from ottla.broker.long_checks import LongChecks, Verdicts, is_large
from ottla.broker.transaction_verification import Codes, TransactionVerification
from ottla.broker.transport.pending_reply import Body, ConnectionLost, PendingReply
from ottla.errors import ErrorCode, KafkaError
from ottla.log.partition_log import Appended
from ottla.log.validation import (
    LEGACY_OVERHEAD,
    InvalidRecords,
    NotOneBatch,
    check_alone,
    next_batch,
)
from ottla.replication.leader import ALL, Leader
from ottla.wire.codec import decode, encode, uvarint
from ottla.wire.compression import Codec
from ottla.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from ottla.wire.record_batch import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    HEADER_SIZE,
    LENGTH_AND_MAGIC,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    TRANSACTIONAL,
)

if TYPE_CHECKING:
    from ottla.broker.cluster_view import ClusterView
    from ottla.broker.services import RecordServices
    from ottla.broker.transport.context import RequestContext

_ADMIN_CLIENT = "__admin_client"
_LEADERSHIP_ERRORS = (ErrorCode.NOT_LEADER_OR_FOLLOWER,)
_UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
_WITHOUT_LOG_START = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.KAFKA_STORAGE_ERROR,
}
"""Refusals after which Kafka does not tell where the log starts, though it was asked."""
FIRST_WITH_ZSTD = 7

# One topic, one partition, no error: nearly every request of a busy producer.
_PLAIN = Struct(">ihqqq")
_PLAIN_END = bytes(4)  # no throttling
_PLAIN_END_8 = bytes(4) + b"\xff\xff" + bytes(4)  # no record errors, no message
_FLEXIBLE = Struct(">BihqqqHBBiB")


def serve(
    frame: memoryview, position: int, context: "RequestContext", services: "RecordServices"
) -> Body | PendingReply | None:
    request, _ = decode(ProduceRequest, context.api_version, frame, position)
    if services.cluster.access.restricts:
        from ottla.broker.rights.hot import take_out_refused, with_refused

        refused = take_out_refused(request, context, services.cluster)
        if refused:  # seldom: what is left goes its own way
            left = memoryview(encode(request, context.api_version))
            return with_refused(
                serve_allowed(left, 0, context, services), refused, context.api_version
            )
    return serve_allowed(frame, position, context, services, request)


def serve_allowed(
    frame: memoryview,
    position: int,
    context: "RequestContext",
    services: "RecordServices",
    request: ProduceRequest | None = None,
) -> Body | PendingReply | None:
    if request is None:
        request, _ = decode(ProduceRequest, context.api_version, frame, position)
    must_wait = must_ask(request, context, services)
    takes_long = (
        not must_wait
        and is_large(request)
        and long_checks(request, context.api_version, services).are_needed
    )
    if not must_wait and not takes_long:
        return append(request, context, services, {})
    kept = memoryview(bytes(frame))  # what waits outlives the frame it came in
    request, _ = decode(ProduceRequest, context.api_version, kept, position)
    if takes_long:
        go_on = partial(admit, request, context, services)
        return long_checks(request, context.api_version, services).then(services.background, go_on)
    return admit(request, context, services, {})


def long_checks(request: ProduceRequest, version: int, services: "RecordServices") -> LongChecks:
    find_leader, now_ms = services.partitions.find_leader, services.cluster.clock.wall_ms()
    return LongChecks(request, lambda place: find_leader(*place, version), now_ms)


def must_ask(
    request: ProduceRequest, context: "RequestContext", services: "RecordServices"
) -> bool:
    """Whether the transaction's coordinator must be asked, or others have to be waited for."""
    if request.transactional_id is None or refusal_of_all(request) is not None:
        return False
    return TransactionVerification(request, context.api_version, services).is_needed


def admit(
    request: ProduceRequest, context: "RequestContext", services: "RecordServices", proven: Verdicts
) -> Body | PendingReply | None:
    """Looked at just before the append: a transaction may end while a batch is proven."""
    if not must_ask(request, context, services):
        return append(request, context, services, {}, proven)
    verification = TransactionVerification(request, context.api_version, services)
    return verification.then(lambda codes: append(request, context, services, codes, proven))


def append(
    request: ProduceRequest,
    context: "RequestContext",
    services: "RecordServices",
    refused: Codes,
    proven: Verdicts | None = None,
) -> Body | PendingReply | None:
    work = ProduceOperation(request, context, services, refused, proven or {})
    if context.cost is not None:
        context.cost.throttled = work.reply
    if work.is_stranded():
        raise ConnectionLost
    if request.acks == 0:
        work.close_on_error()
        return None
    if work.may_wait and work.unsafe():
        return work.wait()
    return work.reply()


class Outcome:
    """What became of one partition's batch."""

    __slots__ = ("appended", "error", "leader", "log_start_offset", "partition")

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.leader: Leader | None = None
        self.appended: Appended | None = None
        self.error: KafkaError | None = None
        self.log_start_offset = -1  # known to the client also where the log refused the batch


class ProduceOperation:
    """One request from its appends to its reply."""

    def __init__(
        self,
        request: ProduceRequest,
        context: "RequestContext",
        services: "RecordServices",
        refused: Codes,
        proven: Verdicts,
    ) -> None:
        self.request = request
        self.proven = proven
        self.refused = refused
        self.version = context.api_version
        self.listener_name = context.listener_name
        self.services = services
        self.now = services.cluster.clock.monotonic()
        self.now_ms = services.cluster.clock.wall_ms()
        self.internal_allowed = context.client_id == _ADMIN_CLIENT
        self.may_wait = request.acks == ALL
        self.refusal = refusal_of_all(request)
        if self.version < FIRST_WITH_ZSTD and self.refusal is None:
            self.refusal = refusal_of_codecs(request, services.cluster)
        self.topics = [
            (topic, [self._append(topic, data) for data in topic.partition_data])
            for topic in request.topic_data
        ]

    def _append(self, topic: TopicProduceData, data: PartitionProduceData) -> Outcome:
        outcome = Outcome(data.index)
        was_asked = False  # the log, in the end
        try:
            if self.refusal is not None:
                raise self.refusal
            leader = outcome.leader = self._leader(topic, data)
            if self.version < FIRST_WITH_ZSTD:
                self._check_batch(data)
            if self.refused and (code := self.refused.get(leader.topic_partition)):
                self._check_batch(data)
                raise KafkaError(code, "The partition is not part of the transaction.")
            if self.request.acks not in (ALL, 0, 1):
                self._check_batch(data)
                raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)
            if leader.topic_partition.topic in INTERNAL_TOPICS and not self.internal_allowed:
                raise KafkaError(
                    ErrorCode.INVALID_TOPIC_EXCEPTION,
                    f"Clients may not write to {leader.topic_partition.topic}.",
                )
            if data.records is None:
                raise NotOneBatch("The request has no records.")
            was_asked = True
            proven = self.proven.get((topic.name, topic.topic_id, data.index))
            if isinstance(proven, KafkaError):
                raise proven
            outcome.appended = leader.append(
                data.records,
                now=self.now,
                now_ms=self.now_ms,
                acks=self.request.acks,
                proven=proven,
            )
            if outcome.appended.flush_due:
                self.may_wait = True
                self.services.durability.ask(leader, outcome.appended.last_offset + 1)
        except KafkaError as error:
            outcome.error = error
            if was_asked and not _hides_log_start(error):
                outcome.log_start_offset = leader.log.log_start_offset
        except Exception as error:
            outcome.error = self.services.background.unexpected(f"appending to {topic.name}", error)
        return outcome

    def _leader(self, topic: TopicProduceData, data: PartitionProduceData) -> Leader:
        partitions = self.services.partitions
        try:
            return partitions.find_leader(topic.name, topic.topic_id, data.index, self.version)
        except KafkaError as error:
            if error.code not in _UNKNOWN:  # what is wrong with the request itself comes first
                self._check_batch(data)
                if self.request.acks not in (ALL, 0, 1):
                    raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS) from None
            raise

    def _check_batch(self, data: PartitionProduceData) -> None:
        """What the request's version allows, whoever leads."""
        view = memoryview(data.records or b"")
        header = next_batch(view, 0)
        if header is None:
            raise NotOneBatch("There is no whole batch in the request.")
        if self.version < FIRST_WITH_ZSTD and header.codec == Codec.ZSTD:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
                f"Version {self.version} of Produce does not know zstd.",
            )
        check_alone(view, header)

    def outcomes(self) -> list[Outcome]:
        return [outcome for _, outcomes in self.topics for outcome in outcomes]

    # acks=0 ----------------------------------------------------------------------------------

    def close_on_error(self) -> None:
        for outcome in self.outcomes():
            if outcome.error is not None:
                raise BadRequest(f"a Produce with acks=0 failed: {outcome.error}")

    # Waiting for replicas, or for the disk -------------------------------------------------

    def is_stranded(self) -> bool:
        """Cut off, it cannot say who leads now: without it the client asks somebody else."""
        return self.request.acks == ALL and any(
            outcome.leader is not None and outcome.leader.isolated for outcome in self.outcomes()
        )

    def unsafe(self) -> bool:
        """Whether something appended may still be lost, as far as the client cares."""
        return any(self._is_unsafe(outcome) for outcome in self.outcomes())

    def _is_unsafe(self, outcome: Outcome) -> bool:
        appended, leader = outcome.appended, outcome.leader
        if appended is None or leader is None or outcome.error is not None:
            return False
        if self.request.acks == ALL and leader.log.high_watermark <= appended.last_offset:
            return True
        return appended.flush_due and leader.log.recovery_point <= appended.last_offset

    def wait(self) -> PendingReply:
        later = PendingReply()

        def try_now(expired: bool) -> bool:
            if self.is_stranded():
                later.break_off()
                return True
            for outcome in self.outcomes():
                self._notice_change(outcome, expired)
            if not expired and self.unsafe():
                return False
            later.deliver(self.reply())
            return True

        leaders = [outcome.leader for outcome in self.outcomes() if outcome.leader is not None]
        self.services.waiting.wait(leaders, self.request.timeout_ms / 1000, try_now, later)
        return later

    def _notice_change(self, outcome: Outcome, expired: bool) -> None:
        leader = outcome.leader
        if leader is None or outcome.appended is None or outcome.error is not None:
            return
        if leader.deposed:
            outcome.error = KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        elif leader.log.health.failure is not None:
            outcome.error = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
        elif self._is_unsafe(outcome):
            if expired:
                outcome.error = KafkaError(ErrorCode.REQUEST_TIMED_OUT)
        elif self.request.acks == ALL and leader.in_sync.is_under_min:
            outcome.error = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)

    # The reply -------------------------------------------------------------------------------

    def reply(self, throttle_ms: int = 0) -> Body:
        if len(self.topics) == 1 and not throttle_ms:
            topic, outcomes = self.topics[0]
            if len(outcomes) == 1 and outcomes[0].error is None and self.version >= 5:
                appended = outcomes[0].appended
                assert appended is not None
                return [plain_reply(self.version, topic, outcomes[0].partition, appended)]
        response = ProduceResponse(
            responses=[
                TopicProduceResponse(
                    name=topic.name,
                    topic_id=topic.topic_id,
                    partition_responses=[self._describe(outcome) for outcome in outcomes],
                )
                for topic, outcomes in self.topics
            ],
            throttle_time_ms=throttle_ms,
            node_endpoints=self._endpoints(),
        )
        return [encode(response, self.version)]

    def _describe(self, outcome: Outcome) -> PartitionProduceResponse:
        if outcome.error is not None:
            return PartitionProduceResponse(
                index=outcome.partition,
                error_code=outcome.error.code,
                base_offset=-1 if outcome.appended is None else outcome.appended.first_offset,
                log_append_time_ms=-1 if outcome.appended is None else outcome.appended.append_time,
                log_start_offset=outcome.log_start_offset
                if outcome.appended is None
                else outcome.appended.log_start_offset,
                record_errors=_records_at_fault(outcome.error),
                error_message=outcome.error.message,
                current_leader=self._current_leader(outcome),
            )
        assert outcome.appended is not None
        return PartitionProduceResponse(
            index=outcome.partition,
            base_offset=outcome.appended.first_offset,
            log_append_time_ms=outcome.appended.append_time,
            log_start_offset=outcome.appended.log_start_offset,
        )

    def _current_leader(self, outcome: Outcome) -> LeaderIdAndEpoch:
        """Where to go instead (KIP-951)."""
        error = outcome.error
        if error is None or error.code not in _LEADERSHIP_ERRORS:
            return LeaderIdAndEpoch()
        for topic, outcomes in self.topics:
            if outcome in outcomes:
                known = self.services.cluster.partition_state(
                    topic.name, topic.topic_id, outcome.partition
                )
                if known is not None:
                    return LeaderIdAndEpoch(leader_id=known.leader, leader_epoch=known.leader_epoch)
        return LeaderIdAndEpoch()

    def _endpoints(self) -> list[NodeEndpoint]:
        ids = {self._current_leader(outcome).leader_id for outcome in self.outcomes()} - {-1}
        return [
            NodeEndpoint(node_id=node_id, host=host, port=port, rack=rack)
            for node_id, host, port, rack in self.services.cluster.endpoints(
                ids, self.listener_name
            )
        ]


def _hides_log_start(error: KafkaError) -> bool:
    return error.code in _WITHOUT_LOG_START or isinstance(error, NotOneBatch)


def refusal_of_all(request: ProduceRequest) -> KafkaError | None:
    """A first batch that cannot be read, or one of a transaction without its name, refuses the
    request. Kafka looks no further than the first batch of a transaction."""
    for topic in request.topic_data:
        for data in topic.partition_data:
            records = data.records
            if records is None or len(records) <= MAGIC_AT:
                continue
            length, magic = LENGTH_AND_MAGIC.unpack_from(records, LENGTH_AT)
            if length < LEGACY_OVERHEAD or magic > MAGIC:
                return KafkaError(ErrorCode.CORRUPT_MESSAGE, "A batch cannot be read.")
            if length + LOG_OVERHEAD > len(records) or magic < MAGIC:
                continue
            if records[ATTRIBUTES_AT] & TRANSACTIONAL:
                if request.transactional_id is not None:
                    return None
                return KafkaError(
                    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                    "A batch of a transaction comes without a transactional id.",
                )
    return None


def refusal_of_codecs(request: ProduceRequest, cluster: "ClusterView") -> KafkaError | None:
    """Versions before zstd look at codecs before they append anything; Kafka fails at one that it
    does not know. It does not look at batches of partitions that do not exist."""
    for topic in request.topic_data:
        for data in topic.partition_data:
            records = data.records
            if records is None or len(records) < HEADER_SIZE or records[MAGIC_AT] != MAGIC:
                continue
            is_unknown = records[ATTRIBUTES_AT] & CODEC_MASK > Codec.ZSTD
            if is_unknown and cluster.partition_state(topic.name, topic.topic_id, data.index):
                return KafkaError(ErrorCode.INVALID_RECORD, "A batch has an unknown codec.")
    return None


def _records_at_fault(error: KafkaError) -> list[BatchIndexAndErrorMessage]:
    if not isinstance(error, InvalidRecords):
        return []
    return [
        BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=message)
        for index, message in error.records
    ]


def plain_reply(version: int, topic: TopicProduceData, partition: int, appended: Appended) -> bytes:
    """One partition that went well, without building messages."""
    first, _, append_time, log_start = appended[:4]
    if version >= 9:
        if version >= 13:
            front = b"\x02" + topic.topic_id
        else:
            name = topic.name.encode()
            front = b"\x02" + uvarint(len(name) + 1) + name
        return front + _FLEXIBLE.pack(
            2, partition, 0, first, append_time, log_start, 0x0100, 0, 0, 0, 0
        )
    name = topic.name.encode()
    front = b"\x00\x00\x00\x01" + len(name).to_bytes(2, "big") + name + b"\x00\x00\x00\x01"
    end = _PLAIN_END_8 if version >= 8 else _PLAIN_END
    return front + _PLAIN.pack(partition, 0, first, append_time, log_start) + end
