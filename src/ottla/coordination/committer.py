"""Batches that were appended, until they are committed: then who waited for them is answered.

Replies leave in the order of commits. Who has waited for too long is refused, and the batch goes
on without an answer: it may be committed all the same.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from ottla.coordination.log import ShardLog
from ottla.coordination.machine import Answer
from ottla.coordination.replies import Replies, as_coordinator
from ottla.errors import ErrorCode, KafkaError


class AppendedBatch:
    __slots__ = ("answers", "deadline", "end_offset")

    def __init__(self, end_offset: int, answers: list[Answer], deadline: float) -> None:
        self.end_offset = end_offset  # the high watermark that commits it
        self.answers = answers
        self.deadline = deadline  # of the answers; none of a batch that has none


class Committer:
    """`failed` is called when the log is lost: what is in flight will never be known."""

    __slots__ = (
        "_failed",
        "_log",
        "_loop",
        "_monotonic",
        "_replies",
        "_timeout_s",
        "_waiting",
        "in_flight",
    )

    def __init__(
        self,
        replies: Replies,
        monotonic: Callable[[], float],
        timeout_s: float,
        failed: Callable[[KafkaError], None],
    ) -> None:
        self._replies = replies
        self._monotonic = monotonic
        self._timeout_s = timeout_s
        self._failed = failed
        self._log: ShardLog | None = None
        self._loop: asyncio.AbstractEventLoop
        self.in_flight: deque[AppendedBatch] = deque()  # by end offset
        self._waiting: asyncio.Task[None] | None = None

    def begin(self, log: ShardLog) -> None:
        self._log = log
        self._loop = asyncio.get_running_loop()

    def end(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
        self._log = None

    def appended(self, end_offset: int, answers: list[Answer]) -> None:
        self.in_flight.append(AppendedBatch(end_offset, answers, self._deadline()))
        self._settle()

    def answer_with_last(self, answers: Sequence[Answer]) -> None:
        """They rest on what is in flight."""
        last = self.in_flight[-1]
        if not last.answers:
            last.deadline = self._deadline()
        last.answers.extend(answers)

    def drop(self) -> list[list[Answer]]:
        """Forget what is in flight; who waited for it, batch by batch."""
        answers = [batch.answers for batch in self.in_flight]
        self.in_flight.clear()
        return answers

    def _deadline(self) -> float:
        return self._monotonic() + self._timeout_s

    def _settle(self) -> None:
        """Answer what the high watermark has reached; wait for the rest in one task."""
        log = self._log
        if log is None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        high_watermark = log.high_watermark
        while self.in_flight and self.in_flight[0].end_offset <= high_watermark:
            self._replies.resolve(self.in_flight.popleft().answers)
        if self.in_flight and self._waiting is None:
            self._waiting = self._loop.create_task(self._wait_for_commits(log))

    async def _wait_for_commits(self, log: ShardLog) -> None:
        try:
            while self.in_flight:
                first = self.in_flight[0]
                deadlines = [batch.deadline for batch in self.in_flight if batch.answers]
                try:
                    async with asyncio.timeout_at(min(deadlines, default=self._deadline())):
                        await log.committed(first.end_offset)
                except TimeoutError:
                    self._refuse_late()
                self._settle()
        except KafkaError as error:
            self._failed(as_coordinator(error))
        finally:
            if self._waiting is asyncio.current_task(self._loop):
                self._waiting = None

    def _refuse_late(self) -> None:
        now = self._monotonic()
        for batch in self.in_flight:
            if batch.answers and batch.deadline <= now:
                answers, batch.answers = batch.answers, []
                self._replies.refuse(answers, KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE))
