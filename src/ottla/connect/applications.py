"""Connectors within applications of the pipelines: runs of Connect's without a worker.

An application's driver is what a worker is: it holds the one copy, has the session of Spark, and
runs connectors as `runs` does, with offsets in a topic of Kafka's. So a source is exactly once by
the same transactions, and goes on where it was wherever the application is started next.
"""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ottla.client.connection import Connection
from ottla.connect import plugins
from ottla.connect.connector import ConnectError
from ottla.connect.converters import ROWS
from ottla.connect.converters.json_schemas import SchemaWriter
from ottla.connect.converters.json_writing import Writing
from ottla.connect.data import Schema, Type
from ottla.connect.definitions import InvalidConfig
from ottla.connect.row_types import Column, columns_of, schema_of
from ottla.connect.runs.client_settings import java_settings
from ottla.connect.runs.jobs import SparkJobs
from ottla.connect.runs.run import Run, RunEvent, RunPlan
from ottla.connect.runs.sink_run import SinkWorking, SparkDelivering
from ottla.connect.runs.source_run import SourceWorking
from ottla.connect.runs.spark_runner import BATCHES
from ottla.connect.runs.supervised import SupervisedRun, Work
from ottla.connect.validation import validated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_STRING = "org.apache.kafka.connect.storage.StringConverter"
_OWN = ("ottlaTombstones", "ottlaTopic")


@dataclass(frozen=True, slots=True)
class Declared:
    """What is known of a source's records before it runs. None: nothing, it has to be said."""

    columns: tuple[Column, ...] | None
    is_text: bool = False  # a text alone, and no columns


def declared(
    connector: str, kind: Literal["source", "sink"], config: Mapping[str, str]
) -> Declared:
    """InvalidConfig, or ConnectError, for what is wrong; a source's table is looked at."""
    plugin = plugins.find(connector)
    if plugin.kind != kind:
        raise ConnectError(f"{connector} is a {plugin.kind}, not a {kind}.")
    said = {**config, "connector.class": connector, "name": "checked", "topics": "checked"}
    module = plugins.module_of(plugin)
    checked = said if kind == "sink" else {k: v for k, v in said.items() if k != "topics"}
    if kind == "source" and "topic" in module.DEFINITIONS.names:
        checked.setdefault("topic", "checked")
    errors = validated(kind, module.DEFINITIONS, checked, {}, version=plugin.version).errors
    if errors:
        raise InvalidConfig(errors)
    made = module.make(checked, connector)
    schemas = getattr(made, "record_schemas", None)
    if kind == "sink" or schemas is None:
        return Declared(None)
    found: list[Schema] = list(schemas().values())
    if len(found) != 1:
        raise ConnectError(
            f"A stream is of one table, and {connector} would read {len(found)}: name one of them."
        )
    (schema,) = found
    if schema.type is Type.STRUCT:
        return Declared(columns_of(schema))
    return Declared(None, is_text=schema.type is Type.STRING)


class ApplicationRuns:
    """The connectors of one application, on its session."""

    def __init__(
        self,
        connection: Connection,
        application: str,
        offsets_topic: str,
        session: "SparkSession",
        report: Callable[[str, RunEvent], None],
    ) -> None:
        self._connection = connection
        self._application = application
        self._offsets_topic = offsets_topic
        self._report = report
        self._spark = session.newSession()  # with settings of its own
        for name, value in BATCHES.items():
            self._spark.conf.set(name, value)
        self._runs: list[Run] = []

    def source_plan(
        self, name: str, connector: str, config: Mapping[str, str], topic: str, tasks: int
    ) -> RunPlan:
        said = dict(config)
        transforms = [one for one in said.get("transforms", "").split(",") if one.strip()]
        predicates = [one for one in said.get("predicates", "").split(",") if one.strip()]
        package = "org.apache.kafka.connect.transforms"
        routed = {
            "transforms": ",".join((*transforms, *_OWN)),
            "transforms.ottlaTombstones.type": f"{package}.Filter",
            "transforms.ottlaTombstones.predicate": "ottlaTombstones",
            "transforms.ottlaTopic.type": f"{package}.RegexRouter",
            "transforms.ottlaTopic.regex": ".*",
            "transforms.ottlaTopic.replacement": topic,
            "predicates": ",".join((*predicates, "ottlaTombstones")),
            "predicates.ottlaTombstones.type": f"{package}.predicates.RecordIsTombstone",
        }
        if "topic" in plugins.module_of(plugins.find(connector)).DEFINITIONS.names:
            said.setdefault("topic", topic)
        return self._plan(name, connector, {**said, **routed}, tasks, ROWS)

    def sink_plan(
        self,
        name: str,
        connector: str,
        config: Mapping[str, str],
        topic: str,
        tasks: int,
        rows: "StructType",
    ) -> RunPlan:
        said = {**config, "topics": topic}
        if [one.name for one in rows] != ["value"]:
            writing = Writing(True, True)
            text = SchemaWriter(writing, lambda tree: json.dumps(tree).encode()).text(
                schema_of(rows)
            )
            said["value.converter.row.schema"] = text.decode()
        said |= {"consumer.override.isolation.level": "read_committed"}
        return self._plan(name, connector, said, tasks, _STRING)

    def _plan(
        self, name: str, connector: str, config: Mapping[str, str], tasks: int, key: str
    ) -> RunPlan:
        said = {
            "ottla.restart": "true",
            "key.converter": key,
            "value.converter": ROWS,
            **config,
            "name": name,
            "connector.class": connector,
        }
        make = plugins.source if plugins.find(connector).kind == "source" else plugins.sink
        return RunPlan(
            name=name,
            config=said,
            resolved=said,
            tasks=max(1, len(make(said).task_configs(tasks))),
            group_id=self._application,
            offsets_topic=self._offsets_topic,
            connection=self._connection,
            worker={},
        )

    def start(self, plan: RunPlan) -> None:
        """Until `stop`; what fails is begun again by itself."""
        report: Callable[[RunEvent], None] = lambda event: self._report(plan.name, event)  # noqa: E731
        self._runs.append(SupervisedRun(plan, report, self._work(plan, report, until_idle=False)))

    def finish(self, plan: RunPlan, stopping: threading.Event) -> None:
        """All that there is now, in this thread. Raises what it fails with."""
        work = self._work(plan, lambda event: None, until_idle=True)
        work.work(stopping, lambda: None)

    def stop(self) -> None:
        threads = [threading.Thread(target=run.stop, daemon=True) for run in self._runs]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self._runs = []

    def _work(self, plan: RunPlan, report: Callable[[RunEvent], None], *, until_idle: bool) -> Work:
        config = plan.resolved
        if plugins.find(config["connector.class"]).kind == "source":
            return SourceWorking(
                plan, report, lambda: plugins.source(config), self._jobs, until_idle=until_idle
            )
        return SinkWorking(
            plan,
            report,
            lambda: plugins.sink(config),
            lambda: SparkDelivering(plan, self._jobs(plan, java_settings(plan, "producer"))),
            until_idle=until_idle,
        )

    def _jobs(self, plan: RunPlan, settings: Mapping[str, str]) -> SparkJobs:
        there = plan.resolved.get("topics") or plan.offsets_topic
        return SparkJobs(self._spark, plan.name, settings, there)
