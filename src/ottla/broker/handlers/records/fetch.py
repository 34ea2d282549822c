"""Fetch: record bytes from the partitions led here, at once or when enough of them are there.

Consumers read what is committed (the high watermark, or with read_committed the last stable
offset); replicas read to the log's end, and by asking tell what they have. What is much, or not in
memory, is read by a thread. Versions: 5 log start, 7 sessions, 9 leader epochs, 11 racks, 12
diverging epochs, 13 topic ids, 15 the replica's epoch, 16 the leaders' addresses.
"""

from struct import Struct
from typing import TYPE_CHECKING

from ottla.broker.fetching.replica_selector import nearest_replica
from ottla.broker.fetching.response import Endpoint, Fetched, write_fetch_response
from ottla.broker.fetching.sessions import Asked, Fetching
from ottla.broker.transport.pending_reply import Body, Buffer, PendingReply
from ottla.errors import ErrorCode, KafkaError
from ottla.log.partition_log import PartitionLog
from ottla.log.reading import Damage, Read
from ottla.replication.leader import NO_EPOCH, Leader
from ottla.replication.readable_follower import ReadableFollower
from ottla.wire.codec import decode
from ottla.wire.messages.fetch import FetchPartition, FetchRequest

if TYPE_CHECKING:
    from ottla.broker.rights.hot import FetchRights
    from ottla.broker.services import RecordServices
    from ottla.broker.transport.context import RequestContext

READ_COMMITTED = 1
FIRST_WITH_RACKS = 11
"""From there on consumers may read from followers (KIP-392)."""
FIRST_WITH_IDS = 13
FIRST_WITH_LEADERS = 16
"""Whoever asks the wrong broker is told who leads (KIP-951)."""
RESPONSE_BYTES_MAX = 8 * 1024 * 1024
"""A reply never holds more than that, whatever the client would take: it is all in memory."""
STALLED_BYTES_MAX = 64 * 1024 * 1024
STALLED_RESPONSE_BYTES = 64 * 1024
"""While that much waits for clients that do not read, replies shrink: about a batch each."""
WAIT_MS_MAX = 2**31 - 1
_BATCH_BOUNDS = Struct(">qi11xi")  # base offset, length, last offset delta
Aborted = list[tuple[int, int]] | None
"""Producer id and first offset of transactions; None where nobody asked for them."""
_LEADERSHIP_ERRORS = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
_NOT_THERE: dict[int, int] = {
    ErrorCode.UNKNOWN_TOPIC_ID: 1,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: 2,
}
"""Told after all others, in this order."""


def serve(
    frame: memoryview, position: int, context: "RequestContext", services: "RecordServices"
) -> Body | PendingReply:
    request, _ = decode(FetchRequest, context.api_version, frame, position)
    by_id = context.api_version >= FIRST_WITH_IDS
    try:
        fetching = services.fetch_sessions.begin(
            request, services.cluster.clock.monotonic(), by_id=by_id
        )
    except KafkaError as error:
        return write_fetch_response(context.api_version, [], error=error.code)
    return FetchOperation(request, fetching, context, services).begin()


class FetchOperation:
    """One request from the first look at its partitions to the reply."""

    __slots__ = (
        "arrived_at",
        "bytes_left",
        "cold",
        "context",
        "eligible",
        "fetched",
        "fetching",
        "later",
        "leaders",
        "limit",
        "min_bytes",
        "must_answer",
        "replica",
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
        self.replica = (
            request.replica_state.replica_id if self.version >= 15 else request.replica_id
        )
        self.min_bytes = min(request.min_bytes, request.max_bytes)
        self.arrived_at = services.cluster.clock.monotonic() if self.replica >= 0 else 0.0
        """When a replica was last heard of: not when its request is looked at again."""
        self.later: PendingReply | None = None
        self.size_then = 0
        self.rights: FetchRights | None = None
        if services.cluster.access.restricts:
            from ottla.broker.rights.hot import fetch_rights

            self.rights = fetch_rights(context, services.cluster, is_replica=self.replica >= 0)

    # The course of a request -------------------------------------------------------------------

    def begin(self) -> Body | PendingReply:
        if self.context.cost is not None:
            self.context.cost.is_exempt = self.replica >= 0
            self.context.cost.throttled = self.throttled
        self.look()
        if not self.is_enough() and self.request.max_wait_ms > 0 and self.leaders:
            return self.wait()
        if self.cold:
            return self.read_cold()
        return self.reply()

    def wait(self) -> PendingReply:
        later = self.later = PendingReply()
        if self.min_bytes > 1:
            self.size_then = self.bytes_stored() - self.bytes_found

        def try_now(expired: bool) -> bool:
            if not (expired or self.may_be_enough()):
                return False
            self.look()
            if not (expired or self.is_enough()):
                return False
            if self.cold:
                self.read_cold()
            else:
                later.deliver(self.reply())
            return True

        timeout_s = min(self.request.max_wait_ms, WAIT_MS_MAX) / 1000
        self.services.waiting.wait(self.leaders, timeout_s, try_now, later)
        return later

    def is_enough(self) -> bool:
        return self.must_answer or self.bytes_found >= self.min_bytes or self._is_cut_short()

    def _is_cut_short(self) -> bool:
        """More is there, and a limit or a segment's end ended a read: waiting brings nothing."""
        if self.replica >= 0 or self.min_bytes <= 1:
            return False
        committed = self.request.isolation_level == READ_COMMITTED
        return any(read.more for _, read in self.cold) or any(
            end_of(one.data) < (one.last_stable_offset if committed else one.high_watermark)
            for _, one in self.fetched
            if len(one.data)
        )

    def may_be_enough(self) -> bool:
        """A cheap first look, so that a large min_bytes does not read again at every append."""
        if self.min_bytes <= 1 or any(leader.deposed for leader in self.leaders):
            return True
        return self.bytes_stored() - self.size_then >= self.min_bytes

    def bytes_stored(self) -> int:
        return sum(leader.log.size for leader in self.leaders)

    def read_cold(self) -> PendingReply:
        """Let a thread read; the event loop goes on."""
        later = self.later = self.later or PendingReply()
        cold = self.cold

        def finished(outcome: "list[Buffer | Damage] | Exception") -> None:
            if isinstance(outcome, Exception):
                error = self.services.background.unexpected("reading cold pages", outcome)
                for fetched, _ in cold:
                    fetched.error = error.code
            else:
                for (fetched, _), found in zip(cold, outcome, strict=True):
                    if isinstance(found, Damage):
                        fetched.error = ErrorCode.KAFKA_STORAGE_ERROR
                    else:
                        fetched.data = found
                        if fetched.aborted:
                            fetched.aborted = begun_before(fetched.aborted, end_of(found))
            later.deliver(self.reply())

        self.services.background.in_thread(
            lambda: [read_or_damage(read) for _, read in cold], finished
        )
        return later

    # Reading -----------------------------------------------------------------------------------

    def look(self) -> None:
        """Read every partition once, as far as the limits go."""
        stalled = self.services.unread_replies.stalled_bytes > STALLED_BYTES_MAX
        self.limit = self.bytes_left = min(
            self.request.max_bytes,
            self.services.fetch_bytes_max,
            STALLED_RESPONSE_BYTES if stalled else RESPONSE_BYTES_MAX,
        )
        self.cold: list[tuple[Fetched, Read]] = []
        self.leaders: list[Leader | ReadableFollower] = []
        self.must_answer = False
        asked = self.fetching.asked
        if self.replica >= 0:
            epoch, now = self.request.replica_state.replica_epoch, self.arrived_at
            self.eligible = self.services.cluster.may_be_in_sync(self.replica, epoch)
            if self.eligible and self.fetching.incremental:
                asked = [one for one in asked if not self._is_settled(one, epoch, now)]
        self.fetched = [(one, self._read(one)) for one in asked]
        if self.must_answer:  # what is not there is told after the rest, as Kafka does
            self.fetched.sort(key=lambda pair: self._rank(pair[1].error))

    def _rank(self, error: int) -> int:
        """A follower hears of what is not there in the order in which it asked."""
        rank = _NOT_THERE.get(error, 0)
        return rank if self.replica < 0 else min(rank, 1)

    def _is_settled(self, asked: Asked, epoch: int, now: float) -> bool:
        """A replica has everything of a partition, and knows it: most of a thousand, mostly."""
        leader = asked.leader
        if leader is None or leader.deposed:
            return False
        log = leader.log
        if (
            log.log_end_offset != asked.wanted.fetch_offset
            or log.high_watermark != asked.high_watermark
            or log.log_start_offset != asked.log_start_offset
        ):
            return False
        if not leader.in_sync.fetched_again(now, self.replica, broker_epoch=epoch):
            return False
        self.leaders.append(leader)
        return True

    @property
    def bytes_found(self) -> int:
        found = sum(len(fetched.data) for _, fetched in self.fetched)
        for _, read in self.cold:
            if read.bytes_expected is None:  # how much is not known yet, but it is something
                return max(found, self.min_bytes)
            found += read.bytes_expected
        return found

    def _read(self, asked: Asked) -> Fetched:
        fetched = Fetched(asked.key[2])
        try:
            if self.rights is not None:
                self.rights.check(asked.key)
            self._read_from(self._source(asked), asked, fetched)
        except Damage:  # clients look for another leader, and there will be one
            self._refused(asked, fetched, KafkaError(ErrorCode.KAFKA_STORAGE_ERROR))
        except KafkaError as error:
            self._refused(asked, fetched, error)
        except Exception as error:
            self._refused(
                asked, fetched, self.services.background.unexpected("reading a partition", error)
            )
        return fetched

    def _source(self, asked: Asked) -> Leader | ReadableFollower:
        name, topic_id, partition = asked.key
        partitions = self.services.partitions
        source: Leader | ReadableFollower
        try:
            source = partitions.find_leader(name, topic_id, partition, self.version)
        except KafkaError:
            standby = partitions.standby(name, topic_id, partition)
            if standby is None or self.replica >= 0 or self.version < FIRST_WITH_RACKS:
                raise
            source = standby
        source.check_epoch(max(asked.wanted.current_leader_epoch, NO_EPOCH))
        return source

    def _read_from(self, leader: Leader | ReadableFollower, asked: Asked, fetched: Fetched) -> None:
        wanted = asked.wanted
        log, offset = leader.log, wanted.fetch_offset
        if self.replica >= 0:
            self._check_assignment(leader, wanted)
        if wanted.last_fetched_epoch >= 0 and self._diverges(leader, wanted, fetched):
            return
        if not isinstance(leader, Leader):
            if offset > log.log_end_offset:  # the leader has it, and so will this one
                raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE)
        elif self.replica < 0 and self.services.reads_nearby and self.request.rack_id:
            near = nearest_replica(self.services.cluster, leader, self.request.rack_id, offset)
            if near is not None:
                fetched.preferred_read_replica = near
                fetched.bounds_of(log)
                self.must_answer = True
                return
        if self.replica >= 0:
            assert isinstance(leader, Leader)
            upto = log.log_end_offset
            self._heard_of(leader, wanted)
            asked.leader = leader
            if log.log_start_offset > wanted.log_start_offset and self._is_start_news(asked, log):
                self.must_answer = True
            if self.services.partitions.throttles.leader.partitions and self._is_held_back(leader):
                upto = offset  # nothing of it
        elif self.request.isolation_level == READ_COMMITTED:
            upto = log.last_stable_offset
        else:
            upto = log.high_watermark
        bytes_max = max(min(wanted.partition_max_bytes, self.bytes_left), 0)
        read = log.read(
            offset,
            bytes_max,
            upto=upto,
            at_least_one=self.bytes_left == self.limit,
        )
        self.leaders.append(leader)
        fetched.bounds_of(log)
        if read.cold:
            self.cold.append((fetched, read))
            self.bytes_left -= self._bytes_at_most(read, wanted)
        else:
            fetched.data = read.data
            size = len(read.data)
            # Kafka's answers end in mid-batch where more was there: that part counts as well
            self.bytes_left -= max(size, bytes_max) if size and read.more else size
        if self.request.isolation_level == READ_COMMITTED and self.replica < 0:
            fetched.aborted = self._aborted(leader, offset, upto, read)

    def _check_assignment(self, leader: Leader | ReadableFollower, wanted: FetchPartition) -> None:
        """A replica may know of its assignment before this leader does: it asks again."""
        if isinstance(leader, Leader) and self.replica not in leader.in_sync.followers:
            names_epoch = wanted.current_leader_epoch >= 0
            raise KafkaError(
                ErrorCode.UNKNOWN_LEADER_EPOCH if names_epoch else ErrorCode.NOT_LEADER_OR_FOLLOWER
            )

    def _bytes_at_most(self, read: Read, wanted: FetchPartition) -> int:
        if read.bytes_expected is not None:
            return read.bytes_expected
        return min(wanted.partition_max_bytes, self.bytes_left)

    def _aborted(
        self, leader: Leader | ReadableFollower, offset: int, upto: int, read: Read
    ) -> Aborted:
        if read.cold:
            return leader.log.aborted_transactions(offset, upto)
        aborted = leader.log.aborted_transactions(offset, leader.log.log_end_offset)
        if not aborted or not read.data:
            return []
        return begun_before(aborted, leader.log.indexed_end(offset, end_of(read.data)))

    def _diverges(
        self, leader: Leader | ReadableFollower, wanted: FetchPartition, fetched: Fetched
    ) -> bool:
        """The reader's last record may be one that this log never had (KIP-595)."""
        log = leader.log
        if wanted.fetch_offset < log.log_start_offset:
            return False
        epoch, end_offset = log.epochs.end_offset_for(wanted.last_fetched_epoch, log.log_end_offset)
        if end_offset < 0:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        if epoch >= wanted.last_fetched_epoch and end_offset >= wanted.fetch_offset:
            return False
        fetched.diverging = (epoch, end_offset)
        fetched.bounds_of(log)
        self.must_answer = True
        return True

    def _heard_of(self, leader: Leader, wanted: FetchPartition) -> None:
        """A replica that asks for an offset has everything before it."""
        leader.perform(
            leader.in_sync.fetched(
                self.arrived_at,
                self.replica,
                wanted.fetch_offset,
                log_start_offset=wanted.log_start_offset,
                broker_epoch=self.request.replica_state.replica_epoch,
                eligible=self.eligible,
            )
        )

    def _is_held_back(self, leader: Leader) -> bool:
        """While the quota is spent, replicas under it that are not in sync get nothing."""
        throttle = self.services.partitions.throttles.leader
        return (
            throttle.covers(leader.topic_partition)
            and self.replica not in leader.in_sync.maximal
            and throttle.quota.is_spent(self.services.cluster.clock.monotonic())
        )

    def _is_start_news(self, asked: Asked, log: PartitionLog) -> bool:
        """Somebody may wait until a replica has dropped what was deleted. It is told once: only a
        session remembers that."""
        return self.fetching.session is not None and asked.log_start_offset != log.log_start_offset

    def _refused(self, asked: Asked, fetched: Fetched, error: KafkaError) -> None:
        fetched.error = error.code
        self.must_answer = True
        if error.code in _NOT_THERE:
            fetched.aborted = []
        if error.code in _LEADERSHIP_ERRORS and self.version >= FIRST_WITH_LEADERS:
            name, topic_id, partition = asked.key
            state = self.services.cluster.partition_state(name, topic_id, partition)
            if state is not None:
                fetched.current_leader = (state.leader, state.leader_epoch)

    # The reply ---------------------------------------------------------------------------------

    def reply(self) -> Body:
        fetching = self.fetching
        told = self.fetched
        if fetching.session is not None:
            told = [(asked, fetched) for asked, fetched in told if self._is_told(asked, fetched)]
            if not fetching.incremental:
                fetching.session.asked = {asked.key: asked for asked, _ in told}
        if self.replica >= 0 and self.services.partitions.throttles.leader.partitions:
            self._count(told)
        return write_fetch_response(
            self.version,
            [(asked.key, fetched) for asked, fetched in told],
            session_id=fetching.session_id,
            endpoints=self._endpoints() if self._wants_endpoints() else None,
        )

    def throttled(self, throttle_ms: int) -> Body:
        """Without records, for now: the same will be asked for again, and told as news."""
        session_id = 0
        if self.fetching.session is not None and self.fetching.incremental:
            session_id = self.fetching.session.id
            for asked, _ in self.fetched:
                asked.high_watermark = -1
        return write_fetch_response(
            self.version,
            [],
            session_id=session_id,
            throttle_ms=throttle_ms,
            endpoints=self._endpoints() if self._wants_endpoints() else None,
        )

    def _count(self, told: list[tuple[Asked, Fetched]]) -> None:
        """What leaves under the quota counts, whoever gets it."""
        throttle = self.services.partitions.throttles.leader
        for asked, fetched in told:
            if asked.leader is not None and throttle.covers(asked.leader.topic_partition):
                throttle.quota.spend(self.services.cluster.clock.monotonic(), len(fetched.data))

    def _is_told(self, asked: Asked, fetched: Fetched) -> bool:
        session = self.fetching.session
        assert session is not None
        news = asked.has_news(
            fetched.error, fetched.high_watermark, fetched.log_start_offset, len(fetched.data)
        )
        if self.fetching.incremental and len(fetched.data) and asked.key in session.asked:
            session.to_the_end(asked)
        elsewhere = fetched.diverging is not None or fetched.preferred_read_replica >= 0
        return news or elsewhere or not self.fetching.incremental

    def _wants_endpoints(self) -> bool:
        """Replicas know the brokers."""
        return self.version >= FIRST_WITH_LEADERS and self.replica < 0

    def _endpoints(self) -> list[Endpoint]:
        leaders = {
            fetched.current_leader[0] for _, fetched in self.fetched if fetched.current_leader
        }
        return (
            self.services.cluster.endpoints(leaders, self.context.listener_name) if leaders else []
        )


def read_or_damage(read: Read) -> Buffer | Damage:
    try:
        return read.fetch_cold()
    except Damage as damage:
        return damage


def begun_before(aborted: list[tuple[int, int]], end: int) -> list[tuple[int, int]]:
    """The aborted transactions whose first offset lies before the end."""
    return [one for one in aborted if one[1] < end]


def end_of(data: Buffer) -> int:
    """The offset after the last whole batch, or after the one that is cut short."""
    position, end, size = 0, 0, len(data)
    while position + _BATCH_BOUNDS.size <= size:
        base, length, delta = _BATCH_BOUNDS.unpack_from(data, position)
        end = base + delta + 1
        position += 12 + length
    return end
