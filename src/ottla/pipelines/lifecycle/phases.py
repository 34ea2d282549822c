"""Taking the stages of a plan through their phases, mending and stopping them.

A stage passes through up to three phases. Load: tables are read before the streams that meet them.
Catch up: all that is there, at full speed (replays, runs until done, and a backlog that real time
would take long for). Live: as planned.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, StreamingQueryException

from ottla.errors import OttlaError
from ottla.pipelines.engine.options import RunOptions
from ottla.pipelines.engine.queries import Phase, Starter, is_read_whole, loads_tables
from ottla.pipelines.engine.sinks import wait_until_committed
from ottla.pipelines.lifecycle.backlog import CATCH_UP_FROM, may_catch_up, records_behind
from ottla.pipelines.lifecycle.brokers import wait_until_stable
from ottla.pipelines.lifecycle.membership import Membership
from ottla.pipelines.lifecycle.progress import Group, Recorder, lag
from ottla.pipelines.lifecycle.restarts import BackOff
from ottla.pipelines.lifecycle.state import State
from ottla.pipelines.lifecycle.status import Status, View
from ottla.pipelines.lifecycle.watching import Watcher
from ottla.pipelines.planning.plan import Plan, written_topics
from ottla.pipelines.planning.stages import Stage
from ottla.pipelines.planning.topics import Cluster
from ottla.pipelines.runtime import archive
from ottla.pipelines.runtime.failures import cause
from ottla.pipelines.runtime.storage import StorageError

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

TURN_S = 0.25
RETRIES = 3  # of a stage that takes what is there and ends
SETTLED_AFTER_S = 60.0  # until then the first results need the processor more than an archive
BATCH_WAIT_S = 8.0  # a real-time batch ends every five seconds


class Phases:
    """The stages of one application while it runs. `stop()` may be called from a signal handler."""

    member: Membership
    group: Group
    cluster: Cluster

    def __init__(self, plan: Plan, options: RunOptions, view: View) -> None:
        self.plan = plan
        self.options = options
        self.view = view
        self.recorder = Recorder()
        self.status = Status(plan, self.recorder)
        self.ready = threading.Event()  # every query runs
        self._stopping = threading.Event()
        self._queries: dict[str, StreamingQuery] = {}
        self._back_off: dict[str, BackOff] = {}
        self._looked = 0.0
        self._topics: list[str] = []
        self._checkpoints: Mapping[str, str] = {}
        self._catching_up: set[str] = set()  # stages that do not run as planned yet
        self.state: State | None = None

    def stop(self) -> None:
        self._stopping.set()

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
            if (query := self._finish(starter, stage, "catch-up")) is None:
                return
            if stage.sink.topic in written_topics(self.plan):  # the next stage reads all of it
                written = self.status.names[stage.sink.topic]
                partitions = {written: self.cluster.partitions.get(written, 1)}
                wait_until_stable(self.plan.application, partitions)
            elif stage.delivery == "exactly_once":  # its rows say their topics
                wait_until_committed(starter.spark, self.plan.application, query.id)
            self._publish()

    def _finish(self, starter: Starter, stage: Stage, phase: Phase) -> "StreamingQuery | None":
        """Let the stage take all that is there; after a failure it goes on from its checkpoint.

        Not for ever, as live: whoever waits for the end must hear of what cannot succeed. None
        when the application was stopped meanwhile.
        """
        back_off = BackOff()
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
            self._start(starter, stage)
            self._back_off[stage.name] = BackOff()
        self.view.say(f"Running {len(self._queries)} queries.")
        self.ready.set()
        with contextlib.closing(self._watcher()) as watcher:
            watcher.start()
            settled = time.monotonic() + SETTLED_AFTER_S
            while not self._stopping.is_set():
                if self.options.archive and time.monotonic() > settled:
                    settled = float("inf")
                    archive.make_in_background()
                for stage in self.plan.stages:
                    self._mend(starter, stage)
                self.status.latencies_ms = watcher.latencies_ms()
                self.status.dead = watcher.dead_letters()
                self._turn()

    def _start(self, starter: Starter, stage: Stage) -> None:
        """Live, or first with what there is already, where that goes faster in micro-batches."""
        self._catching_up.discard(stage.name)
        phase: Phase = "live"
        behind = self._behind(stage) if may_catch_up(stage) else 0
        if behind >= CATCH_UP_FROM:
            self.view.say(f"{stage.name} is {behind:,} records behind: micro-batches first.")
            self._catching_up.add(stage.name)
            phase = "catch-up"
        self._queries[stage.name] = starter.start(stage, phase)

    def _behind(self, stage: Stage) -> int:
        """Records that wait for the stage; none as long as nobody can tell."""
        from confluent_kafka import KafkaException

        if self.state is None:
            return 0
        reached = self.state.last_batch(self._checkpoints.get(stage.name, stage.name))
        names = self.status.names
        from_start = {names.get(s.topic, s.topic) for s in stage.sources if is_read_whole(s)}
        earliest = self.plan.application.start == "earliest"

        def begins(topic: str, partition: int) -> int | None:
            known = earliest or topic in from_start
            return self.group.begins(topic, partition) if known else None

        try:
            return records_behind(reached, self.group.ends(self._partitions(stage)), begins)
        except (KafkaException, RuntimeError, StorageError):
            return 0

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
        """Restart a stage that failed, after a while that grows, or one that has caught up."""
        query = self._queries[stage.name]
        back_off = self._back_off[stage.name]
        if query.isActive:
            if back_off.healthy(time.monotonic()):
                self.status.failures.pop(stage.name, None)
            return
        now = time.monotonic()
        caught_up = stage.name in self._catching_up and query.exception() is None
        if not caught_up and back_off.due is None:
            error = query.exception()
            wait = back_off.failed(now)
            said = cause(error) if error is not None else "it stopped by itself"
            self.status.failures[stage.name] = said
            self.view.say(f"{stage.name} failed and starts again in {wait:g} s: {said}")
        elif caught_up or now >= (back_off.due or 0.0):
            back_off.due = None
            back_off.started = now
            try:
                self._start(starter, stage)
                self.status.failures.pop(stage.name, None)
                self.view.say(f"{stage.name} {'has caught up' if caught_up else 'runs again'}.")
            except (PySparkException, StorageError) as error:
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
        read = [source for source in stage.sources if not source.is_global]
        names = (self.status.names.get(s.topic, s.topic) for s in read if not s.is_pattern)
        known = {name: self.cluster.partitions.get(name, 1) for name in names}
        # Topics that came since the start are known from the batches that have read them.
        seen = {t: len(places) for t, places in self.recorder.of(stage.name).offsets.items()}
        for topic, count in {**self.cluster.partitions, **seen}.items():
            if any(source.is_pattern and source.reads(topic) for source in read):
                known[topic] = count
        return known

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


def _stop(query: "StreamingQuery") -> None:
    """Stop it, or leave it: what waits for a broker that is away ends with the process."""
    # Spark's own timeout is a Java exception that PySpark does not translate.
    with contextlib.suppress(PySparkException, Py4JJavaError):
        query.stop()
