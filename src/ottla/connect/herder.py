"""Which connectors run, and what is told of them. Pure: (state, event) → effects.

One run is one connector with all its tasks. Whoever leads has a herder at work; it reads what the
topics say (`state`), and its driver (`worker`) performs the effects of one connector in their
order. What happens in between comes back as an event with the number of the run that it is about.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ottla.connect.records import PAUSED, STARTED, STOPPED
from ottla.connect.runs.events import RunEvent, TaskState, TopicUsed
from ottla.connect.state import (
    ClusterState,
    ConfigChanged,
    LoggerSet,
    Removed,
    RestartAsked,
    TargetChanged,
)

RETRY_S_MIN, RETRY_S_MAX = 1.0, 60.0
# A worker that was cut off may fence the run of the one that leads now, before it hears of that.
# Until then it hears; so whoever still leads begins anew.
FENCED_RETRY_S = 5.0
RESTARTS = "ottla.restart"  # true: what cannot be made is tried again; runs do so by themselves

TaskConfigs = Sequence[Mapping[str, str]]


# --- events, beside the changes of `state`


@dataclass(frozen=True, slots=True)
class Led:
    """This worker leads from now on."""


@dataclass(frozen=True, slots=True)
class Stopping:
    """It ends in good order, and leads until it has."""


@dataclass(frozen=True, slots=True)
class Lost:
    """It leads no longer: nothing may be written."""


@dataclass(frozen=True, slots=True)
class Prepared:
    name: str
    run: int
    tasks: TaskConfigs


@dataclass(frozen=True, slots=True)
class Broken:
    """The connector could not be made, or not be started."""

    name: str
    run: int
    trace: str


@dataclass(frozen=True, slots=True)
class Reported:
    name: str
    run: int
    event: RunEvent


@dataclass(frozen=True, slots=True)
class ConnectorRestart:
    """Without its tasks."""

    name: str


@dataclass(frozen=True, slots=True)
class TaskRestart:
    name: str
    task: int


@dataclass(frozen=True, slots=True)
class TopicsForgotten:
    """Topics that it uses are told anew."""

    name: str


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


Event = (
    ConfigChanged
    | Removed
    | TargetChanged
    | RestartAsked
    | LoggerSet
    | Led
    | Stopping
    | Lost
    | Prepared
    | Broken
    | Reported
    | ConnectorRestart
    | TaskRestart
    | TopicsForgotten
    | Tick
)


# --- effects


@dataclass(frozen=True, slots=True)
class Prepare:
    """Make the connector of its configuration; `Prepared` or `Broken` comes back."""

    name: str
    run: int


@dataclass(frozen=True, slots=True)
class Publish:
    """The tasks' configurations, and their commit."""

    name: str
    tasks: TaskConfigs


@dataclass(frozen=True, slots=True)
class Launch:
    name: str
    run: int
    tasks: int


@dataclass(frozen=True, slots=True)
class Halt:
    name: str


@dataclass(frozen=True, slots=True)
class Tell:
    """A status. task None: the connector's."""

    name: str
    task: int | None
    state: str
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class Forget:
    """The statuses of these tasks; `whole`: the connector's and its topics too."""

    name: str
    tasks: tuple[int, ...]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Use:
    """The connector uses the topic."""

    name: str
    topic: str


Effect = Prepare | Publish | Launch | Halt | Tell | Forget | Use


@dataclass(slots=True)
class Life:
    """Of one connector in this worker."""

    run: int = 0  # the newest; reports of older ones count no longer
    running: bool = False  # launched, and not halted since
    failed: set[int] = field(default_factory=set)  # tasks
    topics: set[str] = field(default_factory=set)
    retries: int = 0
    retry_at: float | None = None


class Herder:
    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._lives: dict[str, Life] = {}
        self._leads = False

    @property
    def next_retry(self) -> float | None:
        due = [one.retry_at for one in self._lives.values() if one.retry_at is not None]
        return min(due, default=None)

    def step(self, now: float, event: Event) -> list[Effect]:
        return list(self._step(now, event))

    def _step(self, now: float, event: Event) -> Iterator[Effect]:
        match event:
            case Led():
                self._leads, self._lives = True, {}
                for name in self._state.configs.connectors:
                    yield from self._enter(name)
            case Stopping():
                yield from self._shut()
            case Lost():
                running = [name for name, life in self._lives.items() if life.running]
                self._leads, self._lives = False, {}
                yield from (Halt(name) for name in running)
            case _ if not self._leads or isinstance(event, LoggerSet):
                return
            case ConfigChanged(name=name) | TargetChanged(name=name) | Removed(name=name):
                yield from self._changed(event)
            case RestartAsked():
                yield from self._restart(event)
            case ConnectorRestart(name=name):
                yield from self._reenter(name)
            case TaskRestart(name=name, task=task):
                yield from self._halt(name)
                self._life(name).failed.clear()
                yield Tell(name, task, "RESTARTING")
                yield from self._enter(name)
            case TopicsForgotten(name=name):
                self._life(name).topics.clear()
            case Prepared() | Broken() | Reported():
                yield from self._heard(now, event)
            case Tick():
                yield from self._retry(now)

    def _life(self, name: str) -> Life:
        return self._lives.setdefault(name, Life())

    # --- what is wanted

    def _changed(self, event: ConfigChanged | TargetChanged | Removed) -> Iterator[Effect]:
        name = event.name
        match event:
            case Removed():
                yield Forget(name, tuple(self._state.statuses.tasks.get(name, ())), whole=True)
                yield from self._halt(name)
                self._lives.pop(name, None)
            case ConfigChanged():
                if self._life(name).running:
                    yield Tell(name, None, "UNASSIGNED")
                    yield from self._halt(name)
                self._lives[name] = Life(run=self._life(name).run)
                yield from self._enter(name)
            case TargetChanged():
                if self._state.configs.target(name) == STOPPED:
                    self._life(name).failed.clear()
                yield from self._halt(name)
                yield from self._enter(name)

    def _enter(self, name: str) -> Iterator[Effect]:
        """From rest to what is wanted of it."""
        life = self._life(name)
        life.run += 1
        life.retry_at = None
        known = [index for index, _ in self._state.statuses.of_tasks(name)]
        match self._state.configs.target(name):
            case target if target == STARTED:
                yield Prepare(name, life.run)
            case target if target == PAUSED:
                yield Tell(name, None, PAUSED)
                for index in range(len(self._state.configs.connectors[name].tasks)):
                    if index not in life.failed:
                        yield Tell(name, index, PAUSED)
            case _:
                yield Tell(name, None, STOPPED)
                yield Forget(name, tuple(known))

    def _reenter(self, name: str) -> Iterator[Effect]:
        """The connector alone: tasks that run go on, unless their configurations change."""
        if self._state.configs.target(name) == STARTED and self._life(name).running:
            yield Prepare(name, self._life(name).run)
        else:
            yield from self._enter(name)

    def _halt(self, name: str) -> Iterator[Effect]:
        life = self._life(name)
        if life.running:
            life.running = False
            life.run += 1
            yield Halt(name)

    def _shut(self) -> Iterator[Effect]:
        for name, life in self._lives.items():
            if life.running:
                yield from self._halt(name)
                yield Tell(name, None, "UNASSIGNED")
                for index, _ in self._state.statuses.of_tasks(name):
                    if index not in life.failed:
                        yield Tell(name, index, "UNASSIGNED")
        self._leads = False

    # --- restarts

    def _restart(self, asked: RestartAsked) -> Iterator[Effect]:
        name = asked.name
        plan = restart_plan(self._state, asked)
        if plan is None or not (plan.connector or plan.tasks):
            return
        if plan.tasks:
            yield from self._halt(name)
            self._life(name).failed.clear()
        if plan.connector:
            yield Tell(name, None, "RESTARTING")
        for index in plan.tasks:
            yield Tell(name, index, "RESTARTING")
        yield from self._reenter(name)

    def _retry(self, now: float) -> Iterator[Effect]:
        for name, life in list(self._lives.items()):
            if life.retry_at is not None and life.retry_at <= now:
                retries = life.retries + 1
                yield from self._halt(name)
                life.failed.clear()
                yield from self._enter(name)
                life.retries = retries

    # --- what is heard of runs

    def _heard(self, now: float, event: Prepared | Broken | Reported) -> Iterator[Effect]:
        life = self._lives.get(event.name)
        if life is None or life.run != event.run:
            return
        match event:
            case Prepared(name=name, tasks=tasks):
                yield from self._prepared(name, life, tasks)
            case Broken(name=name, trace=trace):
                yield Tell(name, None, "FAILED", trace)
                config = self._state.config(name) or {}
                if (config.get(RESTARTS) or "").lower() == "true":
                    life.retry_at = now + min(RETRY_S_MAX, RETRY_S_MIN * 2.0**life.retries)
            case Reported(name=name, event=TaskState(task=task, state=state, trace=trace) as told):
                if task is not None:
                    (life.failed.add if state == "FAILED" else life.failed.discard)(task)
                if told.fenced:
                    life.retry_at = now + FENCED_RETRY_S
                yield Tell(name, task, state, trace)
            case Reported(name=name, event=TopicUsed(topic=topic)):
                if topic not in life.topics:
                    life.topics.add(topic)
                    yield Use(name, topic)

    def _prepared(self, name: str, life: Life, tasks: TaskConfigs) -> Iterator[Effect]:
        connector = self._state.configs.connectors.get(name)
        if connector is None:
            return
        yield Tell(name, None, "RUNNING")
        changed = connector.applied != connector.config or connector.tasks != [
            dict(one) for one in tasks
        ]
        if changed:
            yield from self._halt(name)
            yield Publish(name, tasks)
            gone = [one for one in self._state.statuses.tasks.get(name, ()) if one >= len(tasks)]
            if gone:
                yield Forget(name, tuple(gone))
        if not life.running and not life.failed:
            life.running = True
            yield Launch(name, life.run, len(tasks))


@dataclass(frozen=True, slots=True)
class RestartPlan:
    connector: bool
    tasks: tuple[int, ...]


def restart_plan(state: ClusterState, asked: RestartAsked) -> RestartPlan | None:
    """What such a request restarts; None where no status is known."""
    status = state.statuses.connectors.get(asked.name)
    if status is None:
        return None
    return RestartPlan(
        not asked.only_failed or status.state == "FAILED",
        tuple(
            index
            for index, task in state.statuses.of_tasks(asked.name)
            if asked.include_tasks and (not asked.only_failed or task.state == "FAILED")
        ),
    )
