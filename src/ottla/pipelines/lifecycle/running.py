"""Running an application: who holds it, what new code means for its state, the switch to it."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ottla.errors import OttlaError
from ottla.pipelines.engine.choosing import start_spark
from ottla.pipelines.engine.queries import Starter
from ottla.pipelines.lifecycle.brokers import create, describe, forgetful, wait_until_stable
from ottla.pipelines.lifecycle.changing import Change, plan_change, refusal, what_ran
from ottla.pipelines.lifecycle.connectors import Connectors
from ottla.pipelines.lifecycle.membership import Membership
from ottla.pipelines.lifecycle.progress import Group, Listener
from ottla.pipelines.lifecycle.rebuilding import Rebuilding
from ottla.pipelines.lifecycle.state import Generations, State
from ottla.pipelines.lifecycle.upgrading import (
    bring_over,
    check,
    delete,
    is_public_stream,
    rebuilding_names,
    rebuilding_topic,
)
from ottla.pipelines.planning.plan import Plan, renamed
from ottla.pipelines.planning.topics import Cluster, topic_names, wanted
from ottla.pipelines.runtime import sessions
from ottla.pipelines.runtime.storage import HadoopPath, open_storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Runner(Rebuilding):
    """One run of one application."""

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
            self.group = Group(lambda: member.consumer)
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
            self.state = state
            self._prepare(starter)
            with self._connectors(starter) as connectors:
                if history:
                    connectors.bring()
                    self._catch_up(starter)
                    connectors.deliver()
                if not self.options.until_done:
                    connectors.start()
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
        # What rows say about their topics counts again when the stage goes on where it was.
        stages = tuple(
            replace(stage, sink=replace(stage.sink, route=None))
            for stage in whole.stages
            if stage.name in rebuilt
        )
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
            yield Starter(
                spark, self.plan, self.status.names, folder, self._checkpoints,
                partitions=self.cluster.partitions,
            )  # fmt: skip
        finally:
            self._stop_all()
            spark.streams.removeListener(listener)

    @contextlib.contextmanager
    def _connectors(self, starter: Starter) -> Iterator[Connectors]:
        """A replay reads what sources have brought: they are not asked again."""
        made = Connectors(
            self.plan, self.status, self.view, starter, self._stopping,
            sources=not self.options.replay,
        )  # fmt: skip
        try:
            yield made
        finally:
            made.stop()

    def _session(self) -> "SparkSession":
        return start_spark(self.plan.application, self.options)


def _topics_to_join(plan: Plan, cluster: Cluster) -> list[str]:
    """What the application's member subscribes to: topics that are there, else any of its own."""
    read = [t for t in cluster.partitions if any(s.reads(t) for s in plan.read_topics())]
    return read or [stage.sink.topic for stage in plan.stages]
