"""A source at work: poll, read the slices in one Spark job, commit records and progress, again.

Each task's records and the offsets they reach are one transaction. Whatever fails, the next try
begins with fenced producers and with the offsets that Kafka holds, so slices that were committed
are not read again, and the others are.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ottla.connect.connector import ConnectError, Slice, SourceConnector
from ottla.connect.runs.client_settings import chain_settings, java_settings
from ottla.connect.runs.offsets import StoredOffsets, laid_over
from ottla.connect.runs.run import RunEvent, RunPlan, TaskState, TopicUsed
from ottla.connect.runs.source_tasks import SourceDone, SourceWork, read_slices
from ottla.connect.runs.topic_creation import TopicRule, topic_rules

POLL_S = 1.0
_log = logging.getLogger(__name__)


class Jobs(Protocol):
    """`jobs.SparkJobs`."""

    def open(self, transactional_ids: Sequence[str]) -> None: ...

    def read(
        self,
        map: Any,
        payloads: Sequence[Any],
        transactional_ids: Sequence[str],
        topics: Sequence[TopicRule] = (),
    ) -> list[Any]: ...

    def cancel(self) -> None: ...

    def close(self) -> None: ...


class SourceWorking:
    def __init__(
        self,
        plan: RunPlan,
        report: Callable[[RunEvent], None],
        make: Callable[[], SourceConnector],
        jobs: Callable[[RunPlan, dict[str, str]], Jobs],
        stored: Callable[[], StoredOffsets] | None = None,
        until_idle: bool = False,  # end when there is nothing to read
    ) -> None:
        self._plan = plan
        self._redacted = plan.redaction
        self._report = report
        self._make = make
        self._make_jobs = jobs
        self._stored = stored or (
            lambda: laid_over(plan.connection, plan.offsets_topics, plan.name)
        )
        self._until_idle = until_idle
        self._connector: SourceConnector | None = None
        self._jobs: Jobs | None = None
        self._topics: set[str] = set()
        self._rules = topic_rules(plan.resolved, plan.worker)

    def work(self, stopping: threading.Event, succeeded: Callable[[], None]) -> None:
        plan = self._plan
        self._jobs = jobs = self._make_jobs(plan, java_settings(plan, "producer"))
        self._connector = connector = self._make()
        try:
            jobs.open([self._transactional_id(task) for task in range(plan.tasks)])
            connector.task_configs(plan.tasks)  # so many it may spread its slices over
            connector.start(self._stored().get)
            for task in range(plan.tasks):
                self._report(TaskState(task, "RUNNING"))
            while not stopping.is_set():
                if slices := connector.poll(POLL_S):
                    self._read(jobs, connector, slices)
                    succeeded()
                elif self._until_idle:
                    return
        finally:
            connector.stop()
            jobs.close()

    def interrupt(self) -> None:
        if self._connector is not None:
            self._connector.stop()

    def cancel(self) -> None:
        if self._jobs is not None:
            self._jobs.cancel()

    def _read(self, jobs: Jobs, connector: SourceConnector, slices: Sequence[Slice]) -> None:
        plan = self._plan
        by_task: dict[int, list[Slice]] = {}
        for slice in slices:
            if not 0 <= slice.task < plan.tasks:
                raise ConnectError(f"A slice is for task {slice.task} of {plan.tasks}.")
            by_task.setdefault(slice.task, []).append(slice)
        payloads = [
            SourceWork(
                connector=plan.name,
                config=chain_settings(plan.resolved),
                worker=chain_settings(plan.worker),
                offsets_topics=plan.offsets_topics,
                task=task,
                slices=mine,
            )
            for task, mine in by_task.items()
        ]
        ids = [self._transactional_id(task) for task in by_task]
        done: list[SourceDone] = jobs.read(read_slices, payloads, ids, self._rules)
        for sentence in (sentence for one in done for sentence in one.sentences):
            _log.error("%s", self._redacted(sentence))
        for topic in {topic for one in done for topic in one.topics} - self._topics:
            self._topics.add(topic)
            self._report(TopicUsed(topic))
        connector.committed([progress for one in done for progress in one.progress])

    def _transactional_id(self, task: int) -> str:
        return f"{self._plan.group_id}-{self._plan.name}-{task}"
