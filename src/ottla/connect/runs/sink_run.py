"""A sink at work: wait for news, deliver what there is in one Spark job, commit, again.

Where to begin, the target says if it holds offsets itself, else the group. The group moves when the
target has what it speaks of, so nothing is lost; what is delivered again the target recognises by
its offset, if it can.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from ottla.connect.connector import AdoptingSink, SinkConnector, TopicPartition, adopt_group
from ottla.connect.runs.client_settings import chain_settings, java_settings, said
from ottla.connect.runs.failures import JobFailed, Kind
from ottla.connect.runs.ranges import Ranges, start_at
from ottla.connect.runs.rows import SCHEMA
from ottla.connect.runs.run import RunEvent, RunPlan, TaskState, TopicUsed
from ottla.connect.runs.sink_input import LOOK_FOR_TOPICS_S, SinkInput
from ottla.connect.runs.sink_tasks import SinkDone, SinkWork, is_bare
from ottla.connect.runs.topic_creation import TopicRule, dead_letter_rules

if TYPE_CHECKING:
    from ottla.connect.runs.jobs import SparkJobs

WAIT_S = 0.5
_log = logging.getLogger(__name__)
_NOT_FOR_SPARK = (
    "auto.offset.reset",
    "enable.auto.commit",
    "key.deserializer",
    "value.deserializer",
    "interceptor.classes",
    "group.id",
)
# Spark asks for the partition's both ends after each poll, so polls should be few and large.
_LARGE_POLLS = {
    "max.poll.records": "50000",
    "max.partition.fetch.bytes": str(8 * 1024 * 1024),
    "receive.buffer.bytes": "-1",  # the system's own, which grow: 64 KiB if nothing is said
    # What is asked for is there. Only a fetch ahead, behind all records, would wait, and the next
    # one, which is for some, with it.
    "fetch.max.wait.ms": "5",
}
Given = Mapping[TopicPartition, tuple[int, int]]


class Input(Protocol):
    """`sink_input.SinkInput`."""

    def partitions(self) -> set[TopicPartition]: ...

    def group_offsets(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int]: ...

    def bounds(self, partitions: Collection[TopicPartition]) -> Given: ...

    def wait(self, ends: Mapping[TopicPartition, int], timeout_s: float) -> bool: ...

    def commit(self, positions: Mapping[TopicPartition, int]) -> None: ...

    def commit_again(self) -> None: ...

    def close(self) -> None: ...


class Delivering(Protocol):
    """`SparkDelivering`."""

    def deliver(self, work: SinkWork, ranges: Given) -> Sequence[SinkDone]:
        """JobFailed, with what others told, when a task has failed."""

    def cancel(self) -> None: ...

    def close(self) -> None: ...


class SinkWorking:
    def __init__(
        self,
        plan: RunPlan,
        report: Callable[[RunEvent], None],
        make: Callable[[], SinkConnector],
        delivering: Callable[[], Delivering],
        input: Callable[[RunPlan], Input] = SinkInput,
        until_idle: bool = False,  # end when there is nothing to deliver
    ) -> None:
        self._plan = plan
        self._redacted = plan.redaction
        self._report = report
        self._make = make
        self._make_delivering = delivering
        self._make_input = input
        self._until_idle = until_idle
        self._delivering: Delivering | None = None
        self._topics: set[str] = set()
        self._bare: bool | None = None  # whether no more than key and value is wanted of records

    def work(self, stopping: threading.Event, succeeded: Callable[[], None]) -> None:
        plan = self._plan
        self._refuse_unless_certain()
        self._delivering = delivering = self._make_delivering()
        connector = self._make()
        input = self._make_input(plan)
        try:
            self._refuse_unless_certain()  # Spark may have taken long, and this ends older runs
            connector.start()
            ranges = Ranges()
            self._assign(connector, input, ranges)
            looked_at = time.monotonic()
            for task in range(plan.tasks):
                self._report(TaskState(task, "RUNNING"))
            news = True
            while not stopping.is_set():
                if news:
                    news = self._deliver(connector, input, delivering, ranges, succeeded)
                if not news and self._until_idle:
                    return
                if time.monotonic() - looked_at > LOOK_FOR_TOPICS_S:
                    news |= self._assign(connector, input, ranges)
                    looked_at = time.monotonic()
                    self._refuse_unless_certain()
                    input.commit_again()
                if not news:
                    news = input.wait(ranges.ends, WAIT_S)
        finally:
            connector.stop()
            input.close()
            delivering.close()

    def interrupt(self) -> None:
        pass  # it waits for less than a second

    def cancel(self) -> None:
        if self._delivering is not None:
            self._delivering.cancel()

    def _assign(self, connector: SinkConnector, input: Input, ranges: Ranges) -> bool:
        """Whether partitions were found that were not known."""
        found = input.partitions()
        ranges.drop(set(ranges.positions) - found)
        new = found - set(ranges.positions)
        if not new:
            return False
        reset = said(self._plan, "consumer").get("auto.offset.reset", "earliest")
        bounds, group = input.bounds(new), input.group_offsets(new)
        self._refuse_unless_certain()
        adopt_group(connector, group)
        held = connector.positions(new)
        start = start_at(bounds, held, group, reset)
        self._refuse_unless_certain()
        if start.moved:
            connector.move(start.moved)
        # A target may hold more than the group heard of. And a group that still has members is
        # found out by it before anything is delivered, which could not be committed then.
        input.commit({one: start.positions[one] for one in held.keys() | group.keys()})
        ranges.add(start.positions)
        return True

    def _deliver(
        self,
        connector: SinkConnector,
        input: Input,
        delivering: Delivering,
        ranges: Ranges,
        succeeded: Callable[[], None],
    ) -> bool:
        """Whether there was something; then there may be more."""
        bounds = input.bounds(ranges.positions)
        if gone := ranges.outside(bounds):
            shown = ", ".join(f"{one.topic}-{one.partition}" for one in sorted(gone))
            _log.warning(
                "Connector %s: %s begin anew, their offsets are gone", self._plan.name, shown
            )
            ranges.drop(gone)
            self._assign(connector, input, ranges)
            bounds = input.bounds(ranges.positions)
        given = ranges.next(bounds)
        if not given:
            return False
        for topic in {one.topic for one in given} - self._topics:
            self._topics.add(topic)
            self._report(TopicUsed(topic))
        plan = self._plan
        self._refuse_unless_certain()
        task = connector.task()
        config, worker = chain_settings(plan.resolved), chain_settings(plan.worker)
        if self._bare is None:
            self._bare = is_bare(task, config, worker)
        work = SinkWork(
            connector=plan.name,
            alias=plan.resolved["connector.class"],
            config=config,
            worker=worker,
            task=task,
            tasks={one: at % plan.tasks for at, one in enumerate(sorted(ranges.positions))},
            ends={one: end for one, (_, end) in given.items()},
            bare=self._bare,
        )
        began = time.monotonic()
        try:
            done = delivering.deliver(work, given)
        except JobFailed as failed:
            self._refuse_unless_certain()
            input.commit({one.partition: _safe(one, given) for one in failed.told})
            raise
        for sentence in (sentence for one in done for sentence in one.sentences):
            _log.error("%s", self._redacted(sentence))
        self._refuse_unless_certain()
        safe = {one.partition: _safe(one, given) for one in done}
        _tell_empty(connector, given, safe)
        ranges.done(given, safe, time.monotonic() - began)
        input.commit({one: ranges.positions[one] for one in given})
        succeeded()
        return True

    def _refuse_unless_certain(self) -> None:
        """A worker that was frozen would move the group, or an unfenced target, back."""
        if not self._plan.is_certain():
            sentence = "This worker has not heard from its group for a session's time."
            said = f"{sentence} Another one may run the connector by now."
            raise JobFailed(Kind.UNREACHABLE, said)


def _tell_empty(connector: SinkConnector, given: Given, safe: Mapping[TopicPartition, int]) -> None:
    """A range without records (a transaction's end alone) moves a target's own offset, too.

    Else the group would be ahead of it, as if another worker had been here.
    """
    empty: Collection[TopicPartition] = given.keys() - safe.keys()
    if empty and not isinstance(connector, AdoptingSink):
        empty = connector.positions(empty).keys()
    if empty:
        connector.move({one: given[one][1] for one in empty})


def _safe(done: SinkDone, given: Given) -> int:
    return given[done.partition][1] if done.safe is None else done.safe


class SparkDelivering:
    """Spark's reader of Kafka, over the ranges; as many tasks at once as the plan has.

    How it reads: `runtime/jvm/SinkRecords.java`.
    """

    def __init__(self, plan: RunPlan, jobs: "SparkJobs") -> None:
        self._plan = plan
        self._jobs = jobs
        self._records = jobs.records(_reader_settings(plan))
        self._letters: list[TopicRule] = dead_letter_rules(plan.resolved)

    def deliver(self, work: SinkWork, ranges: Given) -> Sequence[SinkDone]:
        lines = "\n".join(
            f"{topic} {at} {begin} {end}" for (topic, at), (begin, end) in ranges.items()
        )
        frame = self._jobs.frame(self._records, lines, work.columns)
        if len(ranges) > self._plan.tasks:
            frame = frame.coalesce(self._plan.tasks)
        made: list[SinkDone] = self._jobs.write(frame.mapInArrow(work, SCHEMA), (), self._letters)
        return made

    def cancel(self) -> None:
        self._jobs.cancel()

    def close(self) -> None:
        self._jobs.close()


def _reader_settings(plan: RunPlan) -> dict[str, str]:
    settings = {**_LARGE_POLLS, **java_settings(plan, "consumer")}
    kept = {name: value for name, value in settings.items() if name not in _NOT_FOR_SPARK}
    # With a group of its own for each job, no consumer would be used again by the next.
    return {**kept, "group.id": settings.get("group.id", f"connect-{plan.name}")}
