"""The thread of a run: it works until it is told to stop, is tried again, or has failed.

What the work is, `source_run` and `sink_run` say: everything that it needs is made anew at every
try, from what Kafka holds.
"""

import logging
import os
import threading
import time
import traceback
from collections.abc import Callable
from typing import Protocol

from py4j.protocol import Py4JError

from ottla.connect.connector import RetriableError, ServiceError
from ottla.connect.definitions import Definitions
from ottla.connect.runs.failures import JobFailed, Kind, Patience
from ottla.connect.runs.rows import trace_of
from ottla.connect.runs.run import RunEvent, RunPlan, TaskState
from ottla.errors import OttlaError

GRACE_S = 10.0  # for a job that runs when a connector is stopped; then it is cancelled
CANCELLED_WITHIN_S = 60.0
RESTART_PAUSE_S = 5.0
_log = logging.getLogger(__name__)


class Work(Protocol):
    def work(self, stopping: threading.Event, succeeded: Callable[[], None]) -> None:
        """Until `stopping`. Raises what it fails with; `succeeded`: something was committed."""

    def interrupt(self) -> None:
        """From another thread: wait for nothing any more."""

    def cancel(self) -> None:
        """The job that runs need not be finished."""


class SupervisedRun:
    def __init__(
        self,
        plan: RunPlan,
        report: Callable[[RunEvent], None],
        work: Work,
        own: Definitions | None = None,
    ) -> None:
        """`own`: the connector's keys, some of which may be about this."""
        self._own = own
        self._plan = plan
        self._report = report
        self._work = work
        self._redacted = plan.redaction
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._live, name=f"connector {plan.name}", daemon=True
        )
        self._thread.start()

    @property
    def ended(self) -> bool:
        return not self._thread.is_alive()

    def stop(self) -> None:
        self._stopping.set()
        self._work.interrupt()
        self._thread.join(GRACE_S)
        if self._thread.is_alive():
            self._work.cancel()
            self._thread.join(CANCELLED_WITHIN_S)

    def _live(self) -> None:
        restarts = self._plan.resolved.get("ottla.restart", "false").strip().lower() == "true"
        while not self._stopping.is_set():
            failure = self._try()
            if failure is None:
                return
            kind, trace = failure
            fenced = kind is Kind.FENCED
            for task in range(self._plan.tasks) or (None,):
                self._report(TaskState(task, "FAILED", trace, fenced))
            if not restarts or fenced:  # whoever is fenced asks the worker whether it still leads
                return
            self._stopping.wait(RESTART_PAUSE_S)

    def _try(self) -> tuple[Kind, str] | None:
        """Until it is stopped, or there is no hope left: then what it failed with."""
        patience = Patience.of(self._plan.resolved, self._own)
        while not self._stopping.is_set():
            try:
                self._work.work(self._stopping, patience.succeeded)
            except Exception as error:
                kind, said = _judged(error)
                trace = self._redacted(said)
                pause_s = patience.pause_s(time.monotonic(), kind)
                if self._stopping.is_set():
                    return None
                _log.warning("Connector %s: %s", self._plan.name, trace)
                if pause_s is None:
                    return kind, trace
                self._stopping.wait(pause_s)
        return None


def _judged(error: Exception) -> tuple[Kind, str]:
    match error:
        case JobFailed():
            return error.kind, error.trace
        case ServiceError() if error.away:
            return Kind.UNREACHABLE, str(error)
        case RetriableError():
            return Kind.RETRIABLE, trace_of(error)
        case OSError() | Py4JError() if _is_of_the_jvm(error):
            return Kind.LOST, trace_of(error)
        case OttlaError():  # a sentence, that says what to do
            return Kind.FAILED, str(error)
    return Kind.FAILED, trace_of(error)


def _is_of_the_jvm(error: Exception) -> bool:
    """Whether Spark's JVM did not answer: any call of PySpark's may meet it."""
    frames = traceback.extract_tb(error.__traceback__)
    return any(f"{os.sep}py4j{os.sep}" in frame.filename for frame in frames)
