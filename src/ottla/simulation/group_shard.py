"""A shard of the group coordinator in virtual time: the contract of `coordination`, and its loss.

Decisions are applied at once, committed after a while, answered then. When leadership moves, what
was not committed may be gone, and the next leader knows only the log.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from ottla.coordination.machine import LATER, Decision, Entry, Instant, Ticket
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.limits import Limits
from ottla.groups.machine import Groups
from ottla.metadata.image import Image
from ottla.simulation.clock import Clock

Reply = Callable[[object], None]
WALL_MS = 1_700_000_000_000
COMMIT_S = 0.005
LOADING_S = 0.2


class GroupShard:
    def __init__(self, clock: Clock, rng: Random, image: Image, limits: Limits) -> None:
        self.log: list[Entry] = []
        self.committed = 0
        self.epoch = 0
        self.serving = False
        self.machine: Groups
        self._clock = clock
        self._rng = rng
        self._image = image
        self._limits = limits
        self._ids = 0
        self._parked: list[_Waiting] = []
        self.move()

    @property
    def now(self) -> Instant:
        return Instant(self._clock.now, WALL_MS + int(self._clock.now * 1000))

    # -- leadership ---------------------------------------------------------------------------

    def move(self) -> None:
        """Another broker leads: it has all that was committed, and perhaps some of the rest."""
        self.epoch += 1
        self.serving = False
        del self.log[self._rng.randint(self.committed, len(self.log)) :]
        self.machine = Groups(self._limits, self._new_id, lambda: self._image)
        self.machine.topics_version = self.epoch
        for entry in self.log:
            self.machine.replay(-1, -1, *entry)
        refused, self._parked = self._parked, []
        for waiting in refused:
            waiting.answer(KafkaError(ErrorCode.NOT_COORDINATOR))
        self._clock.after(LOADING_S, self._as_of(self._loaded))

    def _loaded(self) -> None:
        self.serving = True
        self.committed = len(self.log)
        self._take(self.machine.loaded(self.now), None)

    def topics_changed(self) -> None:
        self.machine.topics_version += 1

    # -- requests -----------------------------------------------------------------------------

    def submit(
        self, decide: Callable[[Groups, Instant, Ticket], Decision[Any]], reply: Reply
    ) -> None:
        if not self.serving:
            reply(KafkaError(ErrorCode.NOT_COORDINATOR))
            return
        waiting = _Waiting(reply)
        try:
            decision = decide(self.machine, self.now, waiting)
        except KafkaError as error:
            reply(error)
            return
        self._take(decision, waiting)

    def _take(self, decision: Decision[Any], waiting: "_Waiting | None") -> None:
        for entry in decision.records:
            self.machine.replay(-1, -1, *entry)
            self.log.append(entry)
        answers = list(decision.answers)
        if waiting is not None:
            self._parked.append(waiting)
            if decision.reply is not LATER:
                answers.append((waiting, decision.reply))  # type: ignore[arg-type]
        if answers:
            self.answer_when_committed(len(self.log), answers)
        elif decision.records:
            self.answer_when_committed(len(self.log), [])
        self._arm()

    def answer_when_committed(self, end: int, answers: list[Any]) -> None:
        def commit() -> None:
            self.committed = max(self.committed, end)
            for waiting, reply in answers:
                waiting.answer(reply)
                if waiting in self._parked:
                    self._parked.remove(waiting)

        if end <= self.committed:
            commit()
        else:
            self._clock.after(COMMIT_S * (0.5 + self._rng.random()), self._as_of(commit))

    # -- time ---------------------------------------------------------------------------------

    def _arm(self) -> None:
        deadline = self.machine.deadline()
        if deadline is not None:
            self._clock.at(deadline, self._as_of(self._tick))

    def _tick(self) -> None:
        deadline = self.machine.deadline()
        if self.serving and deadline is not None and deadline <= self._clock.now:
            self._take(self.machine.tick(self.now), None)

    def _as_of(self, action: Callable[[], None]) -> Callable[[], None]:
        """Only while this leadership lasts."""
        epoch = self.epoch
        return lambda: action() if epoch == self.epoch else None

    def _new_id(self) -> str:
        self._ids += 1
        return f"id{self._ids}"


class _Waiting:
    """A request that waits; answered once."""

    __slots__ = ("_reply", "answered")

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self.answered = False

    def answer(self, reply: object) -> None:
        if not self.answered:
            self.answered = True
            self._reply(reply)
