"""Running an application: phases, restarts, stopping. What is shown is the business of a `View`.

A stage passes through up to three phases. Load: tables are read before the streams that meet them.
Catch up: all that is there, at full speed (replays, and runs until done). Live: as planned.
"""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, StreamingQueryException

from ottla.errors import OttlaError
from ottla.pipelines import spark as sessions
from ottla.pipelines.changing import Change, plan_change, refusal, what_ran
from ottla.pipelines.membership import Membership
from ottla.pipelines.plan import Plan, Stage, renamed, written_topics
from ottla.pipelines.progress import Group, Listener, Offsets, Recorder, lag
from ottla.pipelines.queries import Phase, Starter, held_topics, loads_tables
from ottla.pipelines.state import Generations, State, state_folder
from ottla.pipelines.storage import HadoopPath, open_storage
from ottla.pipelines.topics import (
    Cluster,
    create,
    describe,
    forgetful,
    topic_names,
    wait_until_stable,
    wanted,
)
from ottla.pipelines.upgrading import (
    bring_over,
    check,
    delete,
    is_public_stream,
    plan_next,
    rebuilding_names,
    rebuilding_topic,
)
from ottla.pipelines.watching import Watcher

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

TURN_S = 0.25
BACK_OFF_S = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
RETRIES = 3  # of a stage that takes what is there and ends
HEALTHY_AFTER_S = 120.0  # a stage that ran this long starts its back-off anew
SETTLED_AFTER_S = 60.0  # until then the first results need the processor more than an archive
REBUILD_ROUNDS = 10
LITTLE = 10_000  # rows of a round, after which the version that runs may stop for the rest
BATCH_WAIT_S = 8.0  # a real-time batch ends every five seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    master: str = sessions.LOCAL_MASTER
    replay: bool = False
    until_done: bool = False
    state: Path = field(default_factory=state_folder)
    checkpoints: str | None = None  # a path or file:, hdfs://, s3a://; unset: below `state`
    conf: Mapping[str, str] = field(default_factory=dict)  # of Spark, over the application's own
    memory: str | None = None  # of the driver
    ui: bool = True
    archive: bool = True  # make the class-data archive in the background
    standby: bool = False  # wait for the end of another copy instead of ending
    upgrade: bool = False  # rebuild from history what the code's change asks for


@dataclass(slots=True)
class Status:
    """What a view may show."""

    plan: Plan
    recorder: Recorder
    phase: Phase | Literal["start", "stop"] = "start"
    ui: str | None = None
    generation: int = 1
    names: dict[str, str] = field(default_factory=dict)
    lags: dict[str, int] = field(default_factory=dict)
    ends: Offsets = field(default_factory=dict)
    latencies_ms: dict[str, float] = field(default_factory=dict)  # by topic written
    dead: dict[str, int] = field(default_factory=dict)  # by topic of dead letters
    failures: dict[str, str] = field(default_factory=dict)  # by stage, until it runs again
    started: float = field(default_factory=time.monotonic)


class View(Protocol):
    def say(self, sentence: str) -> None: ...

    def show(self, status: Status) -> None: ...


class Runner:
    """One run of one application. `stop()` may be called from a signal handler."""

    def __init__(self, plan: Plan, options: RunOptions, view: View) -> None:
        self.plan = plan
        self.options = options
        self.view = view
        self.recorder = Recorder()
        self.status = Status(plan, self.recorder)
        self.ready = threading.Event()  # every query runs
        self._stopping = threading.Event()
        self._queries: dict[str, StreamingQuery] = {}
        self._back_off: dict[str, _BackOff] = {}
        self._looked = 0.0
        self._topics: list[str] = []
        self._checkpoints: Mapping[str, str] = {}

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        """Returns when the application was stopped, or has done all there was to do."""
        application = self.plan.application
        cluster = describe(application, self.view.say)
        self._topics = _topics_to_join(self.plan, cluster)
        state = self._open(cluster)
        # Each generation is a copy of its own, so that a replay may run beside what is live.
        group = renamed(application.name, state.generation)
        if self.options.upgrade and not self._upgrade(cluster, state, group):
            return
        with self._as_member(group, take_over=self.options.upgrade) as member:
            if member is not None:
                self._run(describe(application) if self.options.upgrade else cluster, state)

    @contextlib.contextmanager
    def _as_member(self, group: str, *, take_over: bool = False) -> "Iterator[Membership | None]":
        """Be the one copy in a group while the block runs; None when stopped before."""
        application = self.plan.application
        member = Membership(application, self._topics, self.view.say, group)
        if take_over:
            claimed = member.take_over(self._stopping)
        else:
            claimed = member.claim(self._stopping, standby=self.options.standby)
        if not claimed:
            yield None
            return
        self.member = member
        with contextlib.closing(member):
            member.join()
            self.group = Group(member.consumer)
            yield member
            if member.lost:
                raise OttlaError(f"{member.lost}. This one has ended.")

    def _open(self, cluster: Cluster) -> State:
        location = self.options.checkpoints or self.plan.application.checkpoints
        storage = open_storage(location or self.options.state, self._session)
        generations = Generations(storage, self.plan.application.name, cluster.id)
        return generations.open_next() if self.options.replay else generations.current()

    def _compare(self, state: State) -> Change:
        """Plan the code anew, as far as what runs already allows, and judge every stage."""
        application = self.plan.application
        change = plan_change(application, what_ran(state, application))
        self.plan = self.status.plan = change.plan
        self.status.generation = state.generation
        return change

    def _use(self, change: Change, names: Mapping[str, str]) -> None:
        generation = self.status.generation
        self.status.names = topic_names(change.plan, generation) | change.names(generation)
        self.status.names |= names
        self._checkpoints = change.checkpoints()

    def _run(self, cluster: Cluster, state: State) -> None:
        application = self.plan.application
        change = self._compare(state)
        if (sentence := refusal(change)) is not None:
            raise OttlaError(sentence)
        for verdict in change.verdicts:
            if verdict.kind == "compatible":
                self.view.say(f"{verdict.stage}, from now on: {'; '.join(verdict.changes)}.")
        self._use(change, {})
        history = self.options.replay or self.options.until_done
        names = self.status.names
        for sentence in forgetful(self.plan, cluster, names):
            self.view.say(sentence)
        create(application, wanted(self.plan, cluster, state.generation, names=names))
        self.cluster = describe(application)
        self._end_switch(state)
        folder = state.path()
        folder.mkdir(parents=True, exist_ok=True)
        with self._spark(folder) as starter:
            if not self.member.wait_until_held(self._stopping):
                return
            state.save(change.manifest)
            self._prepare(starter)
            if history:
                self._catch_up(starter)
            if not self.options.until_done:
                self._live(starter)
        self._publish()  # once more, with the batches that ended as the queries stopped

    def _upgrade(self, cluster: Cluster, state: State, group: str) -> bool:
        """Rebuild what must be, beside what runs, and switch to it. False when stopped before."""
        application = self.plan.application
        change = self._compare(state)
        if not change.rebuilds:
            return True
        check(change)
        whole, rebuilt = change.plan, {verdict.stage for verdict in change.rebuilds}
        stages = tuple(stage for stage in whole.stages if stage.name in rebuilt)
        self.plan = self.status.plan = replace(whole, stages=stages)
        self._use(change, rebuilding_names(change, state.generation))
        names = self.status.names
        made = wanted(self.plan, cluster, state.generation, names=names)
        # As wide as what they replace, so that every row has its partition there.
        wide = {
            names[stage.sink.topic]: cluster.partitions.get(stage.sink.topic) for stage in stages
        }
        create(application, [replace(t, partitions=wide.get(t.name) or t.partitions) for t in made])
        self.cluster = describe(application)
        for verdict in change.rebuilds:
            self.view.say(f"Rebuilding {verdict.stage}: {', '.join(verdict.changes)}.")
        state.note_topics(names[stage.sink.topic] for stage in stages)
        folder = state.path()
        with (
            self._as_member(f"{application.name}-upgrade") as member,
            self._spark(folder) as starter,
        ):
            if member is None or not member.wait_until_held(self._stopping):
                return False
            if not self._rebuild(starter, state, change):
                self.view.say(
                    "Not switched: what ran goes on as it was. --upgrade takes it up again."
                )
                return False
            with self._as_member(group, take_over=True) as holder:
                if holder is None or not holder.wait_until_held(self._stopping):
                    return False
                self._check_ended(state, change)
                # What came until the other version had stopped.
                if not self._rebuild_once(starter, state, change):
                    return False
                records = (change.manifest.stages[stage.name] for stage in stages)
                public = tuple(r.name for r in records if not r.internal)
                state.save(replace(change.manifest, switching=public))  # this is the switch
                self.view.say(f"Switched: {', '.join(sorted(rebuilt))}.")
        self.plan = self.status.plan = whole
        return True

    def _rebuild(self, starter: Starter, state: State, change: Change) -> bool:
        """Everything there is, and again until what came meanwhile is little."""
        for _ in range(REBUILD_ROUNDS):
            before = sum(self.recorder.of(stage.name).rows for stage in self.plan.stages)
            if not self._rebuild_once(starter, state, change):
                return False
            rows = sum(self.recorder.of(stage.name).rows for stage in self.plan.stages) - before
            if rows < LITTLE:
                break
        return True

    def _rebuild_once(self, starter: Starter, state: State, change: Change) -> bool:
        """Tables take all there is, streams what the version that runs has taken."""
        old = {verdict.stage: verdict.old for verdict in change.rebuilds}
        streams = [
            stage
            for stage in self.plan.stages
            if is_public_stream(change.manifest.stages[stage.name])
        ]
        others = [stage for stage in self.plan.stages if stage not in streams]
        self._prepare(starter, others)
        self._catch_up(starter, others)
        for stage in streams:
            starter.frame(stage, "live")
            before = old[stage.name]
            tables = frozenset(s.topic for s in stage.sources) - held_topics(stage)
            while not self._stopping.is_set() and plan_next(
                state,
                before.checkpoint if before is not None else "",
                self._checkpoints[stage.name],
                tables if loads_tables(stage) else frozenset(),
                self._begins,
            ):
                if (query := self._finish(starter, stage, "planned")) is None:
                    return False
                query.stop()
        return not self._stopping.is_set()

    def _begins(self, ends: str) -> str:
        """The same source as Spark writes it, where its topics begin."""
        return json.dumps(
            {
                topic: {
                    partition: self.group.begins(topic, int(partition)) for partition in partitions
                }
                for topic, partitions in json.loads(ends).items()
            },
            separators=(",", ":"),
        )

    def _check_ended(self, state: State, change: Change) -> None:
        """A stream goes on after the last batch of the old version, which must have an end."""
        for verdict in change.rebuilds:
            record = verdict.old
            if record is None or verdict.new is None or not is_public_stream(verdict.new):
                continue
            last = state.last_batch(record.checkpoint)
            if last is not None and last.open:
                raise OttlaError(
                    f"The version that ran was killed in the middle of a batch of {verdict.stage}: "
                    "start it once more and stop it, so that the batch comes to its end, then "
                    "upgrade."
                )

    def _end_switch(self, state: State) -> None:
        """Bring rebuilt tables into their topics, also when the process died while it did."""
        manifest = state.manifest()
        if manifest is None or not manifest.switching:
            return
        application = self.plan.application
        for name in manifest.switching:
            record = manifest.stages[name]
            topic = renamed(record.topic, state.generation)
            rebuilt = rebuilding_topic(record, state.generation)
            if is_public_stream(record):
                delete(application, [rebuilt])
            elif rebuilt in self.cluster.partitions:
                wait_until_stable(application, {rebuilt: self.cluster.partitions[rebuilt]})
                rows = bring_over(application, rebuilt, topic, self.cluster.partitions[topic])
                self.view.say(f"{name} is rebuilt: {rows:,} rows of {topic} differed.")
                delete(application, [rebuilt])
        state.save(replace(manifest, switching=()))

    def waits_for(self) -> str:
        """What a stop waits for, in half a sentence."""
        match self.status.phase:
            case "start":
                return "Spark's start"
            case "live" | "stop":
                real_time = [s.name for s in self.plan.stages if s.mode == "real-time"]
                if real_time:
                    return f"the batch of {', '.join(real_time)}, at most {BATCH_WAIT_S:.0f} s"
        return "the open batches"

    @contextlib.contextmanager
    def _spark(self, folder: "Path | HadoopPath") -> Iterator[Starter]:
        application = self.plan.application
        self.view.say("Starting Spark.")
        spark = self._session()
        self.status.ui = sessions.ui_address(spark)
        if self.status.ui:
            self.view.say(f"Spark's own page: {self.status.ui}")
        listener = Listener(application.name, self.recorder)
        spark.streams.addListener(listener)
        try:
            yield Starter(spark, self.plan, self.status.names, folder, self._checkpoints)
        finally:
            self._stop_all()
            spark.streams.removeListener(listener)

    def _session(self) -> "SparkSession":
        application = self.plan.application
        return sessions.session(
            sessions.SparkSettings(
                name=application.name,
                master=self.options.master,
                parallelism=application.parallelism,
                ui=self.options.ui,
                memory=self.options.memory or application.memory,
                log=self.options.state / application.name / "spark.log",
                extra={**application.conf, **self.options.conf},
            )
        )

    def _prepare(self, starter: Starter, stages: "Iterable[Stage] | None" = None) -> None:
        """Load tables into stages that have no checkpoint yet, or were stopped while they did."""
        self.status.phase = "load"
        for stage in self.plan.stages if stages is None else stages:
            # Spark makes the checkpoint at once, so a file says whether the load came to its end.
            checkpoint = starter.checkpoint(stage)
            loading = checkpoint.with_name(f"{checkpoint.name}~loading")  # in no topic's name
            fresh = loading.exists() or not checkpoint.exists()
            starter.frame(stage, "live")  # later stages need the schema of what it writes
            if fresh and loads_tables(stage) and not self._stopping.is_set():
                self.view.say(f"Loading the tables of {stage.name}.")
                loading.touch()
                if (query := self._finish(starter, stage, "load")) is None:
                    return
                query.stop()
                loading.unlink()

    def _catch_up(self, starter: Starter, stages: "Iterable[Stage] | None" = None) -> None:
        """Stage after stage, everything that is there now."""
        self.status.phase = "catch-up"
        for stage in self.plan.stages if stages is None else stages:
            if self._stopping.is_set():
                return
            self.status.ends = self.group.ends(self._partitions(stage))
            if self._finish(starter, stage, "catch-up") is None:
                return
            written = self.status.names[stage.sink.topic]
            partitions = {written: self.cluster.partitions.get(written, 1)}
            wait_until_stable(self.plan.application, partitions)  # the next stage reads all of it
            self._publish()

    def _finish(self, starter: Starter, stage: Stage, phase: Phase) -> "StreamingQuery | None":
        """Let the stage take all that is there; after a failure it goes on from its checkpoint.

        Not for ever, as live: whoever waits for the end must hear of what cannot succeed. None
        when the application was stopped meanwhile.
        """
        back_off = _BackOff()
        while True:
            query = starter.start(stage, phase)
            ends = phase == "catch-up"
            blocking = query.awaitTermination if ends else query.processAllAvailable
            try:
                return query if self._wait(blocking, query) else None
            except StreamingQueryException as error:
                said = cause(error)
                if back_off.attempts == RETRIES:
                    raise OttlaError(f"{stage.name} failed: {said}") from error
            wait = back_off.failed(time.monotonic())
            self.view.say(f"{stage.name} failed and starts again in {wait:g} s: {said}")
            if self._stopping.wait(wait):
                return None

    def _live(self, starter: Starter) -> None:
        if self._stopping.is_set():
            return  # a stage whose load was cut short must not start without its tables
        self.status.phase = "live"
        for stage in self.plan.stages:
            self._queries[stage.name] = starter.start(stage)
            self._back_off[stage.name] = _BackOff()
        self.view.say(f"Running {len(self._queries)} queries.")
        self.ready.set()
        with contextlib.closing(self._watcher()) as watcher:
            watcher.start()
            settled = time.monotonic() + SETTLED_AFTER_S
            while not self._stopping.is_set():
                if self.options.archive and time.monotonic() > settled:
                    settled = float("inf")
                    sessions.make_archive_in_background()
                for stage in self.plan.stages:
                    self._mend(starter, stage)
                self.status.latencies_ms = watcher.latencies_ms()
                self.status.dead = watcher.dead_letters()
                self._turn()

    def _watcher(self) -> Watcher:
        names = self.status.names
        written = {names[topic] for topic in written_topics(self.plan)}
        letters = {
            names[source.dead_letters or ""]
            for stage in self.plan.stages
            for source in stage.letters
        }
        return Watcher(self.plan.application, self.cluster.partitions, written, letters)

    def _mend(self, starter: Starter, stage: Stage) -> None:
        """Restart a stage that failed, after a while that grows."""
        query = self._queries[stage.name]
        back_off = self._back_off[stage.name]
        if query.isActive:
            if back_off.healthy(time.monotonic()):
                self.status.failures.pop(stage.name, None)
            return
        now = time.monotonic()
        if back_off.due is None:
            error = query.exception()
            wait = back_off.failed(now)
            said = cause(error) if error is not None else "it stopped by itself"
            self.status.failures[stage.name] = said
            self.view.say(f"{stage.name} failed and starts again in {wait:g} s: {said}")
        elif now >= back_off.due:
            back_off.due = None
            back_off.started = now
            try:
                self._queries[stage.name] = starter.start(stage)
                self.status.failures.pop(stage.name, None)
                self.view.say(f"{stage.name} runs again.")
            except PySparkException as error:
                back_off.failed(now)
                self.status.failures[stage.name] = cause(error)

    def _turn(self) -> None:
        self._look_at_others()
        self._publish()
        self.view.show(self.status)
        self._stopping.wait(TURN_S)

    def _look_at_others(self) -> None:
        """End when another copy has taken the place, or asks for it."""
        if self.member.lost and not self._stopping.is_set():
            self._stopping.set()
        elif self.member.successor is not None and not self._stopping.is_set():
            self.view.say(f"Handing over to {self.member.successor}.")
            self._stopping.set()

    def _publish(self) -> None:
        reached = self.recorder.slowest(self.plan.stages)
        self.group.publish(reached)
        now = time.monotonic()
        if now - self._looked > 2.0:
            self._looked = now
            partitions: dict[str, int] = {}
            for stage in self.plan.stages:
                partitions |= self._partitions(stage)
            self.status.lags = lag(self.group.ends(partitions, 2.0), reached)

    def _partitions(self, stage: Stage) -> dict[str, int]:
        names = (self.status.names.get(s.topic, s.topic) for s in stage.sources if not s.is_global)
        return {name: self.cluster.partitions.get(name, 1) for name in names}

    def _wait(self, blocking: Callable[[], object], query: "StreamingQuery") -> bool:
        """Wait for Spark in a thread, so that signals and the view stay alive.

        False when the application was stopped meanwhile, and the query with it.
        """
        done = threading.Event()
        failed: list[BaseException] = []

        def wait() -> None:
            try:
                blocking()
            except BaseException as error:
                failed.append(error)
            finally:
                done.set()

        threading.Thread(target=wait, daemon=True).start()
        while not done.is_set() and not self._stopping.is_set():
            self._look_at_others()
            self._publish()
            self.view.show(self.status)
            done.wait(TURN_S)
        if self._stopping.is_set():
            _stop(query)
            return False
        if failed:
            raise failed[0]
        return True

    def _stop_all(self) -> None:
        """All stages at once: each real-time one needs up to an interval to reach its boundary."""
        self.status.phase = "stop"
        stages = {stage.name: stage for stage in self.plan.stages}
        threads = [
            threading.Thread(target=self._stop_at_boundary, args=(stages[name], query), daemon=True)
            for name, query in self._queries.items()
            if query.isActive
        ]
        for thread in threads:
            thread.start()
        until = time.monotonic() + BATCH_WAIT_S * 2
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _stop_at_boundary(self, stage: Stage, query: "StreamingQuery") -> None:
        """Stop a real-time query right after a batch: what it does later would be done twice."""
        if stage.mode == "real-time" and query.isActive and not self.member.lost:
            before = self.recorder.of(stage.name).batches
            self.recorder.wait_for_batch(stage.name, before, BATCH_WAIT_S)
        _stop(query)


@dataclass(slots=True)
class _BackOff:
    attempts: int = 0
    due: float | None = None
    started: float = field(default_factory=time.monotonic)

    def failed(self, now: float) -> float:
        wait = BACK_OFF_S[min(self.attempts, len(BACK_OFF_S) - 1)]
        self.attempts += 1
        self.due = now + wait
        return wait

    def healthy(self, now: float) -> bool:
        if now - self.started > HEALTHY_AFTER_S:
            self.attempts = 0
        return True


def _topics_to_join(plan: Plan, cluster: Cluster) -> list[str]:
    """What the application's member subscribes to: topics that are there, else any of its own."""
    read = [source.topic for source in plan.read_topics() if source.topic in cluster.partitions]
    return read or [stage.sink.topic for stage in plan.stages]


def _stop(query: "StreamingQuery") -> None:
    """Stop it, or leave it: what waits for a broker that is away ends with the process."""
    # Spark's own timeout is a Java exception that PySpark does not translate.
    with contextlib.suppress(PySparkException, Py4JJavaError):
        query.stop()


def cause(error: BaseException) -> str:
    """The last sentence of a failure that names a reason, out of pages of stack."""
    text = str(error).split("=== Streaming Query ===")[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if _tells(line)]
    return (telling or lines or [type(error).__name__])[-1][:300]


def _tells(line: str) -> bool:
    head = line.split(":", 1)[0]
    return (
        ("Error" in head or "Exception" in head)
        and " at " not in head
        and not line.startswith(("File ", "at ", "Caused by: java.lang.Thread"))
    )
