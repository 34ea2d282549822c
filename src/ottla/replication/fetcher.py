"""Fetches from one leader all that this node follows there. The only sockets of replication.

One request is under way at a time, over a session (KIP-227): only what changed is named. When a
partition is added while the leader keeps us waiting, the link is dropped and opened again, so
that a fail-over never waits for a long poll to end.

The offset that is asked for tells the leader what is safe here. Where `flush.messages` asks for
the disk, it is flushed up to there first; such partitions have a fetcher of their own, so that no
other waits for the disk.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol, TypeVar

from ottla.errors import ErrorCode, KafkaError
from ottla.ids import TopicPartition, Uuid
from ottla.log.config import NEVER_MS
from ottla.log.partition_log import PartitionLog
from ottla.ports.clock import Clock
from ottla.ports.network import Link, LinkLost, Network
from ottla.replication.follower import PATIENT, FollowedPartition, Verdict
from ottla.replication.throttles import Throttle
from ottla.wire.client import Client
from ottla.wire.codec import MalformedMessage
from ottla.wire.message import Message
from ottla.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)
from ottla.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

logger = logging.getLogger(__name__)

FETCH_VERSION = 17
LIST_OFFSETS_VERSION = 7
EARLIEST, LATEST = -2, -1
TROUBLE_S = 1.0
SESSION_ERRORS = {
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
}

Address = Callable[[int], tuple[str, int] | None]
Flushed = Callable[[PartitionLog, int], Awaitable[None]]
"""Waits until everything below an offset is on the disk."""
M = TypeVar("M", bound=Message)


class Suspects(Protocol):
    """Whom to tell that a leader seems to have died, or that it answers."""

    def lost(self, broker_id: int) -> None: ...
    def found(self, broker_id: int) -> None: ...


class FetchLimits(NamedTuple):
    """Options `replica.fetch.*`."""

    wait_ms: int = 500
    min_bytes: int = 1
    response_bytes: int = 10 * 1024 * 1024
    partition_bytes: int = 1024 * 1024
    backoff_s: float = 0.1


class Replica(NamedTuple):
    """Who fetches: a leader counts nobody else's word."""

    node_id: int
    broker_epoch: Callable[[], int]


class Session:
    """What the leader remembers of the requests before."""

    def __init__(self) -> None:
        self.id = 0
        self.epoch = 0
        self.known: dict[TopicPartition, Uuid] = {}

    def next_epoch(self, session_id: int) -> None:
        self.id = session_id
        self.epoch = self.epoch + 1 if self.epoch < 0x7FFFFFFF else 1


class Fetcher:
    def __init__(
        self,
        leader_id: int,
        replica: Replica,
        address: Address,
        network: Network,
        limits: FetchLimits,
        suspects: Suspects,
        flushed: Flushed,
        throttle: Throttle,
        clock: Clock,
    ) -> None:
        self.leader_id = leader_id
        self._replica = replica
        self._address = address
        self._network = network
        self._limits = limits
        self._suspects = suspects
        self._flushed = flushed
        self._throttle = throttle
        self._now, self._now_ms = clock
        self._followers: dict[TopicPartition, FollowedPartition] = {}
        self._by_id: dict[tuple[Uuid, int], FollowedPartition] = {}
        self._paused: dict[TopicPartition, float] = {}
        self._changed: dict[TopicPartition, None] = {}  # what the leader must be told of anew
        self._troubles: dict[TopicPartition, str] = {}
        self._session = Session()
        self._link: Link | None = None
        self._interrupted = False  # we broke the link ourselves
        self._wake = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._run())

    @property
    def is_idle(self) -> bool:
        return not self._followers

    def follow(self, follower: FollowedPartition) -> None:
        self._followers[follower.topic_partition] = follower
        self._by_id[follower.topic_id, follower.topic_partition.partition] = follower
        self._paused.pop(follower.topic_partition, None)
        self._changed[follower.topic_partition] = None
        self._troubles.pop(follower.topic_partition, None)
        self._interrupt()

    def forget(self, partition: TopicPartition) -> None:
        follower = self._followers.pop(partition, None)
        if follower is not None:
            self._by_id.pop((follower.topic_id, partition.partition), None)
        self._paused.pop(partition, None)
        self._changed[partition] = None

    def tell_start(self, partition: TopicPartition) -> None:
        """Its log begins later than the leader knows: the next request names it."""
        if partition in self._followers:
            self._changed[partition] = None

    async def stop(self) -> None:
        self._task.cancel()
        if self._link is not None:
            self._link.close()
        await asyncio.gather(self._task, return_exceptions=True)

    # --- the loop

    async def _run(self) -> None:
        while True:
            try:
                await self._wait_for_work()
                client = Client(await self._connect(), f"broker-{self._replica.node_id}-fetcher")
                while self._followers:
                    await self._round(client)
            except (LinkLost, MalformedMessage, KafkaError) as error:
                logger.debug("Fetching from broker %d: %s", self.leader_id, error)
                await self._rest(self._backoff_s())
            except Exception:
                logger.exception("Fetching from broker %d failed", self.leader_id)
                await self._rest(1.0)
            finally:
                if self._link is not None:
                    self._link.close()
                    self._link = None

    def _backoff_s(self) -> float:
        """A link that just broke is tried again at once: that tells whether anyone is there."""
        if self._link is not None and not self._interrupted:
            self._suspects.lost(self.leader_id)
            return 0.0
        return 0.0 if self._interrupted else self._limits.backoff_s

    async def _wait_for_work(self) -> None:
        while not self._followers:
            self._wake.clear()
            await self._wake.wait()

    async def _rest(self, seconds: float) -> None:
        """A pause that new work ends."""
        self._wake.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _connect(self) -> Link:
        address = self._address(self.leader_id)
        if address is None:
            raise LinkLost(f"no address of broker {self.leader_id} is known")
        self._begin_session()
        self._interrupted = False
        self._link = await self._network.connect(*address, lambda: None)
        return self._link

    def _begin_session(self) -> None:
        self._session = Session()
        self._changed = dict.fromkeys(self._followers)

    def _interrupt(self) -> None:
        self._wake.set()
        if self._link is not None:
            self._interrupted = True
            self._link.close()

    async def _round(self, client: Client) -> None:
        if self._paused:
            self._end_pauses()
        await self._flush()
        if self._throttle.partitions:
            self._hold_back()
        if len(self._paused) == len(self._followers):
            await self._rest(self._limits.backoff_s)
            return
        request = self._request()
        response = await self._ask(client, request, FETCH_VERSION, FetchResponse)
        if response.error_code:
            code = ErrorCode(response.error_code)
            if code in SESSION_ERRORS:
                self._begin_session()
                return
            raise KafkaError(code, "the fetch was refused")
        self._suspects.found(self.leader_id)  # a dying process may still accept, not answer
        if response.session_id:
            self._session.next_epoch(response.session_id)
        else:  # the leader has no room for one: everything is named each time
            self._begin_session()
        for topic in response.responses:
            for data in topic.partitions:
                follower = self._by_id.get((topic.topic_id, data.partition_index))
                if follower is not None:
                    await self._take(client, follower, data)

    async def _flush(self) -> None:
        """Put onto the disk what the next request must not tell of before."""
        while due := self._unflushed():
            await asyncio.gather(*map(self._flush_one, due))

    def _unflushed(self) -> list[FollowedPartition]:
        named = [self._followers.get(one) for one in self._changed if one not in self._paused]
        return [follower for follower in named if follower is not None and follower.log.flush_due]

    async def _flush_one(self, follower: FollowedPartition) -> None:
        try:
            await self._flushed(follower.log, follower.log.log_end_offset)
        except (KafkaError, OSError) as error:
            self._troubled(follower, error)

    async def _ask(self, client: Client, request: Message, version: int, kind: type[M]) -> M:
        """An answer that came in spite of an interruption is dropped: what it is about may be
        followed in another epoch by now."""
        response = await client.ask(request, version, kind)
        if self._interrupted:
            raise LinkLost("it was interrupted")
        return response

    def _request(self) -> FetchRequest:
        """Names what changed since the request before; of a thousand partitions, mostly a few."""
        known, limit = self._session.known, self._limits.partition_bytes
        asked: defaultdict[Uuid, list[FetchPartition]] = defaultdict(list)
        forgotten: defaultdict[Uuid, list[int]] = defaultdict(list)
        for partition in self._changed:
            follower = None if partition in self._paused else self._followers.get(partition)
            before = known.pop(partition, None)
            if before is not None and (follower is None or follower.topic_id != before):
                forgotten[before].append(partition.partition)
            if follower is not None:
                known[partition] = follower.topic_id
                asked[follower.topic_id].append(follower.wanted(limit))
        self._changed = {}
        session = self._session
        return FetchRequest(
            replica_state=ReplicaState(
                replica_id=self._replica.node_id, replica_epoch=self._replica.broker_epoch()
            ),
            max_wait_ms=self._limits.wait_ms,
            min_bytes=self._limits.min_bytes,
            max_bytes=self._limits.response_bytes,
            session_id=session.id,
            session_epoch=session.epoch,
            topics=[FetchTopic(topic_id=i, partitions=p) for i, p in asked.items()],
            forgotten_topics_data=[
                ForgottenTopic(topic_id=i, partitions=p) for i, p in forgotten.items()
            ],
        )

    async def _take(self, client: Client, follower: FollowedPartition, data: PartitionData) -> None:
        self._changed[follower.topic_partition] = None
        if self._throttle.partitions and data.records:
            self._count(follower, len(data.records))
        try:
            verdict = follower.took(data, self._now_ms())
        except (KafkaError, OSError) as error:  # its disk, or a damaged batch: the others go on
            self._troubled(follower, error)
            return
        if verdict is Verdict.OUT_OF_RANGE:
            await self._restart(client, follower)
        elif verdict is Verdict.TRY_LATER:
            if ErrorCode(data.error_code) not in PATIENT:
                code = ErrorCode(data.error_code).name
                logger.warning("%s cannot be followed: %s", follower.topic_partition, code)
            self._pause(follower)

    def _troubled(self, follower: FollowedPartition, error: KafkaError | OSError) -> None:
        partition = follower.topic_partition
        if isinstance(error, OSError):
            error = follower.log.health.report(error)
        if self._troubles.get(partition) != str(error):  # once is enough
            self._troubles[partition] = str(error)
            logger.error("%s cannot follow broker %d: %s", partition, self.leader_id, error)
        self._pause(follower, TROUBLE_S)

    def _pause(self, follower: FollowedPartition, seconds: float | None = None) -> None:
        pause_s = self._limits.backoff_s if seconds is None else seconds
        later = self._now() + pause_s
        self._paused[follower.topic_partition] = later

    def _end_pauses(self) -> None:
        now = self._now()
        for partition in [one for one, until in self._paused.items() if until <= now]:
            del self._paused[partition]
            self._changed[partition] = None

    def _hold_back(self) -> None:
        """While the quota is spent, replicas under it that lag are not asked for."""
        throttle = self._throttle
        if not throttle.quota.is_spent(self._now()):
            return
        for partition, follower in self._followers.items():
            if partition not in self._paused and throttle.covers(partition) and follower.lags:
                self._changed[partition] = None
                self._pause(follower)

    def _count(self, follower: FollowedPartition, size: int) -> None:
        if self._throttle.covers(follower.topic_partition):
            self._throttle.quota.spend(self._now(), size)

    async def _restart(self, client: Client, follower: FollowedPartition) -> None:
        start = await self._offset_of(client, follower, EARLIEST)
        end = await self._offset_of(client, follower, LATEST)
        if self._followers.get(follower.topic_partition) is not follower:
            return  # meanwhile it follows another, or leads: its log is no affair of this leader
        if start is None or end is None:
            self._pause(follower)
            return
        logger.warning(
            "%s: the leader holds offsets %d to %d, this replica ends at %d",
            follower.topic_partition,
            start,
            end,
            follower.log.log_end_offset,
        )
        try:
            if not follower.restart_at(start, end, self._now_ms()):
                self._pause(follower, TROUBLE_S)
        except (KafkaError, OSError) as error:
            self._troubled(follower, error)

    async def _offset_of(
        self, client: Client, follower: FollowedPartition, which: int
    ) -> int | None:
        topic, partition = follower.topic_partition
        ask = ListOffsetsPartition(
            partition_index=partition, current_leader_epoch=follower.epoch, timestamp=which
        )
        request = ListOffsetsRequest(
            replica_id=self._replica.node_id,
            topics=[ListOffsetsTopic(name=topic, partitions=[ask])],
        )
        response = await self._ask(client, request, LIST_OFFSETS_VERSION, ListOffsetsResponse)
        answer = response.topics[0].partitions[0]
        return None if answer.error_code else answer.offset


class Fetchers:
    """One fetcher per leader, made when first needed; and one for what waits for the disk."""

    def __init__(
        self,
        replica: Replica,
        address: Address,
        network: Network,
        limits: FetchLimits,
        suspects: Suspects,
        flushed: Flushed,
        throttle: Throttle,
        clock: Clock,
    ) -> None:
        self._replica = replica
        self._address = address
        self._network = network
        self._limits = limits
        self._suspects = suspects
        self._flushed = flushed
        self._throttle = throttle
        self._clock = clock
        self._all: dict[tuple[int, bool], Fetcher] = {}
        self._fetcher_of: dict[TopicPartition, Fetcher] = {}

    def follow(self, follower: FollowedPartition) -> None:
        self.forget(follower.topic_partition)
        key = follower.leader_id, follower.log.config.flush_messages < NEVER_MS
        fetcher = self._all.get(key)
        if fetcher is None:
            fetcher = self._all[key] = Fetcher(
                follower.leader_id,
                self._replica,
                self._address,
                self._network,
                self._limits,
                self._suspects,
                self._flushed,
                self._throttle,
                self._clock,
            )
        self._fetcher_of[follower.topic_partition] = fetcher
        fetcher.follow(follower)

    def forget(self, partition: TopicPartition) -> None:
        """Not followed any more; what was asked for it and comes later is dropped."""
        fetcher = self._fetcher_of.pop(partition, None)
        if fetcher is not None:
            fetcher.forget(partition)

    def tell_start(self, partition: TopicPartition) -> None:
        fetcher = self._fetcher_of.get(partition)
        if fetcher is not None:
            fetcher.tell_start(partition)

    async def stop(self) -> None:
        await asyncio.gather(*(fetcher.stop() for fetcher in self._all.values()))
