"""Queues of share groups over the partitions led here: `groups.share.in_flight` at work.

A queue lives as long as the leadership it was opened under, and as its group has sessions here.
Its state is read from the share coordinator when someone first takes from it, and written back
with every answer.
"""

import asyncio
import logging
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ottla.broker.share.states import NOT_READY, StateKeeper
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share.delivery import StateChange
from ottla.groups.share.in_flight import InFlight
from ottla.groups.share.states import NOT_STARTED, SharePartitionKey
from ottla.metadata.image import ConfigResourceType
from ottla.replication.leader import Leader

if TYPE_CHECKING:
    from ottla.broker.background import Background
    from ottla.broker.cluster_view import ClusterView
    from ottla.replication.partitions import Partitions

log = logging.getLogger(__name__)

LATEST, EARLIEST, BY_DURATION = "latest", "earliest", "by_duration:"


STALE = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_STATE_EPOCH)
"""The state is another one by now."""
PASSED_ON = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


class Terms(NamedTuple):
    """What is configured for a group's queues."""

    lock_s: float
    delivery_limit: int
    locks_max: int
    reset: str
    read_committed: bool
    may_renew: bool


class DelayedShareFetch:
    """A request that waits for records."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.is_early = True

    def wake(self, is_early: bool) -> None:
        """Early: Apache Kafka would leave it waiting, and find the same records in the end. So it
        is when the time is up: Kafka does not try again then, it takes what there is."""
        self.is_early &= is_early
        self.event.set()


class Queue:
    """One share partition under one leadership."""

    def __init__(
        self, place: SharePartitionKey, leader: Leader, in_flight: InFlight, state_epoch: int
    ) -> None:
        self.place = place
        self.leader = leader
        self.in_flight = in_flight
        self.state_epoch = state_epoch
        self.is_taken_from = False  # one request at a time reads for it
        self.read_from: int | None = None  # where a request that might wait read last
        self.waiters: set[DelayedShareFetch] = set()
        self.timer: asyncio.TimerHandle | None = None

    def wake(self, *, is_early: bool = False) -> None:
        for waiter in self.waiters:
            waiter.wake(is_early)


Opening: TypeAlias = "asyncio.Task[Queue]"


class Queues:
    def __init__(
        self,
        cluster: "ClusterView",
        partitions: "Partitions",
        background: "Background",
        states: StateKeeper,
    ) -> None:
        self._cluster = cluster
        self._now = cluster.clock.monotonic
        self._partitions = partitions
        self._background = background
        self._states = states
        self._queues: dict[SharePartitionKey, Opening] = {}

    def terms_of(self, group_id: str) -> Terms:
        options = self._cluster.image.config(ConfigResourceType.GROUP, group_id)
        settings = self._cluster.settings.for_group(options)
        return Terms(
            settings.int("share.record.lock.duration.ms") / 1000,
            settings.int("share.delivery.count.limit"),
            settings.int("share.partition.max.record.locks"),
            settings.text("share.auto.offset.reset"),
            settings.text("share.isolation.level") == "read_committed",
            settings.flag("share.renew.acknowledge.enable"),
        )

    def open(self, place: SharePartitionKey) -> Opening:
        """The queue of a partition that is led here, or will be when its state is read."""
        leader = self._partitions.leader_by_id(place.topic_id, place.partition)
        opening = self._queues.get(place)
        if opening is not None and opening.done() and not self._holds(opening, leader):
            opening = None
        if opening is None:
            loop = asyncio.get_running_loop()
            opening = self._queues[place] = loop.create_task(self._open(place, leader))
            opening.add_done_callback(_is_seen)
        return opening

    def known(self, place: SharePartitionKey) -> Queue | None:
        """The queue if somebody opened it, and its leadership goes on."""
        opening = self._queues.get(place)
        if opening is None or not opening.done() or opening.exception() is not None:
            return None
        queue = opening.result()
        return None if queue.leader.deposed else queue

    def forget_group(self, group_id: str) -> None:
        """Nobody takes from its queues any more: who comes next reads their states anew."""
        for place in [place for place in self._queues if place.group_id == group_id]:
            queue = self.known(place)
            if queue is not None:
                self._drop(queue)

    def _drop(self, queue: Queue) -> None:
        """What it knows does not hold any more: the state is read again by whoever comes next."""
        if queue.timer is not None:
            queue.timer.cancel()
            queue.timer = None
        if self.known(queue.place) is queue:
            del self._queues[queue.place]
        queue.wake()

    @staticmethod
    def _holds(opening: Opening, leader: Leader) -> bool:
        if opening.cancelled() or opening.exception() is not None:
            return False
        return opening.result().leader is leader and not leader.deposed

    async def _open(self, place: SharePartitionKey, leader: Leader) -> Queue:
        terms = self.terms_of(place.group_id)
        try:
            state = await self._states.read(place, leader.epoch)
        except KafkaError as refusal:
            raise _told(refusal) from None
        start_offset = state.start_offset
        if start_offset == NOT_STARTED:
            start_offset = self._first_offset(leader, terms.reset)
        in_flight = InFlight(start_offset, state.batches)
        return Queue(place, leader, in_flight, state.state_epoch)

    def _first_offset(self, leader: Leader, reset: str) -> int:
        partition_log = leader.log
        if reset == EARLIEST:
            return partition_log.log_start_offset
        if reset.startswith(BY_DURATION):
            since = self._cluster.clock.wall_ms() - _milliseconds(reset.removeprefix(BY_DURATION))
            found = partition_log.offset_for_timestamp(since)
            if found is None:
                raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE, "No record is as late as that.")
            return found.offset
        return partition_log.high_watermark

    # -- changes ------------------------------------------------------------------------------

    def in_flight(self, queue: Queue) -> InFlight:
        """What is configured may have changed since."""
        terms = self.terms_of(queue.place.group_id)
        queue.in_flight.delivery_limit = terms.delivery_limit
        queue.in_flight.locks_max = terms.locks_max
        return queue.in_flight

    async def settle(self, queue: Queue, change: StateChange) -> None:
        """Write what changed; wake who waits for records."""
        self.watch(queue)
        if not change.batches:
            return
        is_written, start_offset = False, queue.in_flight.start_offset
        try:
            await self._states.write(queue.place, queue.state_epoch, queue.leader.epoch, change)
            is_written = True
        except KafkaError as refusal:
            if refusal.code in STALE or refusal.code in PASSED_ON:
                self._drop(queue)
            raise _told(refusal) from None
        finally:
            queue.in_flight.complete(change, self._now(), is_written=is_written)
            if not is_written and self.known(queue.place) is queue:
                self.watch(queue)  # its locks hold again
            queue.wake(is_early=queue.in_flight.start_offset == start_offset)

    def watch(self, queue: Queue) -> None:
        """Wake up when the first lock runs out."""
        deadline = queue.in_flight.deadline()
        if queue.timer is not None:
            queue.timer.cancel()
            queue.timer = None
        if deadline is not None:
            delay = max(deadline - self._now(), 0.0)
            queue.timer = asyncio.get_running_loop().call_later(delay, self._locks_ran_out, queue)

    def _locks_ran_out(self, queue: Queue) -> None:
        queue.timer = None
        if queue.leader.deposed:
            return
        change = self.in_flight(queue).tick(self._now())
        self.settle_later(queue, change)
        if change.batches:
            queue.wake()

    def release(self, queue: Queue, member_id: str) -> None:
        self.settle_later(queue, self.in_flight(queue).release(member_id, self._now()))

    def settle_later(self, queue: Queue, change: StateChange) -> None:
        """Nobody waits for it: were it lost, the records would only come once more."""

        async def settle() -> None:
            try:
                await self.settle(queue, change)
            except KafkaError as refusal:
                log.warning("%s: the state was not written: %s", queue.place.key(), refusal)

        self._background.spawn(settle())


def _is_seen(opening: Opening) -> None:
    """Who asked for the queue may have left before it could not be opened."""
    if not opening.cancelled():
        opening.exception()


def _told(refusal: KafkaError) -> KafkaError:
    """What a member hears of a refusal by the share coordinator."""
    if refusal.code in NOT_READY:
        code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    elif refusal.code in PASSED_ON:
        code = refusal.code
    elif refusal.code in STALE:
        code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    else:
        code = ErrorCode.UNKNOWN_SERVER_ERROR
    return KafkaError(code, refusal.message)


def _milliseconds(duration: str) -> int:
    """ISO 8601 as far as Kafka's option takes it: PnDTnHnMnS."""
    days, _, time = duration.upper().removeprefix("P").partition("T")
    total = float(days.removesuffix("D") or 0) * 86_400
    number = ""
    for letter in time:
        if letter in "HMS":
            total += float(number) * {"H": 3_600, "M": 60, "S": 1}[letter]
            number = ""
        else:
            number += letter
    return int(total * 1000)
