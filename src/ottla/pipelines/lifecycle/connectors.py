"""The connectors of an application while it runs: started with it, and ended before its session.

What runs is Connect's (`ottla.connect.applications`), which stands above the pipelines and is asked
for on demand, by applications that have connectors. Absent: a worker, REST and Connect's topics.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ottla.errors import OttlaError
from ottla.pipelines.api.connectors import Connector, offsets_topic
from ottla.pipelines.api.definitions import Application
from ottla.pipelines.lifecycle.status import Status, View
from ottla.pipelines.planning.plan import Plan, renamed
from ottla.pipelines.runtime.where import DefinitionError, Where

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from ottla.connect.applications import ApplicationRuns
    from ottla.connect.row_types import Column
    from ottla.connect.runs.run import RunPlan
    from ottla.pipelines.planning.stages import Stage


class Frames(Protocol):
    """`engine.queries.Starter`."""

    @property
    def spark(self) -> "SparkSession": ...

    @property
    def resolved(self) -> "Mapping[str, Sequence[StructType]]": ...

    def frame(self, stage: "Stage", phase: Any) -> "DataFrame": ...


def declared_source(
    connector: str, config: Mapping[str, str], where: Where
) -> "tuple[Column, ...] | None":
    """A source's columns; none at all for a text alone, None where it does not know."""
    found = _declared(connector, "source", config, where)
    return () if found.is_text else found.columns


def check_sink(connector: str, config: Mapping[str, str], where: Where) -> None:
    _declared(connector, "sink", config, where)


def _declared(connector: str, kind: Any, config: Mapping[str, str], where: Where) -> Any:
    try:
        from ottla.connect.applications import declared
    except ModuleNotFoundError as error:
        raise DefinitionError(
            where, f"connectors need {error.name}: pip install 'ottla[connect]'."
        ) from None
    from ottla.connect.connector import ConnectError
    from ottla.connect.definitions import InvalidConfig

    try:
        return declared(connector, kind, config)
    except (ConnectError, InvalidConfig) as error:
        raise DefinitionError(where, f"{connector}: {error}") from None


class Connectors:
    def __init__(
        self,
        plan: Plan,
        status: Status,
        view: View,
        frames: Frames,
        stopping: threading.Event,
        *,
        sources: bool = True,
    ) -> None:
        self._plan = plan
        self._status = status
        self._view = view
        self._frames = frames
        self._stopping = stopping
        self._with_sources = sources
        self._runs: ApplicationRuns | None = None

    def bring(self) -> None:
        """All that sources have now."""
        for one in self._of("source") if self._with_sources else ():
            self._finish(one)

    def deliver(self) -> None:
        """All that sinks have not got yet."""
        for one in self._of("sink"):
            self._finish(one)

    def start(self) -> None:
        """A replay leaves sources to the copy that runs beside it: they are one writer's."""
        for one in self._plan.application.connectors:
            if one.kind == "source" and not self._with_sources:
                self._view.say(f"{one.name} does not run in a replay; a later run without does.")
                continue
            self._view.say(f"{one.name} runs: {one.connector}.")
            self._made().start(self._run_plan(one))

    def stop(self) -> None:
        if self._runs is not None:
            self._runs.stop()

    def _of(self, kind: str) -> tuple[Connector, ...]:
        return tuple(one for one in self._plan.application.connectors if one.kind == kind)

    def _finish(self, one: Connector) -> None:
        if self._stopping.is_set():
            return
        try:
            self._made().finish(self._run_plan(one), self._stopping)
        except Exception as error:
            raise OttlaError(f"{one.name} ({one.connector}) failed: {error}") from error

    def _made(self) -> "ApplicationRuns":
        from ottla.connect.applications import ApplicationRuns

        if self._runs is None:
            application = self._plan.application
            offsets = self._name(offsets_topic(application.name))
            self._runs = ApplicationRuns(
                application.connection, application.name, offsets, self._frames.spark, self._heard
            )
        return self._runs

    def _run_plan(self, one: Connector) -> "RunPlan":
        application, runs = self._plan.application, self._made()
        topic = self._name(one.topic)
        if one.kind == "source":
            return runs.source_plan(
                _run_name(application, one, 1), one.connector, one.config, topic, one.tasks
            )
        name = _run_name(application, one, self._status.generation)
        rows = self._rows(one)
        return runs.sink_plan(name, one.connector, one.config, topic, one.tasks, rows)

    def _rows(self, one: Connector) -> "StructType":
        """The columns that the sink's stage writes, with the types that Spark has found."""
        if one.topic not in self._frames.resolved:
            stage = next(s for s in self._plan.stages if s.sink.topic == one.topic)
            self._frames.frame(stage, "live")
        return self._frames.resolved[one.topic][0]

    def _name(self, topic: str) -> str:
        return self._status.names.get(topic, topic)

    def _heard(self, name: str, event: Any) -> None:
        """Of a run's thread."""
        if getattr(event, "state", None) == "FAILED":
            said = str(event.trace or "").partition("\n")[0]
            self._status.failures[name] = said
            self._view.say(f"{name} failed and starts again: {said}")
        elif getattr(event, "state", None) == "RUNNING":
            self._status.failures.pop(name, None)


def _run_name(application: Application, one: Connector, generation: int) -> str:
    return renamed(f"{application.name}-{one.name}", generation)
