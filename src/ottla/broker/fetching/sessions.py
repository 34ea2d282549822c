"""Incremental fetch sessions (KIP-227): a client names its partitions once, then what changes.

Pure but for the random ids. What is read for a session is the operation's affair (`operation`).
"""

from collections.abc import Iterable, Iterator

from ottla.errors import ErrorCode, KafkaError
from ottla.ids import ZERO_UUID, Uuid
from ottla.ports.chance import Chance
from ottla.replication.leader import Leader
from ottla.wire.messages.fetch import FetchPartition, FetchRequest

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
EPOCH_MAX = 2**31 - 1
EVICTION_S = 120.0

Key = tuple[str, Uuid, int]
"""Topic by name (up to version 12) or by id, and the partition."""


class CachedPartition:
    """One partition as it is asked for, and what the client was last told of it.

    `leader` is the one that a replica was last answered from: while nothing moves there, the
    next requests of the session need not look for it again.
    """

    __slots__ = ("high_watermark", "key", "leader", "log_start_offset", "wanted")

    def __init__(self, key: Key, wanted: FetchPartition) -> None:
        self.key = key
        self.wanted = wanted
        self.leader: Leader | None = None
        self.high_watermark = -1
        self.log_start_offset = -1

    def has_news(self, error: int, high_watermark: int, log_start_offset: int, size: int) -> bool:
        """Whether an incremental reply must mention it; remembers what it then says."""
        news = bool(error or size)
        if high_watermark != self.high_watermark or log_start_offset != self.log_start_offset:
            news = True
        self.high_watermark, self.log_start_offset = high_watermark, log_start_offset
        if error:
            self.high_watermark = -1  # mention it again when it works again
        return news


class FetchSession:
    __slots__ = ("asked", "by_id", "created_at", "epoch", "id", "used_at")

    def __init__(self, id: int, now: float, *, by_id: bool) -> None:
        self.id = id
        self.by_id = by_id
        self.epoch = 1
        self.created_at = self.used_at = now
        self.asked: dict[Key, CachedPartition] = {}

    def update(self, request: FetchRequest) -> None:
        for key, wanted in wanted_partitions(request):
            asked = self.asked.get(key)
            if asked is None:
                self.asked[key] = CachedPartition(key, wanted)
            else:
                asked.wanted = wanted
                asked.leader = None
        for topic in request.forgotten_topics_data:
            for partition in topic.partitions:
                self.asked.pop((topic.topic, topic.topic_id, partition), None)

    def to_the_end(self, asked: CachedPartition) -> None:
        """Whoever got records stands behind the others next time."""
        self.asked[asked.key] = self.asked.pop(asked.key)


class Fetching:
    """The partitions of one request: all of a session's, or just those it names."""

    __slots__ = ("asked", "incremental", "session")

    def __init__(
        self,
        asked: list[CachedPartition],
        session: FetchSession | None = None,
        *,
        incremental: bool = False,
    ) -> None:
        self.asked = asked
        self.session = session
        self.incremental = incremental

    @property
    def session_id(self) -> int:
        return self.session.id if self.session is not None else NO_SESSION


class FetchSessions:
    def __init__(self, slots: int, chance: Chance) -> None:
        self._slots = slots
        self._chance = chance
        self._sessions: dict[int, FetchSession] = {}  # the longest unused first

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, request: FetchRequest, now: float, *, by_id: bool) -> Fetching:
        """What a request is about; KafkaError where its session is not what it thinks."""
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._sessions.pop(request.session_id, None)
            asked = named_once(request)
            if request.session_epoch == FINAL_EPOCH:
                return Fetching(asked)
            return self._open(asked, now, by_id=by_id)
        session = self._sessions.get(request.session_id)
        if session is None:
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.by_id != by_id:
            raise KafkaError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        session.update(request)
        del self._sessions[session.id]
        if not session.asked:
            return Fetching(named_once(request))
        session.epoch = 1 if session.epoch == EPOCH_MAX else session.epoch + 1
        session.used_at = now
        self._sessions[session.id] = session
        return Fetching(list(session.asked.values()), session, incremental=True)

    def _open(self, asked: list[CachedPartition], now: float, *, by_id: bool) -> Fetching:
        if len(self._sessions) >= self._slots and not self._evict(now):
            return Fetching(asked)
        session = FetchSession(self._new_id(), now, by_id=by_id)
        session.asked = {one.key: one for one in asked}
        self._sessions[session.id] = session
        return Fetching(asked, session)

    def _evict(self, now: float) -> bool:
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None or now - oldest.used_at <= EVICTION_S:
            return False
        del self._sessions[oldest.id]
        return True

    def _new_id(self) -> int:
        while True:
            id = self._chance.randrange(1, 2**31)
            if id not in self._sessions:
                return id


def wanted_partitions(request: FetchRequest) -> Iterator[tuple[Key, FetchPartition]]:
    for topic in request.topics:
        for partition in topic.partitions:
            yield (topic.topic, topic.topic_id, partition.partition), partition


def named_once(request: FetchRequest) -> list[CachedPartition]:
    """Of a partition that is named twice the last word counts, in the place of the first."""
    if len(request.topics) == 1 and len(request.topics[0].partitions) == 1:
        topic, wanted = request.topics[0], request.topics[0].partitions[0]
        return [CachedPartition((topic.topic, topic.topic_id, wanted.partition), wanted)]
    return [
        CachedPartition(key, wanted) for key, wanted in dict(wanted_partitions(request)).items()
    ]


def by_topic(keys: Iterable[Key]) -> dict[tuple[str, Uuid], list[int]]:
    grouped: dict[tuple[str, Uuid], list[int]] = {}
    for name, topic_id, partition in keys:
        grouped.setdefault((name, topic_id or ZERO_UUID), []).append(partition)
    return grouped
