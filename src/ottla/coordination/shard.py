"""One shard at work: the driver of a machine over the log it leads.

The package's docstring is the contract. Here are its mechanics: batches of what comes together,
replies in the order of commits, one timer for the machine, loading and reloading.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Any, Generic, TypeVar

from ottla.coordination.lingering import Lingering
from ottla.coordination.loading import load
from ottla.coordination.log import ShardLog
from ottla.coordination.machine import (
    LATER,
    Answer,
    Decision,
    Entry,
    Instant,
    Machine,
    Producer,
    Ticket,
)
from ottla.coordination.records import encode_entry
from ottla.errors import ErrorCode, KafkaError
from ottla.ports.clock import Clock
from ottla.wire.record_batch import HEADER_SIZE, NewRecord, build_batch, build_marker

logger = logging.getLogger(__name__)

M = TypeVar("M", bound=Machine)
R = TypeVar("R")

RECORD_OVERHEAD = 21  # varints and attributes around a record's key and value, at most
RETRY_TICK_S = 1.0
RETRY_LOAD_S = 1.0

COORDINATOR_ERRORS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
}


class Phase(Enum):
    IDLE = auto()  # not led here
    LOADING = auto()
    ACTIVE = auto()


class _Batch:
    """Records on their way to being committed, and who is answered then."""

    __slots__ = ("answers", "deadline", "end_offset")

    def __init__(self, end_offset: int, answers: list[Answer], deadline: float) -> None:
        self.end_offset = end_offset
        self.answers = answers
        self.deadline = deadline


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
        self._machine: M | None = None
        self._monotonic, self._wall_ms = clock
        self._commit_timeout_s = commit_timeout_s
        self._lingering = lingering or Lingering(clock.monotonic)
        self._log: ShardLog | None = None
        self._loop: asyncio.AbstractEventLoop
        self._loading: asyncio.Task[None] | None = None
        self._loaded_at = float("-inf")
        self._committing: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = 0.0
        self._flush_due = False
        self._records: list[NewRecord] = []  # decided, and not appended yet
        self._records_bytes = 0
        self._records_producer: Producer | None = None
        self._answers: list[Answer] = []
        self._in_flight: deque[_Batch] = deque()
        self._parked: dict[asyncio.Future[Any], None] = {}  # refused in this order

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

    def load(self, log: ShardLog) -> "asyncio.Task[None]":
        """This broker leads the partition: read it, then serve. Replaces an earlier epoch."""
        self.unload()
        self._loop = asyncio.get_running_loop()
        self._log = log
        self.phase = Phase.LOADING
        self._loading = self._loop.create_task(self._load(log))
        return self._loading

    def unload(self) -> None:
        """Leadership is gone: refuse who waits, forget everything."""
        for task in (self._loading, self._committing):
            if task is not None:
                task.cancel()
        self._loading = self._committing = None
        self.phase = Phase.IDLE
        self._log = None
        self._drop(KafkaError(ErrorCode.NOT_COORDINATOR))

    def submit(self, decide: Callable[[M, Instant, Ticket], Decision[R]]) -> "asyncio.Future[R]":
        """Let `decide` look at the state; the future holds its reply once that may be shown.

        A KafkaError of `decide` is raised at once, unless something it may rest on can still be
        lost: then it comes in its turn, as a reply would. Who is cut off refuses nobody.
        """
        machine = self.machine
        future: asyncio.Future[R] = self._loop.create_future()
        try:
            decision = decide(machine, self._now(), future)
        except KafkaError as refusal:
            if self._records or self._in_flight:
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
        producer: Producer,
        coordinator_epoch: int,
        committed: bool,
        check: Callable[[], None] = lambda: None,
    ) -> "asyncio.Future[None]":
        """Write the marker that ends a transaction in this partition, and apply it. `check` may
        refuse it when all that was decided before is in the log."""
        machine = self.machine
        log = self._led()
        future: asyncio.Future[None] = self._loop.create_future()
        self._flush()
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
        self._sent(end_offset, [Answer(future, None)])
        self._arm(machine)
        return future

    # -- deciding -------------------------------------------------------------------------

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
                self._refuse(decision.answers, error)
                raise
        answers = list(decision.answers)
        if ticket is not None:
            if decision.reply is LATER:
                self._parked[ticket] = None
            else:
                answers.append(Answer(ticket, decision.reply))
        if answers:
            self._answer_in_order(answers)
        self._arm(machine)

    def _apply(self, machine: M, entries: Sequence[Entry], producer: Producer | None) -> None:
        now_ms, types, size = self._wall_ms(), machine.RECORDS, 0
        records: list[NewRecord] = []
        for entry in entries:
            key, value = encode_entry(entry, types)
            size += len(key) + len(value or b"") + RECORD_OVERHEAD
            records.append(NewRecord(now_ms, key, value))
        limit = self._led().max_batch_bytes - HEADER_SIZE
        if size > limit:
            raise KafkaError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"{size} bytes of records exceed the {limit} that a batch of {self.name} holds.",
            )
        if producer != self._records_producer or self._records_bytes + size > limit:
            self._flush()
        try:
            producer_id = -1 if producer is None else producer.id
            for key_message, value_message in entries:
                machine.replay(-1, producer_id, key_message, value_message)
        except Exception:
            logger.exception("%s: a record could not be applied", self.name)
            self._reload(KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))
            raise
        self._records_producer = producer
        self._records += records
        self._records_bytes += size
        if self._flush_due:
            self._lingering.came()
        else:
            self._flush_due = True
            self._lingering.begin(self._loop, self._flush_is_due)

    def _answer_in_order(self, answers: list[Answer]) -> None:
        """Answer when all that was applied so far is committed: at once, or with its batch."""
        if self._records:
            self._answers.extend(answers)
        elif self._in_flight:
            last = self._in_flight[-1]
            if not last.answers:
                last.deadline = self._commit_deadline()
            last.answers.extend(answers)
        else:
            self._resolve(answers)

    # -- appending ------------------------------------------------------------------------

    def _flush_is_due(self) -> None:
        self._flush_due = False
        self._flush()

    def _flush(self) -> None:
        if not self._records or self._log is None:
            return
        records, answers, producer = self._records, self._answers, self._records_producer
        self._records, self._answers, self._records_bytes = [], [], 0
        self._records_producer = None
        batch = build_batch(
            records,
            leader_epoch=self._log.leader_epoch,
            producer_id=-1 if producer is None else producer.id,
            producer_epoch=-1 if producer is None else producer.epoch,
            transactional=producer is not None,
        )
        try:
            end_offset = self._log.append(batch, self._wall_ms())
        except KafkaError as error:
            logger.warning("%s: an append failed (%s); loading again", self.name, error)
            refusal = KafkaError(COORDINATOR_ERRORS.get(error.code, error.code), error.message)
            self._refuse(answers, refusal)
            self._reload(refusal)
            return
        self._sent(end_offset, answers)

    def _sent(self, end_offset: int, answers: list[Answer]) -> None:
        self._in_flight.append(_Batch(end_offset, answers, self._commit_deadline()))
        self._settle()

    def _commit_deadline(self) -> float:
        return self._monotonic() + self._commit_timeout_s

    def _settle(self) -> None:
        """Answer what the high watermark has reached; wait for the rest in one task."""
        log = self._led()
        high_watermark = log.high_watermark
        while self._in_flight and self._in_flight[0].end_offset <= high_watermark:
            self._resolve(self._in_flight.popleft().answers)
        if self._in_flight and self._committing is None:
            self._committing = self._loop.create_task(self._wait_for_commits(log))

    async def _wait_for_commits(self, log: ShardLog) -> None:
        try:
            while self._in_flight:
                first = self._in_flight[0]
                waiting = [batch.deadline for batch in self._in_flight if batch.answers]
                try:
                    async with asyncio.timeout_at(min(waiting, default=self._commit_deadline())):
                        await log.committed(first.end_offset)
                except TimeoutError:
                    self._refuse_late()
                self._settle()
        except KafkaError as error:
            code = COORDINATOR_ERRORS.get(error.code, error.code)
            self._drop(KafkaError(code, error.message))  # `unload` or `load` follows
            self.phase = Phase.IDLE
        finally:
            if self._committing is asyncio.current_task(self._loop):
                self._committing = None

    def _refuse_late(self) -> None:
        now = self._monotonic()
        for batch in self._in_flight:
            if batch.answers and batch.deadline <= now:
                answers, batch.answers = batch.answers, []
                self._refuse(answers, KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE))

    def _resolve(self, answers: Sequence[Answer]) -> None:
        for ticket, reply in answers:
            self._parked.pop(ticket, None)
            if ticket.done():
                continue  # who asked is gone
            if isinstance(reply, Exception):
                ticket.set_exception(reply)
            else:
                ticket.set_result(reply)

    def _refuse(self, answers: Sequence[Answer], refusal: KafkaError) -> None:
        self._resolve([Answer(ticket, refusal) for ticket, _ in answers])

    # -- time -----------------------------------------------------------------------------

    def _now(self) -> Instant:
        return Instant(self._monotonic(), self._wall_ms())

    def _arm(self, machine: M) -> None:
        deadline = machine.deadline()
        if deadline is None:
            return
        if self._timer is not None:
            if self._timer_due <= deadline:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(deadline, self._tick)
        self._timer_due = deadline

    def _tick(self) -> None:
        self._timer = None
        if self.phase is not Phase.ACTIVE:
            return
        if not self._led().may_append:  # then time stands still: nothing that is due can be written
            self._tick_later()
            return
        try:
            self._take(self.machine.tick(self._now()), None)
        except Exception:
            logger.exception("%s: a time-out could not be handled", self.name)
            self._tick_later()

    def _tick_later(self) -> None:
        self._timer_due = self._monotonic() + RETRY_TICK_S
        self._timer = self._loop.call_at(self._timer_due, self._tick)

    # -- loading --------------------------------------------------------------------------

    def _led(self) -> ShardLog:
        if self._log is None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return self._log

    async def _load(self, log: ShardLog) -> None:
        try:
            machine, end_offset = await self._replay(log)
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
            self._sent(end_offset, [])
        self._take(machine.loaded(self._now()), None)

    async def _replay(self, log: ShardLog) -> tuple[M, int]:
        """Again and again where the log cannot be read: while it is led here, nobody else can."""
        told = ""
        while True:
            machine = self._new_machine()
            try:
                return machine, await load(machine, log, self.name)
            except KafkaError as error:
                if error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER:
                    raise
                if told != str(error):
                    told = str(error)
                    logger.warning("%s: cannot be loaded, and is tried again: %s", self.name, told)
            await asyncio.sleep(RETRY_LOAD_S)

    def _reload(self, refusal: KafkaError) -> None:
        log = self._led()
        self._drop(refusal)
        self.phase = Phase.LOADING
        self._loading = self._loop.create_task(self._load_again(log))

    async def _load_again(self, log: ShardLog) -> None:
        """At once, but not over and over where nothing can be appended: a log may be large."""
        await asyncio.sleep(self._loaded_at + RETRY_LOAD_S - self._monotonic())
        await self._load(log)

    def _drop(self, refusal: KafkaError) -> None:
        self._machine = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting = [self._answers, *(batch.answers for batch in self._in_flight)]
        self._records, self._answers, self._records_bytes = [], [], 0
        self._records_producer = None
        self._in_flight.clear()
        for answers in waiting:
            self._refuse(answers, refusal)
        self._refuse([Answer(ticket, None) for ticket in self._parked], refusal)
        self._parked.clear()
