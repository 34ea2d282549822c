"""Fetches from one leader all that this node follows there. The only sockets of replication.

One request is under way at a time, over a session (`fetch_session`). When a partition is added
while the leader keeps us waiting, the link is dropped and opened again, so that a fail-over never
waits for a long poll to end. How each partition fares is in `fetch_states`.

The offset that is asked for tells the leader what is safe here. Where `flush.messages` asks for
the disk, it is flushed up to there first; such partitions have a fetcher of their own, so that no
other waits for the disk.
"""

import asyncio
import logging
from typing import TypeVar

from ottla.errors import ErrorCode, KafkaError
from ottla.ids import TopicPartition
from ottla.ports.clock import Clock
from ottla.ports.network import Link, LinkLost, Network
from ottla.replication.fetch_session import FetchSessionHandler
from ottla.replication.fetch_states import FetchState, FetchStates
from ottla.replication.fetcher_means import (
    Address,
    FailureDetector,
    FetchingBroker,
    FetchLimits,
    Flushed,
)
from ottla.replication.follower import PATIENT, FollowedPartition, Verdict
from ottla.replication.throttles import Throttle
from ottla.wire.client import Client
from ottla.wire.codec import MalformedMessage
from ottla.wire.message import Message
from ottla.wire.messages.fetch import FetchRequest, FetchResponse, PartitionData, ReplicaState
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

M = TypeVar("M", bound=Message)


class Fetcher:
    def __init__(
        self,
        leader_id: int,
        broker: FetchingBroker,
        address: Address,
        network: Network,
        limits: FetchLimits,
        suspects: FailureDetector,
        flushed: Flushed,
        throttle: Throttle,
        clock: Clock,
    ) -> None:
        self.leader_id = leader_id
        self._broker = broker
        self._address = address
        self._network = network
        self._limits = limits
        self._suspects = suspects
        self._flushed = flushed
        self._throttle = throttle
        self._now, self._now_ms = clock
        self._states = FetchStates()
        self._session = FetchSessionHandler(())
        self._link: Link | None = None
        self._interrupted = False  # we broke the link ourselves
        self._wake = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._run())

    def follow(self, follower: FollowedPartition) -> None:
        self._states.add(follower)
        self._session.name(follower.topic_partition)
        self._interrupt()

    def forget(self, partition: TopicPartition) -> None:
        self._states.remove(partition)
        self._session.name(partition)

    def tell_start(self, partition: TopicPartition) -> None:
        """Its log begins later than the leader knows: the next request names it."""
        if self._states.get(partition) is not None:
            self._session.name(partition)

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
                client = Client(await self._connect(), f"broker-{self._broker.node_id}-fetcher")
                while self._states:
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
        while not self._states:
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
        self._session = FetchSessionHandler(self._states.names())

    def _interrupt(self) -> None:
        self._wake.set()
        if self._link is not None:
            self._interrupted = True
            self._link.close()

    async def _round(self, client: Client) -> None:
        for resumed in self._states.resume(self._now()):
            self._session.name(resumed.partition)
        await self._flush()
        if self._throttle.partitions:
            self._hold_back()
        if self._states.all_are_paused:
            await self._rest(self._limits.backoff_s)
            return
        response = await self._ask(client, self._request(), FETCH_VERSION, FetchResponse)
        if response.error_code:
            code = ErrorCode(response.error_code)
            if code in SESSION_ERRORS:
                self._begin_session()
                return
            raise KafkaError(code, "the fetch was refused")
        self._suspects.found(self.leader_id)  # a dying process may still accept, not answer
        if response.session_id:
            self._session.go_on(response.session_id)
        else:  # the leader has no room for one: everything is named each time
            self._begin_session()
        for topic in response.responses:
            for data in topic.partitions:
                state = self._states.get_by_id(topic.topic_id, data.partition_index)
                if state is not None:
                    await self._take(client, state, data)

    def _request(self) -> FetchRequest:
        limits, broker = self._limits, self._broker
        request = FetchRequest(
            replica_state=ReplicaState(replica_id=broker.node_id, replica_epoch=broker.epoch()),
            max_wait_ms=limits.wait_ms,
            min_bytes=limits.min_bytes,
            max_bytes=limits.response_bytes,
        )
        self._session.fill(request, self._states, limits.partition_bytes)
        return request

    async def _ask(self, client: Client, request: Message, version: int, kind: type[M]) -> M:
        """An answer that came in spite of an interruption is dropped: what it is about may be
        followed in another epoch by now."""
        response = await client.ask(request, version, kind)
        if self._interrupted:
            raise LinkLost("it was interrupted")
        return response

    # --- the disk

    async def _flush(self) -> None:
        """Put onto the disk what the next request must not tell of before."""
        while due := self._unflushed():
            await asyncio.gather(*map(self._flush_one, due))

    def _unflushed(self) -> list[FetchState]:
        named = map(self._states.get, self._session.changed)
        return [
            state
            for state in named
            if state is not None and state.paused_until is None and state.follower.log.flush_due
        ]

    async def _flush_one(self, state: FetchState) -> None:
        log = state.follower.log
        try:
            await self._flushed(log, log.log_end_offset)
        except (KafkaError, OSError) as error:
            self._troubled(state, error)

    # --- what came

    async def _take(self, client: Client, state: FetchState, data: PartitionData) -> None:
        self._session.name(state.partition)
        if self._throttle.partitions and data.records:
            self._count(state, len(data.records))
        try:
            verdict = state.follower.took(data, self._now_ms())
        except (KafkaError, OSError) as error:  # its disk, or a damaged batch: the others go on
            self._troubled(state, error)
            return
        if verdict is Verdict.OUT_OF_RANGE:
            await self._restart(client, state)
        elif verdict is Verdict.TRY_LATER:
            if ErrorCode(data.error_code) not in PATIENT:
                code = ErrorCode(data.error_code).name
                logger.warning("%s cannot be followed: %s", state.partition, code)
            self._pause(state, self._limits.backoff_s)

    async def _restart(self, client: Client, state: FetchState) -> None:
        follower = state.follower
        start = await self._offset_of(client, follower, EARLIEST)
        end = await self._offset_of(client, follower, LATEST)
        if self._states.get(state.partition) is not state:
            return  # meanwhile it follows another, or leads: its log is no affair of this leader
        if start is None or end is None:
            self._pause(state, self._limits.backoff_s)
            return
        logger.warning(
            "%s: the leader holds offsets %d to %d, this replica ends at %d",
            state.partition,
            start,
            end,
            follower.log.log_end_offset,
        )
        try:
            if not follower.restart_at(start, end, self._now_ms()):
                self._pause(state, TROUBLE_S)
        except (KafkaError, OSError) as error:
            self._troubled(state, error)

    async def _offset_of(
        self, client: Client, follower: FollowedPartition, which: int
    ) -> int | None:
        topic, partition = follower.topic_partition
        ask = ListOffsetsPartition(
            partition_index=partition, current_leader_epoch=follower.epoch, timestamp=which
        )
        request = ListOffsetsRequest(
            replica_id=self._broker.node_id,
            topics=[ListOffsetsTopic(name=topic, partitions=[ask])],
        )
        response = await self._ask(client, request, LIST_OFFSETS_VERSION, ListOffsetsResponse)
        answer = response.topics[0].partitions[0]
        return None if answer.error_code else answer.offset

    # --- pauses of single partitions

    def _troubled(self, state: FetchState, error: KafkaError | OSError) -> None:
        if isinstance(error, OSError):
            error = state.follower.log.health.report(error)
        if state.trouble != str(error):
            state.trouble = str(error)
            logger.error("%s cannot follow broker %d: %s", state.partition, self.leader_id, error)
        self._pause(state, TROUBLE_S)

    def _pause(self, state: FetchState, seconds: float) -> None:
        self._states.pause(state, self._now() + seconds)

    def _hold_back(self) -> None:
        """While the quota is spent, replicas under it that lag are not asked for."""
        throttle = self._throttle
        if not throttle.quota.is_spent(self._now()):
            return
        for state in self._states:
            if (
                state.paused_until is None
                and throttle.covers(state.partition)
                and state.follower.lags
            ):
                self._session.name(state.partition)
                self._pause(state, self._limits.backoff_s)

    def _count(self, state: FetchState, size: int) -> None:
        if self._throttle.covers(state.partition):
            self._throttle.quota.spend(self._now(), size)
