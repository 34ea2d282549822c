"""Rebuilding stages from history beside the version that runs, round after round."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from ottla.errors import OttlaError
from ottla.pipelines.api.definitions import Source
from ottla.pipelines.engine.queries import Starter, held_topics, loads_tables
from ottla.pipelines.lifecycle.changing import Change
from ottla.pipelines.lifecycle.phases import Phases
from ottla.pipelines.lifecycle.state import State
from ottla.pipelines.lifecycle.upgrading import is_public_stream, plan_next, read_order
from ottla.pipelines.planning.manifest import StageRecord, reads_of
from ottla.pipelines.planning.stages import Stage

REBUILD_ROUNDS = 10
LITTLE = 10_000  # rows of a round, after which the version that runs may stop for the rest


class Rebuilding(Phases):
    """The stages that new code cannot take over, built anew from the beginning of their topics."""

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
                partial(self._as_read_now, stage, before),
            ):
                if (query := self._finish(starter, stage, "planned")) is None:
                    return False
                query.stop()
        return not self._stopping.is_set()

    def _as_read_now(
        self, stage: Stage, before: StageRecord | None, ends: tuple[str, ...]
    ) -> tuple[str, ...]:
        """The ends of what the old version has read, for each source of the new one.

        A topic that the old version did not read has no past in what it wrote: of a stream all
        rows are still to come, a table is what it is now.
        """
        if before is None or before.reads == reads_of(stage):
            return ends
        known = {topic: places for end in ends for topic, places in json.loads(end).items()}
        # A stage of dead letters alone is a union of its sources, and its node only the first.
        sources = stage.sources if stage.only_dead else read_order(stage.node)
        return tuple(
            json.dumps(self._places(source, known), separators=(",", ":")) for source in sources
        )

    def _places(self, source: Source, known: Mapping[str, Any]) -> dict[str, Any]:
        topics = {t: n for t, n in self.cluster.partitions.items() if source.reads(t)}
        now = self.group.ends(topics) if source.is_table else {}
        return {
            topic: known.get(topic) or {
                str(p): now[topic][p] if source.is_table else self.group.begins(topic, p)
                for p in range(count)
            }
            for topic, count in topics.items()
        }  # fmt: skip

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
