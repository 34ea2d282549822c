"""One Produce from its request to its reply: validate → verify → prove → append → wait → reply.

Each step goes on with the next, at once or when what it asked for has come: the schema registry's
word on records of topics that ask for it, the coordinator's on a transaction, a thread's on a long
batch, the replicas' or the disk's on what was appended.
"""

from typing import TYPE_CHECKING

from ottla.broker.dispatch import BadRequest
from ottla.broker.internal_topics import INTERNAL_TOPICS
from ottla.broker.producing.long_checks import LongChecks, Verdicts, is_large
from ottla.broker.producing.request_checks import (
    FIRST_WITH_ZSTD,
    check_batch,
    refusal_of_all,
    refusal_of_codecs,
)
from ottla.broker.producing.response import Outcomes, ProduceOutcome, write_produce_response
from ottla.broker.producing.transaction_verification import Codes, TransactionVerification
from ottla.broker.transport.pending_reply import Body, ConnectionLost, PendingReply
from ottla.errors import ErrorCode, KafkaError
from ottla.log.validation import NotOneBatch
from ottla.replication.leader import ALL, Leader
from ottla.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

if TYPE_CHECKING:
    from ottla.broker.producing.schema_validation import Refusals, SchemaValidation
    from ottla.broker.services import RecordServices
    from ottla.broker.transport.context import RequestContext

_ADMIN_CLIENT = "__admin_client"
_UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
_WITHOUT_LOG_START = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.KAFKA_STORAGE_ERROR,
}
"""Refusals after which Kafka does not tell where the log starts, though it was asked."""
Reply = Body | PendingReply | None
"""None: the client wants none."""


class ProduceOperation:
    __slots__ = (
        "context",
        "invalid",
        "may_wait",
        "now",
        "now_ms",
        "proven",
        "refusal",
        "refused",
        "request",
        "services",
        "topics",
        "version",
    )

    def __init__(
        self, request: ProduceRequest, context: "RequestContext", services: "RecordServices"
    ) -> None:
        self.request = request
        self.context = context
        self.services = services
        self.version = context.api_version
        self.refused: Codes = {}  # by the transaction's coordinator
        self.proven: Verdicts = {}  # by a thread
        self.invalid: Refusals = {}  # by the schema registry
        self.refusal: KafkaError | None = None  # of the request as a whole
        self.may_wait = request.acks == ALL
        self.topics: Outcomes = []

    # Before the append -----------------------------------------------------------------------

    @property
    def is_ready(self) -> bool:
        """Nobody has to be asked: it can be appended while its frame is there."""
        return not self.must_verify() and not self.must_prove() and not self.must_validate()

    def begin(self) -> Reply:
        if not self.must_validate():
            return self._begin()

        def go_on(refusals: "Refusals") -> Reply:
            self.invalid = refusals
            return self._begin()

        return self._schema_validation().then(self.services.background, go_on)

    def must_validate(self) -> bool:
        """Whether a registry has to be asked for schemas: only where the broker knows one."""
        return self.services.schemas is not None and self._schema_validation().is_needed

    def _schema_validation(self) -> "SchemaValidation":
        from ottla.broker.producing.schema_validation import SchemaValidation

        find_leader, version = self.services.partitions.find_leader, self.version
        known = self.services.schemas
        assert known is not None
        return SchemaValidation(self.request, lambda place: find_leader(*place, version), known)

    def _begin(self) -> Reply:
        if not self.must_verify() and self.must_prove():
            return self.prove()
        return self.verify()

    def must_prove(self) -> bool:
        """Whether checking it would keep the event loop from everybody else."""
        return is_large(self.request) and self._long_checks().are_needed

    def prove(self) -> PendingReply:
        def go_on(verdicts: Verdicts) -> Reply:
            self.proven = verdicts
            return self.verify()  # a transaction may have ended while its batch was proven

        return self._long_checks().then(self.services.background, go_on)

    def _long_checks(self) -> LongChecks:
        find_leader, version = self.services.partitions.find_leader, self.version
        now_ms = self.services.cluster.clock.wall_ms()
        return LongChecks(self.request, lambda place: find_leader(*place, version), now_ms)

    def must_verify(self) -> bool:
        """Whether the transaction's coordinator must be asked, or others have to be waited for."""
        if self.request.transactional_id is None or refusal_of_all(self.request) is not None:
            return False
        return TransactionVerification(self.request, self.version, self.services).is_needed

    def verify(self) -> Reply:
        if not self.must_verify():
            return self.append()

        def go_on(codes: Codes) -> Reply:
            self.refused = codes
            return self.append()

        return TransactionVerification(self.request, self.version, self.services).then(go_on)

    # The append ------------------------------------------------------------------------------

    def append(self) -> Reply:
        clock = self.services.cluster.clock
        self.now, self.now_ms = clock.monotonic(), clock.wall_ms()
        self.refusal = refusal_of_all(self.request)
        if self.version < FIRST_WITH_ZSTD and self.refusal is None:
            self.refusal = refusal_of_codecs(self.request, self.services.cluster)
        self.topics = [
            (topic, [self._append(topic, data) for data in topic.partition_data])
            for topic in self.request.topic_data
        ]
        return self.answer()

    def _append(self, topic: TopicProduceData, data: PartitionProduceData) -> ProduceOutcome:
        outcome = ProduceOutcome(data.index)
        was_asked = False  # the log, in the end
        try:
            if self.refusal is not None:
                raise self.refusal
            leader = outcome.leader = self._leader(topic, data)
            if self.version < FIRST_WITH_ZSTD:
                check_batch(data, self.version)
            if self.refused and (code := self.refused.get(leader.topic_partition)):
                check_batch(data, self.version)
                raise KafkaError(code, "The partition is not part of the transaction.")
            if self.request.acks not in (ALL, 0, 1):
                check_batch(data, self.version)
                raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)
            if (
                leader.topic_partition.topic in INTERNAL_TOPICS
                and self.context.client_id != _ADMIN_CLIENT
            ):
                raise KafkaError(
                    ErrorCode.INVALID_TOPIC_EXCEPTION,
                    f"Clients may not write to {leader.topic_partition.topic}.",
                )
            if data.records is None:
                raise NotOneBatch("The request has no records.")
            was_asked = True
            if self.invalid and (
                refusal := self.invalid.get((topic.name, topic.topic_id, data.index))
            ):
                raise refusal
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
                check_batch(data, self.version)
                if self.request.acks not in (ALL, 0, 1):
                    raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS) from None
            raise

    # After it --------------------------------------------------------------------------------

    def answer(self) -> Reply:
        if self.is_isolated():
            raise ConnectionLost
        if self.request.acks == 0:
            self.close_on_error()
            return None
        if self.may_wait and self.unsafe():
            return self.wait()
        return self.reply()

    def reply(self, throttle_ms: int = 0) -> Body:
        return write_produce_response(
            self.version,
            self.topics,
            self.services.cluster,
            self.context.listener_name,
            throttle_ms,
        )

    def outcomes(self) -> list[ProduceOutcome]:
        return [outcome for _, outcomes in self.topics for outcome in outcomes]

    # acks=0 ----------------------------------------------------------------------------------

    def close_on_error(self) -> None:
        for outcome in self.outcomes():
            if outcome.error is not None:
                raise BadRequest(f"a Produce with acks=0 failed: {outcome.error}")

    # Waiting for replicas, or for the disk -------------------------------------------------

    def is_isolated(self) -> bool:
        """Cut off, it cannot say who leads now: without it the client asks somebody else."""
        return self.request.acks == ALL and any(
            outcome.leader is not None and outcome.leader.isolated for outcome in self.outcomes()
        )

    def unsafe(self) -> bool:
        """Whether something appended may still be lost, as far as the client cares."""
        return any(self._is_unsafe(outcome) for outcome in self.outcomes())

    def _is_unsafe(self, outcome: ProduceOutcome) -> bool:
        appended, leader = outcome.appended, outcome.leader
        if appended is None or leader is None or outcome.error is not None:
            return False
        if self.request.acks == ALL and leader.log.high_watermark <= appended.last_offset:
            return True
        return appended.flush_due and leader.log.recovery_point <= appended.last_offset

    def wait(self) -> PendingReply:
        later = PendingReply()

        def try_now(expired: bool) -> bool:
            if self.is_isolated():
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

    def _notice_change(self, outcome: ProduceOutcome, expired: bool) -> None:
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


def _hides_log_start(error: KafkaError) -> bool:
    return error.code in _WITHOUT_LOG_START or isinstance(error, NotOneBatch)
