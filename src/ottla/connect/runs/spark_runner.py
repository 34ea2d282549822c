"""Runs of many connectors on one session of Spark.

Each has a thread of its own here, which waits for its connector without a job; only what there is
to read makes one. When the JVM dies, every run notices it at its next job, and the first one makes
a new session: the runs go on by themselves, since all that they need is in Kafka.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ottla.connect import plugins
from ottla.connect.runs.client_settings import java_settings
from ottla.connect.runs.jobs import SparkJobs
from ottla.connect.runs.run import Run, RunEvent, RunPlan
from ottla.connect.runs.sink_run import SinkWorking, SparkDelivering
from ottla.connect.runs.source_run import SourceWorking
from ottla.connect.runs.supervised import SupervisedRun, Work
from ottla.pipelines.runtime import sessions
from ottla.pipelines.runtime.settings import LOCAL_MASTER, SparkSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Spark would measure a batch's bytes anew for each row, which takes as long as the batch is: with
# headers 200 µs a row. So batches are bounded by their rows alone, and are small.
BATCHES = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
}


_log = logging.getLogger(__name__)


class SparkRunner:
    def __init__(
        self,
        *,
        master: str = LOCAL_MASTER,
        memory: str = "1g",
        conf: Mapping[str, str] | None = None,
    ) -> None:
        self._settings = SparkSettings(
            name="ottla connect", master=master, memory=memory, extra={**BATCHES, **(conf or {})}
        )
        self._making = threading.Lock()
        self._runs: list[SupervisedRun] = []
        self._counting = threading.Lock()  # connectors are started side by side

    def run(self, plan: RunPlan, report: Callable[[RunEvent], None]) -> Run:
        own = plugins.module_of(plugins.find(plan.resolved["connector.class"])).DEFINITIONS
        made = SupervisedRun(plan, report, self._work(plan, report), own)
        with self._counting:
            self._runs = [*(one for one in self._runs if not one.ended), made]
        return made

    def prepare(self) -> None:
        """Spark's JVM: the runs that follow at once are their own first jobs."""
        try:
            self.session()
        except Exception as error:
            _log.info("Spark cannot be started in advance: %s", error)  # a run will tell

    def close(self) -> None:
        """Stop what still runs, and the session."""
        for run in self._runs:
            run.stop()
        with self._making:
            sessions.stop()

    def session(self) -> "SparkSession":
        with self._making:
            if not sessions.is_alive():
                sessions.forget()
            return sessions.session(self._settings)

    def _work(self, plan: RunPlan, report: Callable[[RunEvent], None]) -> Work:
        config = plan.resolved
        if plugins.find(config["connector.class"]).kind == "source":
            return SourceWorking(plan, report, lambda: plugins.source(config), self._jobs)
        return SinkWorking(
            plan, report, lambda: plugins.sink(config), lambda: self._delivering(plan)
        )

    def _delivering(self, plan: RunPlan) -> SparkDelivering:
        return SparkDelivering(plan, self._jobs(plan, java_settings(plan, "producer")))

    def _jobs(self, plan: RunPlan, settings: Mapping[str, str]) -> SparkJobs:
        return SparkJobs(self.session(), plan.name, settings, plan.offsets_topic)
