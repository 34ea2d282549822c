"""Jobs of one run on the session of Spark: made, waited for, and told what became of them.

The tasks' JVM side is `runtime/jvm/ConnectTasks.java`. Whoever calls this must bear that the JVM is
gone: `SessionLost`.
"""

import contextlib
import pickle
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError, Py4JNetworkError

from ottla.connect.runs.failures import JobFailed, Kind
from ottla.connect.runs.rows import SCHEMA, Failure
from ottla.connect.runs.topic_creation import TopicRule
from ottla.pipelines.runtime.settings import is_local

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Map = Callable[[Iterator[Any]], Iterator[Any]]  # in Arrow's batches, for mapInArrow


class SparkJobs:
    """Of one run. Not for two threads at once, but for `cancel`."""

    def __init__(
        self, spark: "SparkSession", name: str, settings: Mapping[str, str], topic: str
    ) -> None:
        """`topic`: one that is there, for names of runs in a cluster."""
        from pyspark.cloudpickle import dumps

        self._spark = spark
        self._name = name
        self._id = f"{name}-{uuid.uuid4()}"
        self._settings = dict(settings)  # of Kafka's clients, in Java's names
        self._dumps: Callable[[Any], bytes] = dumps
        jvm: Any = spark._jvm
        self._tasks = jvm.ottla.ConnectTasks
        self._named = None if is_local(spark.sparkContext.master or "") else topic

    @property
    def spark(self) -> "SparkSession":
        return self._spark

    def open(self, transactional_ids: Sequence[str]) -> None:
        """Fence whoever used these before."""
        try:
            self._tasks.open(self._id, self._settings, list(transactional_ids), self._named)
        except Py4JError as error:
            raise failure_of(error) from error

    def read(
        self,
        map: Map,
        payloads: Sequence[Any],
        transactional_ids: Sequence[str],
        topics: Sequence[TopicRule] = (),
    ) -> list[Any]:
        """What the tasks told, one task for each payload. JobFailed for the first that failed."""
        from pyspark.sql.classic.dataframe import DataFrame

        pickled = [self._dumps(one) for one in payloads]
        made = self._guarded(lambda: self._tasks.frame(self._spark._jsparkSession, pickled))
        frame = DataFrame(made, self._spark).mapInArrow(map, SCHEMA)
        return self.write(frame, transactional_ids, topics)

    def records(self, settings: Mapping[str, str]) -> Any:
        """What makes frames of records; `settings` are a consumer's, with its group."""
        spark = self._spark
        return self._guarded(
            lambda: spark._jvm.ottla.SinkRecords(spark._jsparkSession, dict(settings))  # type: ignore[union-attr]
        )

    def frame(self, records: Any, ranges: str, columns: Sequence[str]) -> "DataFrame":
        from pyspark.sql.classic.dataframe import DataFrame

        made = self._guarded(
            lambda: records.frame(ranges, "topic" in columns, "headers" in columns)
        )
        return DataFrame(made, self._spark)

    def write(
        self,
        frame: "DataFrame",
        transactional_ids: Sequence[str],
        topics: Sequence[TopicRule] = (),
    ) -> list[Any]:
        rules = [list(one) for one in topics]
        self._spark.sparkContext.setJobGroup(self._id, self._name, interruptOnCancel=False)
        every = self._guarded(
            lambda: self._tasks.run(
                frame._jdf, self._id, self._settings, list(transactional_ids), rules, self._named
            )
        )
        return outcome(bytes(every))

    def cancel(self) -> None:
        """From any thread: the job that runs fails."""
        with contextlib.suppress(Py4JError, OSError):
            self._spark.sparkContext.cancelJobGroup(self._id)

    def close(self) -> None:
        with contextlib.suppress(Py4JError, OSError):
            self._tasks.close(self._id)

    def _guarded(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except (Py4JError, OSError) as error:
            raise failure_of(error) from error


def outcome(said: bytes) -> list[Any]:
    """What tasks told; the first that failed is raised when all were heard."""
    heard: list[Any] = []
    failures: list[Failure] = []
    pieces = _pieces(said)
    for piece in pieces:
        if piece is None:
            kind, text = ((next(pieces) or b"").decode() for _ in range(2))
            what: Any = Failure(Kind(kind), text)
        else:
            what = pickle.loads(piece)
        (failures if isinstance(what, Failure) else heard).append(what)
    if failures:
        raise JobFailed(failures[0].kind, failures[0].trace, heard)
    return heard


def _pieces(said: bytes) -> Iterator[bytes | None]:
    """As `ConnectTasks.run` puts them together; None: a failure's kind and text follow."""
    at = 0
    while at < len(said):
        length = int.from_bytes(said[at : at + 4], "big", signed=True)
        at += 4
        if length < 0:
            yield None
        else:
            yield said[at : at + length]
            at += length


def failure_of(error: Exception) -> JobFailed:
    """Of a call into the JVM."""
    java = getattr(error, "java_exception", None)
    if java is None or isinstance(error, Py4JNetworkError):
        return JobFailed(Kind.LOST, f"Spark's JVM has ended: {error}")
    try:
        text = str(java.toString())
    except (Py4JError, OSError):
        return JobFailed(Kind.LOST, f"Spark's JVM has ended: {error}")
    if "org.apache.kafka.common.errors.TimeoutException" in text:
        return JobFailed(Kind.UNREACHABLE, text)
    if "org.apache.kafka.common" in text:
        return JobFailed(Kind.REFUSED, text)
    return JobFailed(Kind.LOST, text)
