"""Queues of share groups over the partitions led here: `groups.share.in_flight` at work.

A queue lives as long as the leadership it was opened under. Its state is read from the share
coordinator when someone first takes from it, and written back with every answer.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from ottla.broker.share_states import StateKeeper
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share.in_flight import Change, InFlight
from ottla.groups.share.states import NOT_STARTED, Place, State
from ottla.ids import Uuid
from ottla.metadata.image import ResourceType
from ottla.replication.leader import Leader

if TYPE_CHECKING:
    from ottla.broker.broker import Broker

log = logging.getLogger(__name__)

LATEST, EARLIEST, BY_DURATION = "latest", "earliest", "by_duration:"
LOADING_TRIES = 20
LOADING_PAUSE_S = 0.1
NOT_READY = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class Terms(NamedTuple):
    """What is configured for a group's queues."""

    lock_s: float
    delivery_limit: int
    locks_max: int
    reset: str
    read_committed: bool


class Queue:
    """One share partition under one leadership."""

    def __init__(self, place: Place, leader: Leader, in_flight: InFlight, state_epoch: int) -> None:
        self.place = place
        self.leader = leader
        self.in_flight = in_flight
        self.state_epoch = state_epoch
        self.waiters: set[asyncio.Event] = set()
        self.timer: asyncio.TimerHandle | None = None

    def wake(self) -> None:
        for waiter in self.waiters:
            waiter.set()


class Queues:
    def __init__(self, broker: "Broker", states: StateKeeper) -> None:
        self._broker = broker
        self._states = states
        self._queues: dict[Place, asyncio.Task[Queue]] = {}

    def terms_of(self, group_id: str) -> Terms:
        options = self._broker.image.config(ResourceType.GROUP, group_id)
        settings = self._broker.settings.for_group(options)
        return Terms(
            settings.int("share.record.lock.duration.ms") / 1000,
            settings.int("share.delivery.count.limit"),
            settings.int("share.partition.max.record.locks"),
            settings.text("share.auto.offset.reset"),
            settings.text("share.isolation.level") == "read_committed",
        )

    async def open(
        self, group_id: str, topic_id: Uuid, partition: int, *, confirmed: bool = True
    ) -> Queue:
        """The queue of a partition that is led here; if it is to be `confirmed` first, one whose
        state was reset or deleted by another broker is not used any longer."""
        leader = self._broker.partitions.leader_by_id(topic_id, partition)
        place = Place(group_id, topic_id, partition)
        if not confirmed:
            await self._confirm(place)
        opening = self._queues.get(place)
        if opening is not None and opening.done() and not self._holds(opening, leader):
            opening = None
        if opening is None:
            loop = asyncio.get_running_loop()
            opening = self._queues[place] = loop.create_task(self._open(place, leader))
        return await asyncio.shield(opening)

    def known(self, place: Place) -> Queue | None:
        opening = self._queues.get(place)
        if opening is None or not opening.done() or opening.exception() is not None:
            return None
        return opening.result()

    async def _confirm(self, place: Place) -> None:
        queue = self.known(place)
        if queue is None:
            return
        state = await self._when_ready(lambda: self._states.summary(place))
        known = (queue.state_epoch, queue.leader.epoch)
        if state.start_offset == NOT_STARTED or (state.state_epoch, state.leader_epoch) != known:
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
    def _holds(opening: "asyncio.Task[Queue]", leader: Leader) -> bool:
        if opening.cancelled() or opening.exception() is not None:
            return False
        return opening.result().leader is leader and not leader.deposed

    async def _open(self, place: Place, leader: Leader) -> Queue:
        terms = self.terms_of(place.group_id)
        state = await self._when_ready(lambda: self._states.read(place, leader.epoch))
        start_offset = state.start_offset
        if start_offset == NOT_STARTED:
            start_offset = self._first_offset(leader, terms.reset)
        in_flight = InFlight(
            start_offset,
            state.batches,
            delivery_limit=terms.delivery_limit,
            locks_max=terms.locks_max,
        )
        queue = Queue(place, leader, in_flight, state.state_epoch)
        if state.start_offset == NOT_STARTED:
            await self._write(queue, Change(start_offset, (), 0))
        return queue

    @staticmethod
    async def _when_ready(ask: Callable[[], Awaitable[State]]) -> State:
        """The coordinator may just have been elected, or its topic just been made."""
        for _ in range(LOADING_TRIES):
            try:
                return await ask()
            except KafkaError as refusal:
                if refusal.code not in NOT_READY:
                    raise
                await asyncio.sleep(LOADING_PAUSE_S)
        return await ask()

    def _first_offset(self, leader: Leader, reset: str) -> int:
        partition_log = leader.log
        if reset == EARLIEST:
            return partition_log.log_start_offset
        if reset.startswith(BY_DURATION):
            since = self._broker.now_ms() - _milliseconds(reset.removeprefix(BY_DURATION))
            found = partition_log.offset_for_timestamp(since)
            return partition_log.high_watermark if found is None else found.offset
        return partition_log.high_watermark

    # -- changes ------------------------------------------------------------------------------

    async def settle(self, queue: Queue, change: Change, before: int) -> None:
        """Write what changed; wake who waits for records."""
        self.watch(queue)
        if change.batches or change.start_offset != before:
            await self._write(queue, change)
        queue.wake()

    async def _write(self, queue: Queue, change: Change) -> None:
        try:
            await self._states.write(queue.place, queue.state_epoch, queue.leader.epoch, change)
        except KafkaError as refusal:
            if refusal.code in (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_STATE_EPOCH):
                self._drop(queue)
            raise

    def watch(self, queue: Queue) -> None:
        """Wake up when the first lock runs out."""
        if queue.timer is not None:
            queue.timer.cancel()
            queue.timer = None
        deadline = queue.in_flight.deadline()
        if deadline is not None:
            delay = max(deadline - self._broker.now(), 0.0)
            queue.timer = asyncio.get_running_loop().call_later(delay, self._locks_ran_out, queue)

    def _locks_ran_out(self, queue: Queue) -> None:
        queue.timer = None
        if queue.leader.deposed:
            return
        before = queue.in_flight.start_offset
        self.settle_later(queue, queue.in_flight.tick(self._broker.now()), before)

    def release(self, queue: Queue, member_id: str) -> None:
        before = queue.in_flight.start_offset
        self.settle_later(queue, queue.in_flight.release(member_id), before)

    def settle_later(self, queue: Queue, change: Change, before: int) -> None:
        """Nobody waits for it: were it lost, the records would only come once more."""

        async def settle() -> None:
            try:
                await self.settle(queue, change, before)
            except KafkaError as refusal:
                log.warning("%s: the state was not written: %s", queue.place.key(), refusal)

        self._broker.spawn(settle())


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
