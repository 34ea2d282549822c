"""What a worker asks of a run, and what it hears of it. Runs are `source_run`, `sink_run`."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ottla.client.connection import Connection
from ottla.connect.connector import Config
from ottla.connect.redaction import Redaction
from ottla.connect.runs.events import RunEvent, TaskState, TopicUsed

__all__ = ["Run", "RunEvent", "RunPlan", "Runner", "TaskState", "TopicUsed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """One connector, to be run from where Kafka says it stands."""

    name: str
    config: Config  # as it is stored, with secrets unresolved: for logs and traces
    resolved: Config = field(repr=False)  # with secrets; never shown
    tasks: int
    group_id: str  # the worker's: transactional ids are `{group_id}-{name}-{task}`
    offsets_topic: str
    connection: Connection  # to Kafka, with the worker's and the overridden client settings
    worker: Mapping[str, str]  # key.converter, value.converter, … of the worker's file
    own_offsets_topic: str | None = None  # of a source that names one: besides the worker's
    passwords: Collection[str] = ()  # keys whose values are shown to nobody
    # Whether no other worker can run it by now, as far as this process can know. A sink asks before
    # it writes: no broker fences it, as it does a source's producers.
    is_certain: Callable[[], bool] = lambda: True

    @property
    def offsets_topics(self) -> tuple[str, ...]:
        """What stands in a later one counts before what stands in an earlier one."""
        own = self.own_offsets_topic
        return (self.offsets_topic,) if own is None else (self.offsets_topic, own)

    @property
    def redaction(self) -> Redaction:
        """For whatever is told of the run."""
        return Redaction(self.config, self.resolved, self.passwords)


class Run(Protocol):
    """Begins to work when it is made, in threads of its own."""

    def stop(self) -> None:
        """Returns when nothing of it is written any more. Safe to call twice."""


class Runner(Protocol):
    """Makes runs; the one of `runs.spark_runner` puts them on one Spark session."""

    def run(self, plan: RunPlan, report: Callable[[RunEvent], None]) -> Run:
        """`report` is called from the run's threads."""

    def prepare(self) -> None:
        """Whatever a first run would wait for. Returns when it is there, or cannot be."""

    def close(self) -> None: ...
