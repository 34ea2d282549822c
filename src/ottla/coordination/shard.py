"""One shard at work: the driver of a machine over the log it leads.

The package's docstring is the contract. Here a decision goes its way: it is applied, its records
wait in the open batch (`batcher`) for others, and once they are appended (`committer`) for the
commit; `loading` reads the log, `replies` knows who waits, one `alarm` serves the machine's timers.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Any, Generic, TypeVar

from ottla.coordination import loading
from ottla.coordination.alarm import Alarm
from ottla.coordination.batcher import Batcher, encode_records
from ottla.coordination.committer import Committer
from ottla.coordination.lingering import Lingering
from ottla.coordination.log import ShardLog
from ottla.coordination.machine import (
    LATER,
    Answer,
    CoordinatorRecord,
    Decision,
    Instant,
    Machine,
    ProducerIdAndEpoch,
    Ticket,
)
from ottla.coordination.replies import Replies, as_coordinator
from ottla.errors import ErrorCode, KafkaError
from ottla.ports.clock import Clock
from ottla.wire.record_batch import HEADER_SIZE, NewRecord, build_marker

logger = logging.getLogger(__name__)

M = TypeVar("M", bound=Machine)
R = TypeVar("R")

RETRY_TICK_S = 1.0


class Phase(Enum):
    IDLE = auto()  # not led here
    LOADING = auto()
    ACTIVE = auto()


class Shard(Generic[M]):
    """Not safe across threads: everything happens on the event loop."""

    def __init__(
        self,
        name: str,
        new_machine: Callable[[], M],
        clock: Clock,
        commit_timeout_s: float = 5.0,
        lingering: Lingering | None = None,
    ) -> None:
        self.name = name
        self.phase = Phase.IDLE
        self._new_machine = new_machine
        self._machine: M | None = None  # while ACTIVE
        self._monotonic, self._wall_ms = clock
        self._log: ShardLog | None = None  # while LOADING or ACTIVE
        self._loop: asyncio.AbstractEventLoop
        self._loading: asyncio.Task[None] | None = None
        self._loaded_at = float("-inf")
        self._lingering = lingering or Lingering(clock.monotonic)
        self._lingers = False  # the open batch is appended when it is time
        self._batcher = Batcher()
        self._replies = Replies()
        self._committer = Committer(
            self._replies, clock.monotonic, commit_timeout_s, self._lost_log
        )
        self._alarm = Alarm(self._tick)

    @property
    def epoch(self) -> int:
        """The leader epoch under which this shard decides; -1 where it does not."""
        return -1 if self._log is None else self._log.leader_epoch

    @property
    def machine(self) -> M:
        """The state, for those who only look; refuses as `submit` does."""
        if self.phase is Phase.LOADING:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        if self._machine is None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return self._machine

    @property
    def log_end_offset(self) -> int:
        """What is decided next comes to lie here or later; 0 where nothing is decided."""
        return 0 if self._log is None else self._log.log_end_offset

    def forget_before(self, offset: int) -> None:
        """The machine needs nothing of the log that lies before."""
        self._led().forget_before(offset)

    # -- leadership -----------------------------------------------------------------------

    def load(self, log: ShardLog) -> "asyncio.Task[None]":
        """This broker leads the partition: read it, then serve. Replaces an earlier epoch."""
        self.unload()
        self._loop = asyncio.get_running_loop()
        self._log = log
        self._committer.begin(log)
        self.phase = Phase.LOADING
        self._loading = self._loop.create_task(self._load(log))
        return self._loading

    def unload(self) -> None:
        """Leadership is gone: refuse who waits, forget everything."""
        if self._loading is not None:
            self._loading.cancel()
            self._loading = None
        self._committer.end()
        self.phase = Phase.IDLE
        self._log = None
        self._drop(KafkaError(ErrorCode.NOT_COORDINATOR))

    async def _load(self, log: ShardLog) -> None:
        try:
            machine, end_offset = await loading.load_new(self._new_machine, log, self.name)
        except KafkaError as error:
            logger.warning("%s: could not be loaded: %s", self.name, error)
            self.phase = Phase.IDLE  # `unload` or `load` follows
            return
        except Exception:
            logger.exception(
                "%s: a record could not be applied; the shard is not served", self.name
            )
            self.phase = Phase.IDLE
            return
        self._machine = machine
        self._loaded_at = self._monotonic()
        self.phase = Phase.ACTIVE
        if end_offset > log.high_watermark:
            self._committer.appended(end_offset, [])
        self._take(machine.loaded(self.now()), None)

    def _reload(self, refusal: KafkaError) -> None:
        """The state is ahead of the log, and cannot be taken back."""
        log = self._led()
        self._drop(refusal)
        self.phase = Phase.LOADING
        self._loading = self._loop.create_task(self._load_again(log))

    async def _load_again(self, log: ShardLog) -> None:
        """At once, but not over and over where nothing can be appended: a log may be large."""
        await asyncio.sleep(self._loaded_at + loading.RETRY_LOAD_S - self._monotonic())
        await self._load(log)

    def _lost_log(self, refusal: KafkaError) -> None:
        self._drop(refusal)  # `unload` or `load` follows
        self.phase = Phase.IDLE

    def _drop(self, refusal: KafkaError) -> None:
        """Forget the state, and refuse who waits."""
        self._machine = None
        self._alarm.cancel()
        for answers in (self._batcher.close().answers, *self._committer.drop()):
            self._replies.refuse(answers, refusal)
        self._replies.refuse_parked(refusal)

    def _led(self) -> ShardLog:
        if self._log is None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return self._log

    # -- deciding -------------------------------------------------------------------------

    def submit(self, decide: Callable[[M, Instant, Ticket], Decision[R]]) -> "asyncio.Future[R]":
        """Let `decide` look at the state; the future holds its reply once that may be shown.

        A KafkaError of `decide` is raised at once, unless something it may rest on can still be
        lost: then it comes in its turn, as a reply would. Who is cut off refuses nobody.
        """
        machine = self.machine
        future: asyncio.Future[R] = self._loop.create_future()
        try:
            decision = decide(machine, self.now(), future)
        except KafkaError as refusal:
            if self._batcher.records or self._committer.in_flight:
                self._answer_in_order([Answer(future, refusal)])
                return future
            if not self._led().is_heard:
                sentence = "Another may coordinate by now: look it up again."
                raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, sentence) from None
            raise
        self._take(decision, future)
        return future

    def end_transaction(
        self,
        producer: ProducerIdAndEpoch,
        coordinator_epoch: int,
        committed: bool,
        check: Callable[[], None] = lambda: None,
    ) -> "asyncio.Future[None]":
        """Write the marker that ends a transaction in this partition, and apply it. `check` may
        refuse it when all that was decided before is in the log."""
        machine = self.machine
        log = self._led()
        future: asyncio.Future[None] = self._loop.create_future()
        self._flush_or_refuse()
        check()
        now_ms = self._wall_ms()
        marker = build_marker(
            commit=committed,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            coordinator_epoch=coordinator_epoch,
            timestamp=now_ms,
            leader_epoch=log.leader_epoch,
        )
        end_offset = log.append(marker, now_ms)  # a refusal leaves the state as it was
        machine.replay_marker(producer.id, producer.epoch, committed)
        self._committer.appended(end_offset, [Answer(future, None)])
        self._arm(machine)
        return future

    def fits_open_batch(self, size: int) -> bool:
        """Whether a record of that size, outside of transactions, goes into it as it is."""
        limit = self._led().max_batch_bytes - HEADER_SIZE
        return self._batcher.fits(size, None, limit)

    def add_applied(self, record: NewRecord, size: int, ticket: Ticket) -> None:
        """A record that fits, which the caller has decided on and applied in this very step;
        `ticket` is answered once it is committed."""
        self._batcher.add_one(record, size, Answer(ticket, None))
        self._append_soon()
        self._arm(self.machine)

    def _take(self, decision: Decision[Any], ticket: "asyncio.Future[Any] | None") -> None:
        machine = self.machine
        if decision.records:
            try:
                if decision.is_atomic:
                    self._apply(machine, decision.records, decision.producer)
                else:
                    for record in decision.records:
                        self._apply(machine, (record,), decision.producer)
            except KafkaError as error:
                self._replies.refuse(decision.answers, error)
                raise
        answers = list(decision.answers)
        if ticket is not None:
            if decision.reply is LATER:
                self._replies.park(ticket)
            else:
                answers.append(Answer(ticket, decision.reply))
        if answers:
            self._answer_in_order(answers)
        self._arm(machine)

    def _apply(
        self, machine: M, entries: Sequence[CoordinatorRecord], producer: ProducerIdAndEpoch | None
    ) -> None:
        encoded = encode_records(entries, machine.RECORDS, self._wall_ms())
        limit = self._led().max_batch_bytes - HEADER_SIZE
        if encoded.size > limit:
            raise KafkaError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"{encoded.size} bytes of records exceed the {limit} that a batch of {self.name} "
                "holds.",
            )
        if not self._batcher.fits(encoded.size, producer, limit):
            self._flush_or_refuse()
        try:
            producer_id = -1 if producer is None else producer.id
            for key_message, value_message in entries:
                machine.replay(-1, producer_id, key_message, value_message)
        except Exception:
            logger.exception("%s: a record could not be applied", self.name)
            self._reload(KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))
            raise
        self._batcher.add(encoded, producer)
        self._append_soon()

    def _answer_in_order(self, answers: list[Answer]) -> None:
        """Answer when all that was applied so far is committed: at once, or with its batch."""
        if self._batcher.records:
            self._batcher.answer_with_it(answers)
        elif self._committer.in_flight:
            self._committer.answer_with_last(answers)
        else:
            self._replies.resolve(answers)

    # -- appending ------------------------------------------------------------------------

    def _append_soon(self) -> None:
        if self._lingers:
            self._lingering.came()
        else:
            self._lingers = True
            self._lingering.begin(self._loop, self._flush_is_due)

    def _flush_is_due(self) -> None:
        self._lingers = False
        self._flush()

    def _flush_or_refuse(self) -> None:
        """For what was decided upon a state that is gone if this fails."""
        refusal = self._flush()
        if refusal is not None:
            raise refusal

    def _flush(self) -> KafkaError | None:
        """What those who wait for the batch were refused with, if it could not be appended."""
        if not self._batcher.records or self._log is None:
            return None
        batch = self._batcher.close()
        try:
            end_offset = self._log.append(batch.encode(self._log.leader_epoch), self._wall_ms())
        except KafkaError as error:
            logger.warning("%s: an append failed (%s); loading again", self.name, error)
            refusal = as_coordinator(error)
            self._replies.refuse(batch.answers, refusal)
            self._reload(refusal)
            return refusal
        self._committer.appended(end_offset, batch.answers)
        return None

    # -- time -----------------------------------------------------------------------------

    def now(self) -> Instant:
        return Instant(self._monotonic(), self._wall_ms())

    def _arm(self, machine: M) -> None:
        deadline = machine.deadline()
        if deadline is not None:
            self._alarm.set(deadline)

    def _tick(self) -> None:
        if self.phase is not Phase.ACTIVE:
            return
        if not self._led().may_append:  # then time stands still: nothing that is due can be written
            self._alarm.set(self._monotonic() + RETRY_TICK_S)
            return
        try:
            self._take(self.machine.tick(self.now()), None)
        except Exception:
            logger.exception("%s: a time-out could not be handled", self.name)
            self._alarm.set(self._monotonic() + RETRY_TICK_S)
