"""One Fetch from the first look at its partitions to the reply: read → enough? → wait, or let a
thread read → reply. Where consumers and replicas differ is in `consumer` and `replica`."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from ottla.broker.fetching.reads import Reads, Source
from ottla.broker.fetching.response import Endpoint, Fetched, write_fetch_response
from ottla.broker.fetching.sessions import NO_SESSION, CachedPartition, Fetching
from ottla.broker.transport.pending_reply import Body, Buffer, PendingReply
from ottla.errors import ErrorCode, KafkaError
from ottla.log.reading import Damage, Read
from ottla.wire.messages.fetch import FetchPartition, FetchRequest

if TYPE_CHECKING:
    from ottla.broker.rights.hot import FetchRights
    from ottla.broker.services import RecordServices
    from ottla.broker.transport.context import RequestContext

READ_COMMITTED = 1
FIRST_WITH_LEADERS = 16
"""Whoever asks the wrong broker is told who leads (KIP-951)."""
RESPONSE_BYTES_MAX = 8 * 1024 * 1024
"""A reply never holds more than that, whatever the client would take: it is all in memory."""
STALLED_BYTES_MAX = 64 * 1024 * 1024
STALLED_RESPONSE_BYTES = 64 * 1024
"""While that much waits for clients that do not read, replies shrink: about a batch each."""
WAIT_MS_MAX = 2**31 - 1
_LEADERSHIP_ERRORS = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
NOT_THERE: dict[int, int] = {
    ErrorCode.UNKNOWN_TOPIC_ID: 1,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: 2,  # whether it is there or not
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: 2,
}
"""Told after all others, in this order."""


class FetchOperation(ABC):
    is_replica: ClassVar[bool]

    __slots__ = (
        "bytes_max",
        "context",
        "fetching",
        "is_committed",
        "later",
        "min_bytes",
        "reads",
        "request",
        "rights",
        "services",
        "size_then",
        "version",
    )

    def __init__(
        self,
        request: FetchRequest,
        fetching: Fetching,
        context: "RequestContext",
        services: "RecordServices",
    ) -> None:
        self.request = request
        self.fetching = fetching
        self.context = context
        self.services = services
        self.version = context.api_version
        self.bytes_max = request.max_bytes
        cost = context.cost
        if cost is not None and cost.fetch_bytes_max is not None and not self.is_replica:
            self.bytes_max = min(self.bytes_max, cost.fetch_bytes_max)
        self.min_bytes = min(request.min_bytes, self.bytes_max)
        self.is_committed = request.isolation_level == READ_COMMITTED
        self.later: PendingReply | None = None
        self.size_then = 0  # of the partitions, when it began to wait
        self.rights: FetchRights | None = None
        if services.cluster.access.restricts:
            from ottla.broker.rights.hot import fetch_rights

            self.rights = fetch_rights(context, services.cluster, request, self.is_replica)

    # Where consumers and replicas differ -------------------------------------------------------

    def to_read(self) -> list[CachedPartition]:
        """The partitions to look at."""
        return self.fetching.asked

    @abstractmethod
    def source(self, asked: CachedPartition) -> Source:
        """Whom to read from; KafkaError where this broker has none."""

    @abstractmethod
    def readable_upto(self, source: Source, asked: CachedPartition, fetched: Fetched) -> int | None:
        """None: nothing is read, and what was found instead is told."""

    def was_read(  # noqa: B027  replicas are told of nothing
        self, source: Source, fetched: Fetched, read: Read, offset: int
    ) -> None:
        """What is told beside records that were committed."""

    def rank(self, error: int) -> int:
        """Partitions are told of in this order, and else as they were asked for."""
        return NOT_THERE.get(error, 0)

    @property
    def is_cut_short(self) -> bool:
        """More is there, and a limit or a segment's end ended a read: waiting brings nothing."""
        return False

    def is_replying(self, told: list[tuple[CachedPartition, Fetched]]) -> None:  # noqa: B027  as it stands
        """The last word on what is told."""

    def endpoints(self) -> list[Endpoint] | None:
        """Where the leaders are that are named."""
        return None

    # The course of a request -------------------------------------------------------------------

    def begin(self) -> Body | PendingReply:
        self.read_partitions()
        if not self.is_enough() and self.request.max_wait_ms > 0 and self.reads.sources:
            return self.wait()
        if self.reads.cold:
            return self.read_cold()
        return self.reply()

    def wait(self) -> PendingReply:
        later = self.later = PendingReply()
        if self.min_bytes > 1:
            self.size_then = self.reads.bytes_stored - self.reads.bytes_found(self.min_bytes)

        def try_now(expired: bool) -> bool:
            if not (expired or self.may_be_enough()):
                return False
            self.read_partitions()
            if not (expired or self.is_enough()):
                return False
            if self.reads.cold:
                self.read_cold()
            else:
                later.deliver(self.reply())
            return True

        timeout_s = min(self.request.max_wait_ms, WAIT_MS_MAX) / 1000
        self.services.waiting.wait(self.reads.sources, timeout_s, try_now, later)
        return later

    def is_enough(self) -> bool:
        reads, wanted = self.reads, self.min_bytes
        return reads.must_answer or reads.bytes_found(wanted) >= wanted or self.is_cut_short

    def may_be_enough(self) -> bool:
        """A cheap first look, so that a large min_bytes does not read again at every append."""
        if self.min_bytes <= 1 or any(source.deposed for source in self.reads.sources):
            return True
        return self.reads.bytes_stored - self.size_then >= self.min_bytes

    def read_cold(self) -> PendingReply:
        """Let a thread read; the event loop goes on."""
        later = self.later = self.later or PendingReply()
        reads = self.reads

        def finished(outcome: "list[Buffer | Damage] | Exception") -> None:
            if isinstance(outcome, Exception):
                error = self.services.background.unexpected("reading cold pages", outcome)
                for fetched, _ in reads.cold:
                    fetched.error = error.code
            else:
                reads.take_cold(outcome, ErrorCode.KAFKA_STORAGE_ERROR)
            later.deliver(self.reply())

        self.services.background.in_thread(reads.cold_reader(), finished)
        return later

    # Reading -----------------------------------------------------------------------------------

    def read_partitions(self) -> None:
        """Read every partition once, as far as the limits go."""
        stalled = self.services.unread_replies.stalled_bytes > STALLED_BYTES_MAX
        reads = self.reads = Reads(
            min(
                self.bytes_max,
                self.services.fetch_bytes_max,
                STALLED_RESPONSE_BYTES if stalled else RESPONSE_BYTES_MAX,
            )
        )
        reads.fetched = [(one, self.read_partition(one)) for one in self.to_read()]
        if reads.must_answer:  # what is not there is told after the rest, as Kafka does
            reads.fetched.sort(key=lambda pair: self.rank(pair[1].error))

    def read_partition(self, asked: CachedPartition) -> Fetched:
        fetched = Fetched(asked.key[2])
        try:
            if self.rights is not None:
                self.rights.check(asked.key)
            source = self.source(asked)
            if asked.wanted.current_leader_epoch >= 0:
                source.check_epoch(asked.wanted.current_leader_epoch)
            self.read_from(source, asked, fetched)
        except Damage:  # clients look for another leader, and there will be one
            self._refused(asked, fetched, KafkaError(ErrorCode.KAFKA_STORAGE_ERROR))
        except KafkaError as error:
            self._refused(asked, fetched, error)
        except Exception as error:
            unexpected = self.services.background.unexpected("reading a partition", error)
            self._refused(asked, fetched, unexpected)
        return fetched

    def read_from(self, source: Source, asked: CachedPartition, fetched: Fetched) -> None:
        wanted = asked.wanted
        if wanted.last_fetched_epoch >= 0 and self._diverges(source, wanted, fetched):
            return
        upto = self.readable_upto(source, asked, fetched)
        if upto is not None:
            read = self.reads.read(source, wanted, fetched, upto)
            if self.is_committed:
                self.was_read(source, fetched, read, wanted.fetch_offset)

    def _diverges(self, source: Source, wanted: FetchPartition, fetched: Fetched) -> bool:
        """The reader's last record may be one that this log never had (KIP-595)."""
        log = source.log
        if wanted.fetch_offset < log.log_start_offset:
            return False
        epoch, end_offset = log.epochs.end_offset_for(wanted.last_fetched_epoch, log.log_end_offset)
        if end_offset < 0:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        if epoch >= wanted.last_fetched_epoch and end_offset >= wanted.fetch_offset:
            return False
        fetched.diverging = (epoch, end_offset)
        fetched.bounds_of(log)
        self.reads.must_answer = True
        return True

    def _refused(self, asked: CachedPartition, fetched: Fetched, error: KafkaError) -> None:
        fetched.error = error.code
        self.reads.must_answer = True
        if error.code in NOT_THERE:
            fetched.aborted = []
        if error.code in _LEADERSHIP_ERRORS and self.version >= FIRST_WITH_LEADERS:
            state = self.services.cluster.partition_state(*asked.key)
            if state is not None:
                fetched.current_leader = (state.leader, state.leader_epoch)

    # The reply ---------------------------------------------------------------------------------

    def reply(self) -> Body:
        fetching = self.fetching
        told = self.reads.fetched
        if fetching.session is not None:
            told = [(asked, fetched) for asked, fetched in told if self._is_told(asked, fetched)]
            if not fetching.incremental:
                fetching.session.asked = {asked.key: asked for asked, _ in told}
        self.is_replying(told)
        return write_fetch_response(
            self.version,
            [(asked.key, fetched) for asked, fetched in told],
            session_id=fetching.session_id,
            endpoints=self.endpoints(),
        )

    def _is_told(self, asked: CachedPartition, fetched: Fetched) -> bool:
        session = self.fetching.session
        assert session is not None
        news = asked.has_news(
            fetched.error, fetched.high_watermark, fetched.log_start_offset, len(fetched.data)
        )
        if self.fetching.incremental and len(fetched.data) and asked.key in session.asked:
            session.to_the_end(asked)
        elsewhere = fetched.diverging is not None or fetched.preferred_read_replica >= 0
        return news or elsewhere or not self.fetching.incremental

    def throttled(self, throttle_ms: int) -> Body:
        """Without records, for now: the same will be asked for again, and told as news. One that
        was opening a session has none, and asks for everything again."""
        session_id = NO_SESSION
        if self.fetching.incremental:
            session_id = self.fetching.session_id
            for asked, _ in self.reads.fetched:
                asked.high_watermark = -1
        return write_fetch_response(
            self.version,
            [],
            session_id=session_id,
            throttle_ms=throttle_ms,
            endpoints=self.endpoints(),
        )
